"""Colours that colour-blind readers can tell apart, in light and in dark, and never colour alone.

Each series has a fixed colour, marker and dash, so that a recipe looks the same on every page and is told apart without
colour too. Heat is a class (`heat-s7`, `heat-d3`) that a page's style sheet fills for either scheme: a sequential scale
from 0 up, and a diverging scale with zero at its middle. Start with `series_styles` and `HeatScale`.

Source:
    The series hues follow Okabe and Ito, "Color Universal Design" (2008), darkened or lightened until they stand out at
    3:1 from either background.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from clew.rendering.numbers import HIDDEN, Number, Value, as_float, finite_values

Marker = Literal["circle", "square", "triangle", "diamond", "cross", "plus", "star", "bar"]

LEVELS = 21
BACKGROUND = {"light": "#ffffff", "dark": "#14181d"}

_INKS = (  # (light scheme, dark scheme)
    ("#0072b2", "#56b4e9"),
    ("#c65200", "#ff9a4d"),
    ("#a8508a", "#e59ac6"),
    ("#00805e", "#3ecfa3"),
    ("#8a6d00", "#e8c547"),
    ("#3d4f9f", "#9fb0ff"),
    ("#a02c2c", "#ff8a80"),
    ("#5a6470", "#aab4c0"),
)
_MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond", "cross", "plus", "star", "bar")
_DASHES = (None, "7 3", "2 2.5", "9 3 2 3", "12 4", "4 2 1 2 1 2", "1 4", "6 6")
_RESERVED = {"rnn": 0, "gru": 1, "lstm": 2, "transformer": 3}

_HEAT_STOPS = {
    ("s", "light"): ("#f4f7fb", "#a9cbe6", "#3d86c0", "#08315f"),
    ("s", "dark"): ("#1d242c", "#1f4f7d", "#4d97d1", "#d9efff"),
    ("d", "light"): ("#0b4a8f", "#7fb2dc", "#f6f6f4", "#eba968", "#9c4300"),
    ("d", "dark"): ("#9ad0ff", "#2f6ea6", "#20262d", "#a55f1c", "#ffc68a"),
}


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn wherever it appears: `css_class` sets its colour, marker and dash do without."""

    css_class: str
    marker: Marker
    dash: str | None


def series_styles(names: Iterable[str]) -> dict[str, SeriesStyle]:
    """Give each name its style: a reserved one for the known recipes, the free ones in order for others.

    >>> series_styles(["gru", "mine"])["mine"].css_class
    'series-4'
    """
    styles: dict[str, SeriesStyle] = {}
    next_free = len(_RESERVED)
    for name in names:
        if name in styles:
            continue
        if name in _RESERVED:
            styles[name] = _style(_RESERVED[name])
        else:
            styles[name] = _style(next_free)
            next_free += 1
    return styles


def _style(index: int) -> SeriesStyle:
    cycle, place = divmod(index, len(_INKS))
    shifted = (place + cycle) % len(_INKS)
    return SeriesStyle(f"series-{place}", _MARKERS[shifted], _DASHES[shifted])


@dataclass(frozen=True)
class HeatScale:
    """Which class a value gets: `"sequential"` from `low` to `high`, or `"diverging"`, where `low` is `-high`."""

    kind: Literal["sequential", "diverging"]
    low: Number
    high: Number

    @property
    def level_classes(self) -> list[str]:
        """The classes from the lowest to the highest level, for a legend."""
        return [f"heat-{self.kind[0]}{level}" for level in range(LEVELS)]

    def classes_of(self, values: Sequence[Value]) -> list[str]:
        """Give the class of each value; what is not a finite number has a class of its own."""
        classes = self.level_classes
        return [
            special_class(value) if number is None else classes[round(self._fraction(number) * (LEVELS - 1))]
            for value, number in zip(values, finite_values(values), strict=True)
        ]

    def _fraction(self, number: float) -> float:
        """Say how far along the scale a number lies, in halves: a whole span can be too large for a number."""
        low, half = self.low / 2, self.high / 2 - self.low / 2
        return (min(max(number, self.low), self.high) / 2 - low) / half if half > 0 else 0.0


def sequential(low: Number = 0.0, high: Number = 1.0) -> HeatScale:
    """Make a scale for values that are never negative, such as weights and gates."""
    return HeatScale("sequential", low, high)


def diverging(values: Iterable[Value]) -> HeatScale:
    """Make a scale with zero at its middle that reaches the largest magnitude among the finite values."""
    reach = max((abs(number) for number in finite_values(values) if number is not None), default=0.0) or 1.0
    return HeatScale("diverging", -reach, reach)


def special_class(value: Value) -> str:
    """Name the class of a value that is not a finite number: not computed, hidden, NaN or infinite."""
    if value == HIDDEN:
        return "heat-hidden"
    number = as_float(value)
    if number is None:
        return "heat-none"
    return "heat-nan" if math.isnan(number) else "heat-inf"


def colour_rules(scheme: Literal["light", "dark"]) -> str:
    """Write the style rules of all series and heat levels for one colour scheme."""
    place = 0 if scheme == "light" else 1
    rules = [f".series-{index}{{--ink:{inks[place]}}}" for index, inks in enumerate(_INKS)]
    for kind in ("s", "d"):
        for level, colour in enumerate(heat_colours(kind, scheme)):
            label = readable_on(colour)
            rules.append(f".heat-{kind}{level}{{fill:{colour};background-color:{colour};color:{label}}}")
    return "\n".join(rules)


def heat_colours(kind: str, scheme: str) -> list[str]:
    """List the colours of a heat scale, `"s"` or `"d"`, from its lowest to its highest level."""
    stops = [_channels(stop) for stop in _HEAT_STOPS[kind, scheme]]
    return [_mix(stops, level / (LEVELS - 1) * (len(stops) - 1)) for level in range(LEVELS)]


def readable_on(colour: str) -> str:
    """Choose black or white lettering, whichever contrasts more with `colour`."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, from 1 to 21 (WCAG 2.2, relative luminance)."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of a colour, from 0 to 1 (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def _mix(stops: Sequence[tuple[int, int, int]], position: float) -> str:
    start = min(int(position), len(stops) - 2)
    share = position - start
    mixed = (round(a + (b - a) * share) for a, b in zip(stops[start], stops[start + 1], strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
