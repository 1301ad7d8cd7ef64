"""Tables 23 to 31."""

import pytest

from clew.walkthrough import encoder_block
from clew.walkthrough.items import Builder
from clew.walkthrough.proverb import BEGINS
from walkthrough.published import IN_TEXT, at_three_digits, disagreements

TABLES = encoder_block.ITEMS[-9:]


def test_every_table_of_the_block_is_there() -> None:
    assert [builder().chapter for builder in TABLES] == [f"Table {number}" for number in range(23, 32)]


@pytest.mark.parametrize("builder", TABLES, ids=lambda builder: builder.__name__)
def test_tables_agree_with_the_text(builder: Builder) -> None:
    assert disagreements(builder()) == []


def test_normalization_of_begins_agrees_with_the_text() -> None:
    *features, mean, variance, shrunk = encoder_block.begins_normalized().rows
    assert at_three_digits([row[1] for row in features]) == IN_TEXT["h_6"]
    assert at_three_digits([row[3] for row in features]) == IN_TEXT["x_6"]
    assert at_three_digits([mean[1], variance[1]]) == IN_TEXT["mean and variance of h_6"]
    assert mean[3] == pytest.approx(0, abs=1e-15)
    assert variance[3] == pytest.approx(shrunk[3], abs=1e-12) and variance[3] < 1


def test_a_constant_row_becomes_the_shift() -> None:
    zero, shifted, shift = (row[1:] for row in encoder_block.constant_row_normalized().rows)
    assert zero == [0] * 5
    assert shifted == pytest.approx(shift, abs=1e-15)


def test_the_mlp_of_begins_agrees_with_the_text() -> None:
    rows = encoder_block.begins_in_mlp().rows
    assert at_three_digits([row[1] for row in rows[:4]]) == IN_TEXT["z_6"]
    assert at_three_digits([row[2] for row in rows[:4]]) == IN_TEXT["j_6"]
    assert at_three_digits([row[2] for row in rows[4:]]) == IN_TEXT["MLP branch of begins"]


def test_attention_is_recomputed_on_normalized_rows() -> None:
    raw, normalized = (row[1:] for row in encoder_block.attention_before_and_after_normalization().rows)
    assert at_three_digits(raw) == IN_TEXT["b_6"]
    assert at_three_digits(normalized) == IN_TEXT["b_6 in the block"]


def test_the_stages_of_begins_are_the_rows_of_the_full_tables() -> None:
    followed = [row[1:] for row in encoder_block.begins_through_block().rows]
    stages = TABLES[2:]
    assert followed[1:] == [builder().rows[BEGINS][1:] for builder in stages]
