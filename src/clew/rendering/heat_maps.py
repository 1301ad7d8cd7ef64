"""Heat maps as inline SVG: one cell a value, labels on both sides, and a legend that says what each colour is.

Hidden by a mask, not computed, NaN and infinite cells look different from zero and from each other, by a sign as well
as by colour. A map with more rows or columns than `most` shows the first and the last of them with a gap between and
says so. Values are named for the pointer while the map is small. Start with `heat_map`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clew.rendering.axes import label_at, line_between, svg, tooltip
from clew.rendering.colours import HeatScale, special_class
from clew.rendering.markup import element, joined, short_decimal
from clew.rendering.numbers import HIDDEN, Number, Value, finite_values, format_number, words_for

_SIGNED = {"heat-none", "heat-nan", "heat-inf"}
_SIGNS = {"not computed": "·", "NaN": "×", "∞": "+", "-∞": "−"}
_LEGEND_WORDS = {HIDDEN: "hidden by the mask", "∞": "infinite", "-∞": "minus infinite"}
_NAMED_CELLS = 1600
_LONGEST_LABEL = 8


@dataclass(frozen=True)
class HeatAxis:
    """The labels along one side of a heat map and what they are; every `step`-th label is written."""

    name: str
    labels: Sequence[str]
    step: int = 1
    cell: Number = 10.0
    highlight: int | None = None


@dataclass(frozen=True)
class _Side:
    """The part of an axis that is shown: indices in order, with None where some are left out."""

    axis: HeatAxis
    shown: Sequence[int | None]

    @property
    def length(self) -> Number:
        return len(self.shown) * self.axis.cell

    @property
    def left_out(self) -> int:
        return len(self.axis.labels) - sum(index is not None for index in self.shown)

    @property
    def label_room(self) -> float:
        return 5.6 * min(max(map(len, self.axis.labels), default=0), _LONGEST_LABEL)


@dataclass(frozen=True)
class _Grid:
    """Where the cells of a map go: its two sides, its corner in SVG units, and its colours."""

    down: _Side
    across: _Side
    scale: HeatScale
    left: Number
    top: Number

    @property
    def bottom(self) -> Number:
        return self.top + self.down.length


def heat_map(
    title: str,
    values: Sequence[Sequence[Value]],
    rows: HeatAxis,
    columns: HeatAxis,
    scale: HeatScale,
    description: str = "",
    most: int = 64,
) -> Markup:
    """Draw `values[row][column]`; the row axis runs downwards, the labels of the columns stand below, turned."""
    down, across = _Side(rows, _kept(len(rows.labels), most)), _Side(columns, _kept(len(columns.labels), most))
    grid = _Grid(down, across, scale, left=16 + down.label_room, top=36)
    special = _special_values(values)
    legend_top = grid.bottom + across.label_room + 26
    width, height = grid.left + max(across.length, 220) + 6, legend_top + max(24, 13 * len(special))
    parts = [
        label_at(2, 14, title, "chart-title"),
        label_at(grid.left, 30, f"{rows.name} downwards, {columns.name} to the right", "axis-label"),
        _cells(values, grid),
        _row_labels(grid),
        _column_labels(grid),
        _highlight(grid),
        _legend(scale, special, grid.left, legend_top),
    ]
    return svg(round(width), round(height), _described(description or title, grid), *parts, css_class="heat")


def left_out_words(count: int, most: int = 64) -> str:
    """Say which of `count` rows or columns a map leaves out; empty if it shows all."""
    kept = _kept(count, most)
    if None not in kept:
        return ""
    gap = kept.index(None)
    return f"{gap} to {count - (len(kept) - 1 - gap) - 1} of {count} are not drawn"


def _kept(count: int, most: int) -> list[int | None]:
    if count <= most:
        return list(range(count))
    half = most // 2
    return [*range(half), None, *range(count - half, count)]


def _described(description: str, grid: _Grid) -> str:
    gaps = [side for side in (grid.down, grid.across) if side.left_out]
    words = [f"{side.left_out} of {len(side.axis.labels)} {side.axis.name} left out" for side in gaps]
    return "; ".join([description, *words])


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def _cells(values: Sequence[Sequence[Value]], grid: _Grid) -> Markup:
    shown = [(place, index) for place, index in enumerate(grid.down.shown) if index is not None]
    return element("g", {"class": "cells"}, *(_row_cells(values[index], place, index, grid) for place, index in shown))


def _row_cells(values: Sequence[Value], place: int, index: int, grid: _Grid) -> Markup:
    """Draw the cells of one row; written as text at once, since a map has thousands of them."""
    shown = [(x, column) for x, column in enumerate(grid.across.shown) if column is not None]
    classes = grid.scale.classes_of([values[column] for _, column in shown])
    names = _cell_names(values, index, grid)
    width, height = grid.across.axis.cell, grid.down.axis.cell
    top = grid.top + place * height
    box = f'y="{short_decimal(top)}" width="{short_decimal(width)}" height="{short_decimal(height)}"'
    parts: list[str] = []
    for (x, column), css_class in zip(shown, classes, strict=True):
        left = grid.left + x * width
        parts.append(f'<rect x="{left:.2f}" {box} class="{css_class}">{names[column]}</rect>')
        if css_class in _SIGNED:
            parts.append(_sign(values[column], left + width / 2, top + height / 2 + 3))
    return Markup("".join(parts))


def _cell_names(values: Sequence[Value], index: int, grid: _Grid) -> list[Markup]:
    """Name the cells of a row for the pointer: where each is and what it holds; nothing in a large map."""
    if len(grid.down.shown) * len(grid.across.shown) > _NAMED_CELLS:
        return [Markup("")] * len(values)
    row, labels = f"{grid.down.axis.labels[index]} {index}", grid.across.axis.labels
    return [
        Markup("") if value == HIDDEN else tooltip(f"{row}, {label} {column}: {format_number(value)}")
        for column, (label, value) in enumerate(zip(labels, values, strict=True))
    ]


def _sign(value: Value, x: Number, y: Number) -> Markup:
    return label_at(x, y, _SIGNS.get(words_for(value) or "", ""), "sign", "middle")


def _row_labels(grid: _Grid) -> Markup:
    cell = grid.down.axis.cell
    return joined(
        label_at(grid.left - 5, grid.top + (place + 0.5) * cell + 3, words, css_class, "end")
        for place, words, css_class in _labels(grid.down)
    )


def _column_labels(grid: _Grid) -> Markup:
    drawn: list[Markup] = []
    for place, words, css_class in _labels(grid.across):
        x, y = grid.left + (place + 0.5) * grid.across.axis.cell + 3.2, grid.bottom + 5
        turned = {"x": x, "y": y, "class": css_class, "text-anchor": "end", "transform": f"rotate(-90 {x:.1f} {y:.1f})"}
        drawn.append(element("text", turned, words))
    return joined(drawn)


def _labels(side: _Side) -> list[tuple[int, str, str]]:
    """List (place, words, class) of the labels that are written."""
    written: list[tuple[int, str, str]] = []
    for place, index in enumerate(side.shown):
        if index is None:
            written.append((place, "…", "tick"))
        elif index % side.axis.step == 0 or index == side.axis.highlight:
            css_class = "tick strong" if index == side.axis.highlight else "tick"
            css_class += " small" if side.axis.cell * side.axis.step < 12 else ""
            written.append((place, _short(side.axis.labels[index]), css_class))
    return written


def _highlight(grid: _Grid) -> Markup:
    """Outline the row and the column that matter."""
    drawn: list[Markup] = []
    row, column = grid.down.axis.highlight, grid.across.axis.highlight
    if row is not None and row in grid.down.shown:
        y = grid.top + grid.down.shown.index(row) * grid.down.axis.cell
        drawn.append(_outline(grid.left, y, grid.across.length, grid.down.axis.cell))
    if column is not None and column in grid.across.shown:
        x = grid.left + grid.across.shown.index(column) * grid.across.axis.cell
        drawn.append(_outline(x, grid.top, grid.across.axis.cell, grid.down.length))
    return joined(drawn)


def _outline(x: Number, y: Number, width: Number, height: Number) -> Markup:
    return element("rect", {"x": x, "y": y, "width": width, "height": height, "class": "outline"})


def _legend(scale: HeatScale, special: Sequence[Value], left: Number, top: Number) -> Markup:
    steps = [
        element("rect", {"x": left + 5.0 * index, "y": top, "width": 5.0, "height": 9, "class": css_class})
        for index, css_class in enumerate(scale.level_classes)
    ]
    end = left + 5.0 * len(steps)
    ends = [(left, scale.low, "start"), (end, scale.high, "end")]
    middle = ((left + end) / 2, (scale.low + scale.high) / 2, "middle")
    numbers = [label_at(x, top + 20, format_number(float(y), 2), "tick", anchor) for x, y, anchor in [*ends, middle]]
    marks = [_legend_mark(value, end + 14, top - 4 + 13 * place) for place, value in enumerate(special)]
    return joined([*steps, line_between(left, top + 9, end, top + 9, "axis"), *numbers, *marks])


def _legend_mark(value: Value, x: Number, y: Number) -> Markup:
    words = words_for(value) or ""
    box = element("rect", {"x": x, "y": y, "width": 10, "height": 10, "class": special_class(value)})
    return joined([box, _sign(value, x + 5, y + 8), label_at(x + 15, y + 8, _LEGEND_WORDS.get(words, words), "tick")])


def _special_values(values: Sequence[Sequence[Value]]) -> list[Value]:
    """List one of each kind of value that is not a finite number."""
    special = [value for row in values for value, number in zip(row, finite_values(row), strict=True) if number is None]
    kinds = {str(value): value for value in special}
    return list({words_for(value): value for value in kinds.values()}.values())
