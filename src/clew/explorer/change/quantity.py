"""One quantity in two passes: before, after and their difference as matrices in colour, values and sensitivities.

Cells that moved are framed; what is hidden, absent, NaN or infinite is said in words. Start with `quantity_html`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clew.explorer.change.matrix import (
    SINGULAR,
    Matrix,
    Side,
    gap_words,
    matrix_count,
    matrix_of,
    matrix_place,
    scale_of,
)
from clew.explorer.change.moved import Sides
from clew.explorer.change.movement import Movement, Pair
from clew.explorer.scene import Scene
from clew.ledger.grids import Rows, window
from clew.ledger.quantity import Quantity
from clew.ledger.tables import shape_words
from clew.rendering.colours import HeatScale, diverging
from clew.rendering.markup import element
from clew.rendering.mathml import equation_html
from clew.rendering.numbers import HIDDEN, Value, as_float, format_number
from clew.rendering.page import fragments, paragraph
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_LINKS = 24


def quantity_html(pair: Pair, first: Scene, second: Scene, sides: Sides, grid: int) -> Markup:
    """Show a quantity in two passes.

    Args:
        pair: The quantity.
        first: Of the first pass.
        second: Of the second one.
        sides: What the passes are called.
        grid: Which of its matrices, such as a head.
    """
    known = pair.second or pair.first
    assert known is not None
    backward = _apart_words("Sensitivities", pair.backward, sides)
    parts = [
        element("h3", {"id": f"{sides.parameter}-open", "tabindex": "-1"}, pair.name),
        paragraph(equation_html(known.equation), f". Shape: {shape_words(known)}."),
        *(paragraph(told) for told in (_apart_words("Values", pair.forward, sides), backward) if told),
    ]
    count = matrix_count(known)
    grid = min(grid, count - 1)
    if count > 1:
        parts.append(_matrix_links(known, grid, sides))
    around = pair.forward.place or pair.backward.place or {}
    ones = [
        None if one is None else matrix_of(one, scene, min(grid, matrix_count(one) - 1), around)
        for one, scene in ((pair.first, first), (pair.second, second))
    ]
    return fragments(*parts, *_triples(ones, pair, sides), _close(sides))


def _apart_words(what: str, found: Movement, sides: Sides) -> str:
    """Say in a sentence how far apart the two are."""
    if found.status == "none":
        return ""
    if found.status != "moved":
        words = {
            "equal": "are exactly equal, bit for bit",
            "rounding": f"are equal to rounding, at most {format_number(found.largest, 2)} apart",
            "shape": "have another shape in the two",
            "first": f"are only {sides.first}",
            "second": f"are only {sides.second}",
        }
        return f"{what} {words[found.status]}."
    place = ", ".join(f"{SINGULAR.get(axis, axis)} {at}" for axis, at in (found.place or {}).items() if axis != "one")
    at = f" at {place}" if place else ""
    return f"{what}: {found.cells:,} of {found.count:,} moved, the furthest by {format_number(found.largest)}{at}."


def _matrix_links(quantity: Quantity, chosen: int, sides: Sides) -> Markup:
    """Let a person choose one of several matrices, such as a head."""
    items = []
    for place in window(matrix_count(quantity), MOST_LINKS):
        if place is None:
            items.append(element("li", None, "…"))
            continue
        current = {"aria-current": "true"} if place == chosen else {}
        link = sides.link(grid=place)
        attributes = {"href": f"{link}#{sides.parameter}-open", "id": f"{sides.parameter}-grid-{place}"} | current
        items.append(element("li", None, element("a", attributes, matrix_place(quantity, place))))
    return element("ul", {"class": "choices", "aria-label": "Matrices of the quantity"}, *items)


def _close(sides: Sides) -> Markup:
    link = sides.link(**{sides.parameter: None, "grid": None})
    return paragraph(element("a", {"href": link, "id": f"{sides.parameter}-close"}, "Close this quantity"))


def _triples(ones: Sequence[Matrix | None], pair: Pair, sides: Sides) -> list[Markup]:
    """Show the values, and below them the sensitivities, each as two matrices and their difference."""
    tables = [None if one is None else _Table(one, one.values, one.value_range) for one in ones]
    found = [_triple("Value", tables, pair.forward, sides)]
    tables = [
        None if one is None or one.sensitivities is None else _Table(one, one.sensitivities, one.sensitivity_range)
        for one in ones
    ]
    return [*found, _triple("Sensitivity", tables, pair.backward, sides)] if any(tables) else found


def _triple(what: str, tables: "Sequence[_Table | None]", found: Movement, sides: Sides) -> Markup:
    present = [table for table in tables if table is not None]
    scale = scale_of([table.reach for table in present])
    first, second = tables
    marked: list[list[bool]] | None = None
    parts: list[Markup] = []
    if first is not None and second is not None and _sizes(first) == _sizes(second):
        difference = [list(map(_difference, *rows)) for rows in zip(first.rows, second.rows, strict=True)]
        marked = [[_is_moved(value, found.limit) for value in row] for row in difference]
        apart = [found.largest] if math.isfinite(found.largest) else [value for row in difference for value in row]
        parts.append(_table_html(f"{what}, difference", second, difference, marked, diverging(apart)))
    if second is not None:
        parts.insert(0, _table_html(f"{what}, {sides.second}", second, second.rows, marked, scale))
    if first is not None:
        parts.insert(0, _table_html(f"{what}, {sides.first}", first, first.rows, None, scale))
    return element("div", {"class": "matrices"}, *(element("div", None, part) for part in parts))


@dataclass(frozen=True)
class _Table:
    """The values or the sensitivities of a matrix."""

    matrix: Matrix
    rows: Rows
    reach: tuple[float, float]


def _sizes(table: _Table) -> tuple[int, int]:
    return table.matrix.down.count, table.matrix.across.count


def _difference(first: Value, second: Value) -> Value:
    """Subtract two cells; hidden in one of them is said in words, and in both is hidden."""
    if HIDDEN in (first, second):
        return HIDDEN if first == second else "was hidden" if first == HIDDEN else "now hidden"
    one, other = as_float(first), as_float(second)
    if one is None or other is None:
        return None
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    return other - one


def _is_moved(value: Value, limit: float) -> bool:
    """Whether a difference is more than rounding; one that is not a number is."""
    if isinstance(value, str):
        return value != HIDDEN
    return value is not None and not abs(value) <= limit


def _table_html(
    caption: str, table: _Table, rows: Rows, marked: Sequence[Sequence[bool]] | None, scale: HeatScale
) -> Markup:
    down, across = table.matrix.down, table.matrix.across
    corner = " \\ ".join(side.axis for side in (down, across) if side.axis not in ("", "one"))
    names = iter(across.labels)
    columns = [Column(corner, "left"), *(Column("…" if at is None else next(names)) for at in across.places)]
    body: list[list[str | Cell]] = []
    number = 0
    for place in down.places:
        if place is None:
            body.append(["…", *[""] * len(across.places)])
            continue
        cells = _cells(rows[number], None if marked is None else marked[number], across, scale)
        body.append([down.labels[number], *cells])
        number += 1
    notes = [words for words in (gap_words(down), gap_words(across)) if words]
    caption = ", ".join(part for part in (caption, table.matrix.place) if part)
    return table_html(Table(caption, columns, [Group(body)], notes))


def _cells(row: Sequence[Value], marked: Sequence[bool] | None, across: Side, scale: HeatScale) -> list[str | Cell]:
    """Write the cells of a row, with a gap where places are cut."""
    classes = scale.classes_of([_coloured(value) for value in row])
    found: list[str | Cell] = []
    number = 0
    for place in across.places:
        if place is None:
            found.append("…")
            continue
        css_class = f"{classes[number]} moved" if marked is not None and marked[number] else classes[number]
        found.append(Cell((_written(row[number]),), css_class=css_class))
        number += 1
    return found


def _coloured(value: Value) -> Value:
    return HIDDEN if isinstance(value, str) and value.endswith(HIDDEN) else value


def _written(value: Value) -> str:
    return value if isinstance(value, str) and value.endswith(HIDDEN) else format_number(value)
