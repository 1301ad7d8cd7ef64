"""Table 16, Figure 11 and the boundary of the causal head."""

import math

import pytest

from clew.walkthrough import visibility_rules
from clew.walkthrough.proverb import JOURNEY
from walkthrough.published import IN_TEXT, at_three_digits, disagreements


def test_journey_weights_agree_with_the_text() -> None:
    item = visibility_rules.journey_weights()
    assert disagreements(item) == []
    assert at_three_digits([row[2] for row in item.rows]) == IN_TEXT["causal A_1"]
    assert [row[2] for row in item.rows[2:]] == [0] * 5  # exactly, not nearly


def test_causal_weights_hide_what_comes_later_and_add_up_to_one() -> None:
    item = visibility_rules.causal_weights()
    for query, row in enumerate(item.rows):
        assert row[query + 2 :] == ["hidden"] * (6 - query)
        assert sum(row[1 : query + 2]) == pytest.approx(1, abs=1e-15)
    assert item.notes == ("Each row adds up to one; the last differs from the unrestricted one by 0.",)


def test_the_first_causal_output_is_the_first_value() -> None:
    assert at_three_digits(visibility_rules.causal_outputs().rows[0][1:]) == IN_TEXT["v_0"]


def test_a_later_word_moves_no_causal_row_before_it() -> None:
    free, bound = ([row[column] for row in visibility_rules.future_word_changed().rows] for column in (1, 2))
    assert bound[:2] == [0, 0]
    assert min(bound[2:]) > 0.01 and min(free) > 0.01


def test_zeroed_weights_do_not_add_up_to_one() -> None:
    *rows, total = visibility_rules.zeroing_is_not_masking().rows
    assert total[1] == pytest.approx(1) and total[3] == pytest.approx(1)
    assert total[2] == pytest.approx(sum(row[1] for row in rows[: JOURNEY + 1]))
    assert total[2] < 0.5


def test_a_query_without_sources_reads_nothing_instead_of_nan() -> None:
    first, masked, last = visibility_rules.nothing_to_read().rows
    assert all(math.isnan(value) for value in masked[1:4]) and masked[4:] == [0, 0, 0]
    for row in (first, last):
        assert row[4:] == pytest.approx(row[1:4], abs=1e-15)
