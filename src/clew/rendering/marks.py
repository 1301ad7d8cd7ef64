"""Markers, paths and legends: how a series is told apart with its colour and without it.

A marker is drawn by `marker`, a curve by `curve`; a legend is a list in HTML, so that it wraps on a narrow screen and
can be read out. Start with `legend`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from clew.rendering.axes import line_between
from clew.rendering.colours import Marker, SeriesStyle
from clew.rendering.markup import element, joined, text
from clew.rendering.numbers import Number


class LegendEntry(NamedTuple):
    """One line of a legend: a sample of `kind` in the style of a series, or in no style for reference lines."""

    words: str
    kind: str = "point"
    style: SeriesStyle | None = None


def marker(shape: Marker, x: Number, y: Number, radius: Number = 4.0, css_class: str = "point") -> Markup:
    """Draw a marker centred at (x, y)."""
    attributes: dict[str, str | float | int | None] = {"class": css_class}
    if shape == "circle":
        return element("circle", attributes | {"cx": x, "cy": y, "r": radius})
    corners = " ".join(f"{x + radius * right:.2f},{y + radius * down:.2f}" for right, down in _CORNERS[shape])
    return element("polygon", attributes | {"points": corners})


def _star() -> list[tuple[Number, Number]]:
    turns = [(math.pi * step / 5, 1.3 if step % 2 == 0 else 0.55) for step in range(10)]
    return [(reach * math.sin(turn), -reach * math.cos(turn)) for turn, reach in turns]


def _plus(turn: Number) -> list[tuple[Number, Number]]:
    thin = 0.38
    arm = [(-thin, -1.2), (thin, -1.2), (thin, -thin)]
    quarters = [
        (math.cos(quarter * math.pi / 2 + turn), math.sin(quarter * math.pi / 2 + turn)) for quarter in range(4)
    ]
    return [(x * cosine - y * sine, x * sine + y * cosine) for cosine, sine in quarters for x, y in arm]


_CORNERS: dict[Marker, Sequence[tuple[Number, Number]]] = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0, -1.15), (1.1, 0.9), (-1.1, 0.9)],
    "diamond": [(0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)],
    "cross": _plus(math.pi / 4),
    "plus": _plus(0.0),
    "star": _star(),
    "bar": [(-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)],
}


def curve(segments: Sequence[Sequence[tuple[Number, Number]]], dash: str | None, css_class: str, words: str) -> Markup:
    """Draw a curve of straight pieces with a gap between segments; `words` name it for the pointer."""
    drawn = " ".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in segment) for segment in segments if segment)
    title = element("title", None, words)
    return element("path", {"d": drawn, "class": css_class, "stroke-dasharray": dash}, title) if drawn else Markup("")


def legend(entries: Sequence[LegendEntry]) -> Markup:
    """List what the marks of a chart stand for."""
    return element("ul", {"class": "legend"}, *(element("li", None, _sample(entry), entry.words) for entry in entries))


def _sample(entry: LegendEntry) -> Markup:
    style = entry.style
    dash = style.dash if style else None
    line = curve([[(1, 7), (31, 7)]], dash, "curve" if style else entry.kind, entry.words)
    shape = marker(style.marker if style else "circle", 16, 7, 4.5)
    parts = {"line": [line], "point": [shape], "line and point": [line, shape]}.get(entry.kind)
    drawn = joined(parts if parts is not None else [line_between(1, 7, 31, 7, entry.kind)])
    attributes = {"viewBox": "0 0 32 14", "width": 32, "height": 14, "aria-hidden": "true", "class": "sample"}
    return element("svg", attributes | {"class": f"sample {style.css_class if style else ''}".strip()}, text(drawn))
