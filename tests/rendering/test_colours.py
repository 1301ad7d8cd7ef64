"""Colours stand out in both schemes, series differ without colour, and heat scales are ordered and honest."""

from itertools import combinations, pairwise
from typing import Literal

import pytest

from clew.rendering.colours import (
    BACKGROUND,
    LEVELS,
    HeatScale,
    colour_rules,
    contrast,
    diverging,
    heat_colours,
    luminance,
    readable_on,
    sequential,
    series_styles,
)

Scheme = Literal["light", "dark"]


def inks(scheme: Scheme) -> list[str]:
    return [line.split("--ink:")[1].rstrip("}") for line in colour_rules(scheme).splitlines() if "--ink" in line]


def as_deuteranope(colour: str) -> tuple[float, float, float]:
    """What a reader without the middle cones sees (Machado, Oliveira and Fernandes 2009, severity 1; linear RGB)."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    rows = [(0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)]
    seen = [sum(weight * value for weight, value in zip(row, linear, strict=True)) for row in rows]
    return seen[0], seen[1], seen[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_ink_stands_out_from_the_page(scheme: Scheme) -> None:
    assert len(inks(scheme)) == 8
    assert min(contrast(ink, BACKGROUND[scheme]) for ink in inks(scheme)) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_reserved_recipes_differ_for_a_colour_blind_reader(scheme: Scheme) -> None:
    seen = [as_deuteranope(ink) for ink in inks(scheme)[:4]]
    distances = [sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5 for pair in combinations(seen, 2)]
    assert min(distances) > 0.08


def test_series_differ_without_colour_and_keep_their_style() -> None:
    styles = series_styles(["mine", "transformer", "rnn", "other", "gru", "lstm", *map(str, range(20))])
    first = list(styles.values())[:8]
    assert len({style.marker for style in first}) == len({style.dash for style in first}) == 8
    assert len(set(styles.values())) == len(styles), "even many series all differ"
    assert styles["gru"] == series_styles(["gru"])["gru"]
    assert series_styles(["a", "a", "b"])["b"] == series_styles(["a", "b"])["b"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_heat_is_ordered_and_zero_is_the_middle(scheme: Scheme) -> None:
    ramp = [luminance(colour) for colour in heat_colours("s", scheme)]
    assert all((a > b) == (scheme == "light") for a, b in pairwise(ramp))
    both = [luminance(colour) for colour in heat_colours("d", scheme)]
    middle = LEVELS // 2
    assert both[middle] == (max(both) if scheme == "light" else min(both))
    assert all((a < b) == (scheme == "light") for a, b in pairwise(both[: middle + 1]))


def test_lettering_on_heat_can_be_read() -> None:
    colours = [colour for kind in "sd" for scheme in BACKGROUND for colour in heat_colours(kind, scheme)]
    assert min(contrast(readable_on(colour), colour) for colour in colours) >= 4.5


def test_values_get_the_level_they_belong_to() -> None:
    assert sequential().classes_of([0, 0.5, 1.0, 0.02, -3, 9]) == [f"heat-s{level}" for level in (0, 10, 20, 0, 0, 20)]
    scale = diverging([0.5, -2.0, "NaN", None])
    assert (scale.low, scale.high) == (-2.0, 2.0)
    assert scale.classes_of([-2.0, 0, 2.0]) == ["heat-d0", "heat-d10", "heat-d20"]
    assert diverging([]).classes_of([0.0]) == ["heat-d10"]
    assert HeatScale("sequential", 1.0, 1.0).classes_of([1.0]) == ["heat-s0"]


def test_what_is_no_number_has_a_class_of_its_own() -> None:
    special = sequential().classes_of([None, "hidden", "NaN", "Infinity", float("-inf")])
    assert special == ["heat-none", "heat-hidden", "heat-nan", "heat-inf", "heat-inf"]
    assert set(special).isdisjoint(sequential().level_classes)
