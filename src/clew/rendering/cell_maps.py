"""Maps of cells with a boundary: who reads whom, as inline SVG of bounded size whatever the number of steps.

A cell stands for one or more rows and columns and belongs to a kind: a colour, and a sign that does without colour. A
thick line surrounds a region, exactly where it runs, also through the midst of cells. One cell can be ringed. Unlike in
`clew.rendering.heat_maps` the axes are steps, with round ticks. Start with `cell_map`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from clew.rendering.axes import Axis, label_at, line_between, svg, tooltip
from clew.rendering.colours import HeatScale
from clew.rendering.markup import element, joined, short_decimal
from clew.rendering.numbers import Number

Sign = Literal["", "hatch", "dot", "dash"]
_ROOM = 416.0
_LARGEST_CELL = 30.0
_NAMED_CELLS = 1600
_HATCH = 9.0
_LEFT, _TOP, _RIGHT, _LEGEND_LINE = 44.0, 44.0, 20.0, 19.0
_WIDTH = 480


@dataclass(frozen=True)
class CellKind:
    """What a cell can be: its words in the legend, its sign, and its class where no heat is given."""

    words: str
    sign: Sign
    css_class: str


@dataclass(frozen=True)
class MapCell:
    """One cell: its kind, its class (a level of heat or that of its kind), and its words for the pointer."""

    kind: CellKind
    css_class: str
    words: str = ""


@dataclass(frozen=True)
class Edges:
    """The cells along one side: where each begins and the last ends, in steps, and what the steps are called."""

    name: str
    starts: Sequence[int]

    @property
    def length(self) -> int:
        """The number of steps."""
        return self.starts[-1]


Line = tuple[Number, Number, Number, Number]


@dataclass(frozen=True)
class _Place:
    """Where steps go: the corner of the map and the width and height of a step in SVG units."""

    width: float
    height: float

    def x(self, step: Number) -> float:
        return _LEFT + step * self.width

    def y(self, step: Number) -> float:
        return _TOP + step * self.height


def cell_map(
    title: str,
    cells: Sequence[Sequence[MapCell]],
    rows: Edges,
    columns: Edges,
    kinds: Sequence[tuple[CellKind, Sequence[str]]],
    region: Sequence[Line] = (),
    region_words: str = "",
    ring: tuple[int, int] | None = None,
    ring_words: str = "",
    scale_words: str = "",
    description: str = "",
) -> Markup:
    """Draw cells, the line around a region, a ring and a legend.

    Args:
        title: Above the map.
        cells: `cells[row][column]`; rows run downwards.
        rows: Where the rows of cells begin.
        columns: Where the columns of cells begin.
        kinds: What the legend lists, each with the classes of its levels of heat, if it has any.
        region: Pieces of the line around the region, (column, row, column, row) in steps.
        region_words: What the region is.
        ring: (row, column) in steps of the cell to ring.
        ring_words: What is ringed.
        scale_words: What the levels of heat mean, from the lowest to the highest.
        description: Read out in the place of the picture.
    """
    longest = max(rows.length, columns.length) if rows.length > 1 else columns.length
    unit = min(_ROOM / longest, _LARGEST_CELL)
    place = _Place(unit, unit if rows.length > 1 else _LARGEST_CELL)
    bottom = place.y(rows.length)
    legend, height = _legend(kinds, region_words, ring_words if ring else "", scale_words, bottom + 34)
    parts = [
        label_at(2, 14, title, "chart-title"),
        label_at(_LEFT, 32, f"{rows.name} downwards, {columns.name} to the right", "axis-label"),
        element("g", {"class": "cells"}, *(_row(row, line, rows, columns, place) for row, line in enumerate(cells))),
        element("rect", {"class": "frame"} | _box(place, 0, 0, rows.length, columns.length)),
        _region(region, place, "region-halo"),
        _region(region, place, "region"),
        _ring(ring, rows, columns, place) if ring else Markup(""),
        _ticks(rows, columns, place),
        legend,
    ]
    return svg(_WIDTH, round(height), description or title, *parts, css_class="heat cell-map")


def _box(place: _Place, row: int, column: int, row_end: int, column_end: int) -> dict[str, float]:
    x, y = place.x(column), place.y(row)
    return {"x": x, "y": y, "width": place.x(column_end) - x, "height": place.y(row_end) - y}


def _row(row: int, cells: Sequence[MapCell], rows: Edges, columns: Edges, place: _Place) -> Markup:
    """Draw the cells of one row; written as text at once, since a map has thousands of them."""
    is_named = (len(rows.starts) - 1) * (len(columns.starts) - 1) <= _NAMED_CELLS
    parts: list[str] = []
    for column, cell in enumerate(cells):
        box = _box(place, rows.starts[row], columns.starts[column], rows.starts[row + 1], columns.starts[column + 1])
        named = tooltip(cell.words) if is_named and cell.words else ""
        sizes = " ".join(f'{name}="{short_decimal(value)}"' for name, value in box.items())
        parts.append(f'<rect {sizes} class="{cell.css_class}">{named}</rect>')
        parts.append(_sign(cell.kind.sign, **box))
    return Markup("".join(parts))


def _sign(sign: Sign, x: float, y: float, width: float, height: float) -> Markup:
    """Draw the sign of a kind in its cell: strokes that join those of its neighbours to a hatching, a dot, a dash."""
    if sign == "hatch":
        first, last = math.ceil((x + y) / _HATCH), math.floor((x + y + width + height) / _HATCH)
        strokes = [_stroke(number * _HATCH, x, y, width, height) for number in range(first, last + 1)]
        return Markup(f'<path d="{"".join(strokes)}" class="hatch"/>')
    if sign == "dot":
        radius = min(width, height) * 0.13
        return Markup(f'<circle cx="{x + width / 2:.2f}" cy="{y + height / 2:.2f}" r="{radius:.2f}" class="dot"/>')
    if sign == "dash":
        reach = min(width, height) * 0.22
        return line_between(x + width / 2 - reach, y + height / 2, x + width / 2 + reach, y + height / 2, "dash")
    return Markup("")


def _stroke(total: float, x: float, y: float, width: float, height: float) -> str:
    """Write the part of the line of points whose coordinates add up to `total` that lies in a box."""
    left, right = max(x, total - y - height), min(x + width, total - y)
    return f"M{left:.2f} {total - left:.2f}L{right:.2f} {total - right:.2f}"


def _region(lines: Sequence[Line], place: _Place, css_class: str) -> Markup:
    pieces = [f"M{place.x(x1):.2f} {place.y(y1):.2f}L{place.x(x2):.2f} {place.y(y2):.2f}" for x1, y1, x2, y2 in lines]
    return element("path", {"d": "".join(pieces), "class": css_class}) if pieces else Markup("")


def _ring(ring: tuple[int, int], rows: Edges, columns: Edges, place: _Place) -> Markup:
    row, column = (_cell_of(step, edges) for step, edges in zip(ring, (rows, columns), strict=True))
    box = _box(place, rows.starts[row], columns.starts[column], rows.starts[row + 1], columns.starts[column + 1])
    half = min(box["width"], box["height"]) / 2
    radius = half - 3 if half >= 10 else half + 5
    centre = {"cx": box["x"] + box["width"] / 2, "cy": box["y"] + box["height"] / 2, "r": radius}
    circles = [element("circle", {"class": css_class} | centre) for css_class in ("ring-halo", "ring")]
    return joined(circles)


def _cell_of(step: int, edges: Edges) -> int:
    return max(place for place, start in enumerate(edges.starts[:-1]) if start <= step)


def _ticks(rows: Edges, columns: Edges, place: _Place) -> Markup:
    drawn: list[Markup] = []
    for step in _round_steps(columns.length, place.width, 36):
        drawn.append(label_at(place.x(step + 0.5), place.y(rows.length) + 14, str(step), "tick", "middle"))
    for step in _round_steps(rows.length, place.height, 24):
        drawn.append(label_at(_LEFT - 6, place.y(step + 0.5) + 3.5, str(step), "tick", "end"))
    return joined(drawn)


def _round_steps(length: int, unit: float, apart: int) -> list[int]:
    """List round steps that lie far enough apart to be read."""
    axis = Axis("", 0, max(length - 1, 1))
    most = max(1, int(length * unit / apart))
    steps = {round(value) for value, _ in axis.ticks(min(most, length))}
    return sorted(step for step in steps if step < length)


def _legend(
    kinds: Sequence[tuple[CellKind, Sequence[str]]],
    region_words: str,
    ring_words: str,
    scale_words: str,
    top: float,
) -> tuple[Markup, float]:
    """Draw a line of the legend for each kind, then the region and the ring; give it with where it ends."""
    heats = [pair for pair in kinds if pair[1]]
    rest = [pair for pair in kinds if not pair[1]]
    line = line_between(_LEFT, top + 6, _LEFT + 80, top + 6, "region")
    ring = element("circle", {"cx": _LEFT + 40, "cy": top + 6, "r": 6, "class": "ring"})
    entries = [
        *((_sample(kind, classes, top), kind.words) for kind, classes in heats),
        (Markup(""), scale_words),
        *((_sample(kind, (), top), kind.words) for kind, _ in rest),
        (line, region_words),
        (ring, ring_words),
    ]
    shown = [(sample, label_at(_LEFT + 90, top + 10, words, "key")) for sample, words in entries if words]
    drawn = [
        element("g", {"transform": f"translate(0 {place * _LEGEND_LINE:.0f})"}, *parts)
        for place, parts in enumerate(shown)
    ]
    return joined(drawn), top + len(shown) * _LEGEND_LINE + 2


def _sample(kind: CellKind, classes: Sequence[str], y: float) -> Markup:
    if not classes:
        box = {"x": _LEFT + 33.0, "y": y, "width": 14.0, "height": 12.0}
        return element("rect", {"class": f"key-box {kind.css_class}"} | box) + _sign(kind.sign, **box)
    width = 80.0 / len(classes)
    boxes = [{"x": _LEFT + place * width, "y": y, "width": width, "height": 12.0} for place in range(len(classes))]
    cells = [element("rect", {"class": css_class} | box) for css_class, box in zip(classes, boxes, strict=True)]
    signs = [_sign(kind.sign, _LEFT + 16.0 * place, y, 16.0, 12.0) for place in range(5)]
    return joined([*cells, *signs])


def upper_half(scale: HeatScale) -> list[str]:
    """The warm half of a diverging scale, from the middle to the highest level."""
    return scale.level_classes[len(scale.level_classes) // 2 + 2 :]
