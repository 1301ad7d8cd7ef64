"""Axes of a chart: where a value goes, which ticks it gets, and the frame that is drawn around the curves.

Coordinates are SVG units with y downwards. Colours come from the classes of the page's style sheet. An axis on a
logarithmic scale puts what is zero or negative at its lower edge. Start with `axis_over` and `Plot`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from markupsafe import Markup

from clew.rendering.markup import element, joined
from clew.rendering.numbers import Number, Value, finite_values

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LEAST_DECADE, _MOST_DECADE = -323, 308  # what a double can hold


@dataclass(frozen=True)
class Axis:
    """A range of values with its label; `log` places them by their logarithm."""

    label: str
    low: Number
    high: Number
    log: bool = False

    def places(self, values: Iterable[Number]) -> list[float]:
        """Give the place of each value as a fraction of the axis, held within [0, 1]."""
        low, high, numbers = self.low, self.high, values
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            numbers = [math.log10(max(value, self.low)) for value in values]
        return [min(max((number - low) / (high - low), 0.0), 1.0) for number in numbers]

    def ticks(self, most: int = 6) -> list[tuple[Number, str]]:
        """List at most about `most` round values within the axis, each with its label."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, math.ceil((last - first + 1) / most))
            return [(10.0**power, "10" + str(power).translate(_SUPERSCRIPTS)) for power in range(first, last + 1, step)]
        step = _round_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(count * step, f"{count * step:,.{decimals}f}") for count in range(first, last + 1)]


def _round_step(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * (1 - 1e-9))


def axis_over(label: str, values: Iterable[Value], log: bool = False, include: Sequence[Number] = ()) -> Axis:
    """Make an axis that holds all finite values and those in `include`; a logarithmic one holds whole decades.

    Without any usable value the axis runs from 0 to 1, or from 0.1 to 1 if logarithmic.
    """
    numbers = [number for number in finite_values(values) if number is not None] + list(include)
    if log:
        positive = [number for number in numbers if number > 0] or [0.1, 1.0]
        low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
        low, high = max(low, _LEAST_DECADE), min(high, _MOST_DECADE)
        return Axis(label, 10.0**low, 10.0 ** max(high, low + 1), log=True)
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    return Axis(label, low, high if high > low else low + 1.0)


@dataclass(frozen=True)
class Plot:
    """The drawing area of a chart: its size in SVG units, the room around the axes, and the axes."""

    x: Axis
    y: Axis
    width: int = 340
    height: int = 220
    left: int = 46
    right: int = 12
    top: int = 44
    bottom: int = 40

    def x_at(self, value: Number) -> float:
        """Give the horizontal coordinate of a value."""
        return self.left + self.x.places([value])[0] * (self.width - self.left - self.right)

    def y_at(self, value: Number) -> float:
        """Give the vertical coordinate of a value."""
        return self.floor - self.y.places([value])[0] * (self.floor - self.top)

    def trace(self, points: Sequence[tuple[Value, Value]]) -> list[list[tuple[float, float]]]:
        """Give the coordinates of a curve as segments, with a gap wherever a value is not a finite number."""
        right, up = finite_values(x for x, _ in points), finite_values(y for _, y in points)
        is_drawn = [x is not None and y is not None for x, y in zip(right, up, strict=True)]
        across = self.x.places(0.0 if x is None else x for x in right)
        heights = self.y.places(0.0 if y is None else y for y in up)
        width, height = self.width - self.left - self.right, self.floor - self.top
        placed = [(self.left + x * width, self.floor - y * height) for x, y in zip(across, heights, strict=True)]
        runs = groupby(zip(is_drawn, placed, strict=True), key=itemgetter(0))
        return [[point for _, point in run] for drawn, run in runs if drawn]

    @property
    def floor(self) -> int:
        """The vertical coordinate of the lower edge."""
        return self.height - self.bottom

    def frame(self, title: str, x_ticks: Sequence[tuple[Number, str]] | None = None) -> Markup:
        """Draw the title, grid, ticks and labels; `x_ticks` replaces the round values below the chart."""
        right = self.width - self.right
        middle = (self.left + right) / 2
        parts = [
            label_at(2, 15, title, "chart-title"),
            label_at(2, self.top - 12, self.y.label, "axis-label"),
            label_at(middle, self.height - 5, self.x.label, "axis-label", "middle"),
        ]
        for value, words in self.y.ticks():
            parts.append(line_between(self.left, self.y_at(value), right, self.y_at(value), "grid"))
            parts.append(label_at(self.left - 6, self.y_at(value) + 4, words, "tick", "end"))
        for value, words in self.x.ticks() if x_ticks is None else x_ticks:
            parts.append(label_at(self.x_at(value), self.floor + 16, words, "tick", "middle"))
        parts.append(line_between(self.left, self.floor, right, self.floor, "axis"))
        return joined(parts)

    def level(self, value: Number, words: str) -> Markup:
        """Draw a horizontal line across the chart at a value that readers compare with, and name it at its right."""
        height, right = self.y_at(value), self.width - self.right
        line = line_between(self.left, height, right, height, "level")
        return line + label_at(right + 5, height + 4, words, "axis-label")


def svg(width: int, height: int, description: str, *content: Markup, css_class: str = "chart") -> Markup:
    """Wrap drawn parts as one picture that scales to its container; `description` is read out in its place."""
    attributes = {
        "class": css_class,
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": description,
    }
    return element("svg", attributes, *content)


def label_at(x: Number, y: Number, words: str, css_class: str, anchor: str | None = None) -> Markup:
    """Write text with its baseline at (x, y)."""
    return element("text", {"x": x, "y": y, "class": css_class, "text-anchor": anchor}, words)


def line_between(x1: Number, y1: Number, x2: Number, y2: Number, css_class: str) -> Markup:
    """Draw a straight line."""
    return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": css_class})


def tooltip(words: str) -> Markup:
    """Name a mark for the pointer."""
    return element("title", None, words)
