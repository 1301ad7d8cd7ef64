"""Tables 7 to 9, and what is said of positions and averages."""

import pytest
import torch

from clew.walkthrough import tokens
from clew.walkthrough.proverb import PREFIX, embedded_rows, positioned_rows
from walkthrough.published import IN_TEXT, at_three_digits, disagreements


def test_tokens_and_embeddings_agree_with_the_text() -> None:
    assert disagreements(tokens.tokens_and_ids()) == []
    assert disagreements(tokens.embedding_table()) == []


def test_positions_and_sums_agree_with_the_text() -> None:
    assert at_three_digits(tokens.position_features().rows[3][1:]) == IN_TEXT["p_3"]
    rows = tokens.positioned_inputs().rows
    assert at_three_digits(rows[0][1:]) == IN_TEXT["h_0"]
    assert at_three_digits(rows[3][1:]) == IN_TEXT["h_3"]
    assert tokens.position_features().rows[0][1:] == [0, 1, 0, 1, 0]


def test_figures_show_the_numbers_of_their_tables() -> None:
    for builder in (tokens.embedding_lookup, tokens.position_features, tokens.positioned_inputs):
        item = builder()
        (panel,) = item.panels
        assert [list(row) for row in panel.values] == [list(row[1:]) for row in item.rows]  # pyright: ignore


def test_only_positions_tell_the_two_occurrences_apart() -> None:
    rows = {row[0]: row[1:] for row in tokens.second_a().rows}
    assert rows["embedding e: distance"] == [0, 0, 0, 0, 0]
    assert all(value > 0 for value in rows["positioned h: distance"])
    assert torch.equal(embedded_rows()[0, 0], embedded_rows()[0, 3])
    assert not torch.equal(positioned_rows()[0, 0], positioned_rows()[0, 3])


def test_complete_pairs_shift_by_one_rotation_and_the_lone_sine_does_not() -> None:
    rows = tokens.sinusoid_shift().rows
    assert max(value for row in rows for value in row[1:4]) < 1e-15
    assert rows[0][6] is None and rows[0][4] == 0 and rows[0][5] > 1e-3
    factors = [row[6] for row in rows[1:]]
    assert max(factors) - min(factors) > 1


def test_averages_do_not_tell_a_rise_from_a_fall() -> None:
    distances = [row[3] for row in tokens.rise_and_fall().rows]
    assert max(distances[:2]) < 1e-15
    assert min(distances[2:]) > 1e-3


def test_scaling_stretches_embeddings_by_the_root_of_the_width() -> None:
    rows = tokens.embedding_scaling().rows
    for row in rows:
        assert row[2] == pytest.approx(5**0.5 * row[1], abs=1e-12)
    assert sum(row[4] for row in rows) == pytest.approx(1, abs=1e-12)
    assert at_three_digits([row[4] for row in rows]) == IN_TEXT["A_6"]
    assert max(abs(row[4] - row[5]) for row in rows) > 0.1


def test_shapes_name_vocabulary_sequence_and_width() -> None:
    item = tokens.representation_shapes()
    assert (item.chapter, [row[1] for row in item.rows]) == ("Table 9", ["9 x 5", "7 x 5", "7 x 5", "7 x 5"])
    assert len(PREFIX) == 7
