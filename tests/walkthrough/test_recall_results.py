"""The recall table, the uniform guess and the sizes, as published."""

import math

import pytest

from clew.walkthrough import recall_results
from clew.walkthrough.rounding import round_to_three
from walkthrough import recurrent_published as published


def test_the_recall_table_is_as_published() -> None:
    assert [list(row) for row in recall_results.published_recall().rows] == published.TABLE_34


def test_uniform_movement_and_sizes_are_as_published() -> None:
    row = recall_results.uniform_movement().rows[0]
    assert row[1] == published.UNIFORM_MOVEMENT[0]
    assert row[2] == pytest.approx(math.log(4), abs=1e-15)
    assert isinstance(row[2], float)
    assert round_to_three(row[2]) == published.UNIFORM_MOVEMENT[1]
    assert {row[0]: row[3] for row in recall_results.recipe_sizes().rows} == published.PARAMETERS
