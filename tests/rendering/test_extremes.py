"""Scales and axes over the largest and the smallest numbers that there are."""

import sys

import pytest

from clew.rendering.axes import axis_over
from clew.rendering.colours import LEVELS, HeatScale, diverging, sequential

LARGEST, SMALLEST = sys.float_info.max, 5e-324


@pytest.mark.parametrize("reach", [LARGEST, 1e-310])
def test_a_heat_scale_reaches_from_the_least_to_the_largest_number(reach: float) -> None:
    ends = [-reach, 0.0, reach]
    assert diverging(ends).classes_of(ends) == [f"heat-d{level}" for level in (0, LEVELS // 2, LEVELS - 1)]
    assert sequential(0.0, reach).classes_of([0.0, reach / 2, reach]) == [
        f"heat-s{level}" for level in (0, LEVELS // 2, LEVELS - 1)
    ]


def test_a_number_far_outside_of_a_narrow_scale_has_its_end() -> None:
    assert HeatScale("sequential", 0.0, 1e-310).classes_of([LARGEST, -LARGEST]) == [f"heat-s{LEVELS - 1}", "heat-s0"]


def test_a_logarithmic_axis_holds_every_positive_number() -> None:
    axis = axis_over("norm", [SMALLEST, LARGEST], log=True)
    places = axis.places([SMALLEST, 1.0, LARGEST])
    assert places == sorted(places) and 0.0 <= places[0] < places[1] < places[2] == 1.0
    assert axis.ticks()
