"""Table 33, the leak of a late mask, teacher forcing and generation."""

import pytest

from clew.walkthrough import next_tokens
from clew.walkthrough.proverb import CONTINUATION, PREFIX, VOCABULARY, words_of
from walkthrough.published import disagreements


def test_alignment_agrees_with_the_text() -> None:
    assert disagreements(next_tokens.next_token_alignment()) == []


def test_the_prefix_alone_has_six_targets() -> None:
    alone, continued = next_tokens.targets_without_continuation().rows
    assert alone[1:] == [6, 6, "begins"] and continued[1:] == [7, 7, "with"]


def test_a_late_mask_lets_the_miles_row_see_what_it_predicts() -> None:
    rows = next_tokens.see_the_answer().rows
    safe, late, free = ([row[column] for row in rows] for column in (1, 2, 3))
    assert len(set(safe)) == 1
    assert max(late) - min(late) > 0.01 and max(free) - min(free) > 0.01


def test_teacher_forcing_reads_recorded_words() -> None:
    rows = next_tokens.teacher_forcing().rows
    words = (*PREFIX, *words_of(CONTINUATION))
    assert [row[1] for row in rows] == list(words[1:])
    assert [row[4] for row in rows] == [int(row[1] == row[2]) for row in rows]


def test_generation_appends_what_it_chose() -> None:
    rows = next_tokens.untrained_generation().rows
    assert [row[1] for row in rows] == [7, 8, 9, 10]
    for column, seed in enumerate(next_tokens.HEAD_SEEDS, start=3):
        assert [row[column] for row in rows] == next_tokens.generate(4, seed)
    assert all(word in VOCABULARY for row in rows for word in row[2:])
    assert len({tuple(row[column] for row in rows) for column in (3, 4, 5)}) == 3


def test_the_first_generated_word_is_what_teacher_forcing_chose_at_begins() -> None:
    assert next_tokens.generate(1)[0] == next_tokens.teacher_forcing().rows[6][2]


def test_one_pass_gives_what_a_pass_for_each_row_gives() -> None:
    assert max(row[2] for row in next_tokens.one_pass_or_many().rows) < 1e-14


@pytest.mark.parametrize("rule", ["causal", "full"])
def test_the_blocks_run_one_by_one_are_the_stack(rule: str) -> None:
    model = next_tokens.proverb_model(causal=rule == "causal", layers=2)
    expected = model(next_tokens.ids_of(PREFIX)).rows
    assert next_tokens.stacked_rows(model, PREFIX, (rule, rule)).equal(expected)
