"""Heat maps as inline SVG: one cell a value, labels on both sides, and a legend that says what each colour is.

Hidden by a mask, not computed, NaN and infinite cells look different from zero and from each other, by a sign as well
as by colour. A map with more rows or columns than `most` shows the first and the last of them with a gap between and
says so. Values are named for the pointer while the map is small. Start with `heat_map`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clew.rendering.axes import label_at, line_between, svg, tooltip
from clew.rendering.colours import HeatScale
from clew.rendering.markup import element, joined
from clew.rendering.numbers import HIDDEN, Value, finite, format_number, words_for

_SIGNS = {"not computed": "·", "NaN": "×", "∞": "+", "-∞": "−"}
_LEGEND_WORDS = {HIDDEN: "hidden by the mask", "∞": "infinite", "-∞": "minus infinite"}
_NAMED_CELLS = 1600


@dataclass(frozen=True)
class HeatAxis:
    """The labels along one side of a heat map and what they are; every `step`-th label is written."""

    name: str
    labels: Sequence[str]
    step: int = 1
    cell: float = 10.0
    highlight: int | None = None


@dataclass(frozen=True)
class _Side:
    """The part of an axis that is shown: indices in order, with None where some are left out."""

    axis: HeatAxis
    shown: Sequence[int | None]

    @property
    def length(self) -> float:
        return len(self.shown) * self.axis.cell

    @property
    def left_out(self) -> int:
        return len(self.axis.labels) - sum(index is not None for index in self.shown)


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
    down, across = _Side(rows, _kept(len(values), most)), _Side(columns, _kept(len(columns.labels), most))
    left = 16 + 5.6 * max((len(_short(label)) for label in rows.labels), default=0)
    below = 18 + 5.6 * max((len(_short(label)) for label in columns.labels), default=0)
    top = 36.0
    width, height = left + max(across.length, 220) + 6, top + down.length + below + 44
    cells = _cells(values, down, across, left, top, scale)
    parts = [
        label_at(2, 14, title, "chart-title"),
        label_at(left, 30, f"{rows.name} downwards, {columns.name} to the right", "axis-label"),
        cells,
        _row_labels(down, left, top),
        _column_labels(across, left, top + down.length),
        _highlight(down, across, left, top),
        _legend(values, scale, left, top + down.length + below + 8),
    ]
    return svg(round(width), round(height), _described(description or title, down, across), *parts, css_class="heat")


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


def _described(description: str, down: _Side, across: _Side) -> str:
    missing = [f"{side.left_out} of {len(side.axis.labels)} {side.axis.name} left out" for side in (down, across)]
    return "; ".join(
        [description, *(words for words, side in zip(missing, (down, across), strict=True) if side.left_out)]
    )


def _short(label: str) -> str:
    return label if len(label) <= 8 else label[:7] + "…"


def _cells(
    values: Sequence[Sequence[Value]], down: _Side, across: _Side, left: float, top: float, scale: HeatScale
) -> Markup:
    is_named = len(down.shown) * len(across.shown) <= _NAMED_CELLS
    drawn: list[Markup] = []
    for y, row in enumerate(down.shown):
        for x, column in enumerate(across.shown):
            if row is None or column is None:
                continue
            corner = (left + x * across.axis.cell, top + y * down.axis.cell)
            where = f"{down.axis.labels[row]} {row}, {across.axis.labels[column]} {column}" if is_named else ""
            drawn.append(_cell(values[row][column], corner, (across.axis.cell, down.axis.cell), scale, where))
    return element("g", {"class": "cells"}, *drawn)


def _cell(value: Value, corner: tuple[float, float], size: tuple[float, float], scale: HeatScale, where: str) -> Markup:
    box = {"x": corner[0], "y": corner[1], "width": size[0], "height": size[1], "class": scale.class_of(value)}
    words = words_for(value)
    name = [tooltip(f"{where}: {words or format_number(value)}")] if where and words != HIDDEN else []
    rectangle = element("rect", box, *name)
    sign = _SIGNS.get(words or "")
    if sign is None:
        return rectangle
    return rectangle + label_at(corner[0] + size[0] / 2, corner[1] + size[1] / 2 + 3, sign, "sign", "middle")


def _row_labels(side: _Side, left: float, top: float) -> Markup:
    cell = side.axis.cell
    return joined(
        label_at(left - 5, top + (place + 0.5) * cell + 3, words, css_class, "end")
        for place, words, css_class in _labels(side)
    )


def _column_labels(side: _Side, left: float, bottom: float) -> Markup:
    drawn: list[Markup] = []
    for place, words, css_class in _labels(side):
        x, y = left + (place + 0.5) * side.axis.cell + 3.2, bottom + 5
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


def _highlight(down: _Side, across: _Side, left: float, top: float) -> Markup:
    """Rule off the row and the column that matter."""
    drawn: list[Markup] = []
    if down.axis.highlight in down.shown and down.axis.highlight is not None:
        place = top + down.shown.index(down.axis.highlight) * down.axis.cell
        box = {"x": left, "y": place, "width": across.length, "height": down.axis.cell, "class": "outline"}
        drawn.append(element("rect", box))
    if across.axis.highlight in across.shown and across.axis.highlight is not None:
        place = left + across.shown.index(across.axis.highlight) * across.axis.cell
        box = {"x": place, "y": top, "width": across.axis.cell, "height": down.length, "class": "outline"}
        drawn.append(element("rect", box))
    return joined(drawn)


def _legend(values: Sequence[Sequence[Value]], scale: HeatScale, left: float, top: float) -> Markup:
    steps = [
        element("rect", {"x": left + 5.0 * index, "y": top, "width": 5.0, "height": 9, "class": css_class})
        for index, css_class in enumerate(scale.level_classes)
    ]
    end = left + 5.0 * len(steps)
    middle = (scale.low + scale.high) / 2
    ends = [(left, scale.low, "start"), ((left + end) / 2, middle, "middle"), (end, scale.high, "end")]
    numbers = [label_at(x, top + 20, format_number(float(value), 2), "tick", anchor) for x, value, anchor in ends]
    special = {words_for(value): value for row in values for value in row if finite(value) is None}
    marks: list[Markup] = []
    for index, (words, value) in enumerate(special.items()):
        x, y = end + 14, top - 4 + 13 * index
        marks.append(_cell(value, (x, y), (10, 10), scale, ""))
        marks.append(label_at(x + 15, y + 8, _LEGEND_WORDS.get(words or "", words or ""), "tick"))
    return joined([*steps, line_between(left, top + 9, end, top + 9, "axis"), *numbers, *marks])
