"""Exercises 3 to 6, against answers worked out by hand."""

import pytest

from clew.walkthrough import attention_exercises as exercises


def test_the_masked_query_has_the_weights_worked_out_by_hand() -> None:
    free, masked, zeroed, masked_raised, zeroed_raised = (row[1:] for row in exercises.masked_query().rows)
    assert free == pytest.approx([1 / 6, 2 / 6, 3 / 6, 1, 2])
    assert masked == pytest.approx([1 / 3, 2 / 3, 0, 1, 0], abs=1e-15)
    assert zeroed == pytest.approx([1 / 6, 2 / 6, 0, 1 / 2, 0], abs=1e-15)
    assert masked_raised[-1] == pytest.approx(1) and zeroed_raised[-1] == pytest.approx(0.5)


def test_three_heads_have_the_shapes_worked_out_by_hand() -> None:
    shapes = [row[1] for row in exercises.three_heads().rows]
    expected = ["7 x 2", "7 x 2", "7 x 4", "7 x 7", "7 x 4", "7 x 12", "5 x 12", "12 x 5", "7 x 5"]
    assert shapes[:-1] == expected
    assert shapes[-1] == "not the standard partition: embed_dim must be divisible by num_heads"


def test_silent_branches_leave_the_bypass() -> None:
    attention, both = (row[1:] for row in exercises.silent_branches().rows)
    assert attention[0] < 1e-14 and attention[1] > 0.1
    assert both[1] == 0 and both[2] > 0.1


def test_the_best_of_three_on_the_test_set_is_too_good() -> None:
    best, chosen, mean, padded, real = (row[1] for row in exercises.faulty_report().rows)
    standard_error = (0.25 * 0.75 / exercises.TEST) ** 0.5
    assert best - 0.25 == pytest.approx(0.846 * standard_error, rel=0.05)  # expected greatest of three normal draws
    assert max(abs(chosen - 0.25), abs(mean - 0.25)) < 5e-4
    assert padded > 0.01 and real < 1e-14
