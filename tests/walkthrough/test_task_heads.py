"""Logits, cross-entropy and pooling of the worked example's model."""

import math

import pytest

from clew.walkthrough import task_heads


def test_table_and_head_have_equal_shapes() -> None:
    assert task_heads.head_and_table().rows[0][1:] == ["9 x 5", "9 x 5"]


def test_probabilities_add_up_and_cross_entropy_is_their_logarithm() -> None:
    rows = task_heads.begins_probabilities().rows
    assert sum(row[2] for row in rows) == pytest.approx(1, abs=1e-14)
    for _, _, probability, loss in rows:
        assert loss == pytest.approx(-math.log(probability), abs=1e-12)


def test_the_logits_of_begins_are_the_last_row_of_all_logits() -> None:
    everything, begins = task_heads.token_logits().rows, task_heads.begins_probabilities().rows
    assert everything[-1][1:] == [row[1] for row in begins]


def test_heads_read_all_rows_or_the_last() -> None:
    item = task_heads.readouts()
    assert item.chapter == "Table 32"
    assert [(row[2], row[3]) for row in item.rows] == [(7, "7 x 9"), (7, "9"), (1, "9"), (1, "1")]


def test_the_masked_mean_does_not_notice_padding() -> None:
    alone, masked, everything, last = (row[1:] for row in task_heads.masked_mean_pooling().rows)
    assert masked == pytest.approx(alone, abs=1e-14)
    assert everything == pytest.approx([7 / 9 * value for value in alone], abs=1e-14)
    assert last != alone


def test_rows_at_padding_are_zero() -> None:
    rows = task_heads.pooled_rows().rows
    assert [row[1:] for row in rows[7:]] == [[0] * 5] * 2
    assert all(any(row[1:]) for row in rows[:7])
