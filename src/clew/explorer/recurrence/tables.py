"""Matrices with a heat colour, windowed, for the view of a recurrence: units, gates and weights, with their labels.

What is left out is said below the table. Start with `heat_table`.
"""

from collections.abc import Callable, Sequence

from markupsafe import Markup
from torch import Tensor

from clew.errors import ClewError
from clew.explorer.recurrence.choice import Choice
from clew.ledger.grids import Rows, cells, window
from clew.rendering.colours import HeatScale, SeriesStyle, diverging, sequential
from clew.rendering.markup import element
from clew.rendering.numbers import Value, finite_values, format_number
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_ROWS, MOST_COLUMNS = 24, 16
SHORT = {
    "preactivation": "z",
    "reset_gate": "reset",
    "update_gate": "update",
    "candidate": "candidate",
    "input_gate": "input",
    "forget_gate": "forget",
    "cell_candidate": "candidate",
    "output_gate": "output",
}
STYLES = {
    "state": SeriesStyle("series-0", "circle", None),
    "direct": SeriesStyle("series-1", "square", "7 3"),
    "later": SeriesStyle("series-3", "triangle", "2 2.5"),
    "path": SeriesStyle("series-5", "diamond", None),
    "product": SeriesStyle("series-5", "diamond", None),
    "bound": SeriesStyle("series-7", "cross", "9 3 2 3"),
    "carry only": SeriesStyle("series-2", "plus", "4 2 1 2 1 2"),
    "contribution": SeriesStyle("series-0", "circle", None),
}
Opened = Callable[[int, int, str], str]


def heat_table(
    caption: str,
    corner: str,
    down: Sequence[str],
    across: Sequence[str],
    values: Rows,
    scales: Sequence[HeatScale],
    opened: Opened | None = None,
    notes: Sequence[str] = (),
    marked: int | None = None,
) -> Markup:
    """Render a matrix.

    Args:
        caption: Above it.
        corner: What its rows are.
        down: A label a row.
        across: A label a column.
        values: A row of numbers a row.
        scales: One scale for all columns, or one a column.
        opened: Makes the button of a cell from its row, its column and its number in words.
        notes: Below it.
        marked: The row that is open.
    """
    rows, columns = places_around(len(down), marked or 0, MOST_ROWS), window(len(across), MOST_COLUMNS)
    every = scales if len(scales) > 1 else [*scales] * len(across)
    header = [Column(corner, "left"), *(Column("…" if place is None else across[place]) for place in columns)]
    body: list[list[str | Cell]] = []
    for row in rows:
        if row is None:
            body.append(["…", *("" for _ in columns)])
            continue
        name = Cell((element("strong", None, f"▸ {down[row]}"),)) if row == marked else down[row]
        body.append([name, *(_cell(values, row, place, every, opened) for place in columns)])
    cuts = [shown_words("rows", rows, len(down)), shown_words("columns", columns, len(across))]
    table = Table(caption, header, [Group(body)], [*notes, *(cut for cut in cuts if cut)])
    return table_html(table, None if opened is None else {"data-grid": ""})


def _cell(values: Rows, row: int, place: int | None, scales: Sequence[HeatScale], opened: Opened | None) -> str | Cell:
    if place is None:
        return "…"
    value = values[row][place]
    words = format_number(value)
    content = words if opened is None else opened(row, place, words)
    return Cell((content,), css_class=scales[place].classes_of([value])[0])


def places_around(count: int, place: int, most: int, around: int = 1) -> list[int | None]:
    """List the places that are shown: all, or the first, those around an open one, and the last, with None between.

    >>> places_around(30, 12, 9)
    [0, 1, 2, None, 11, 12, 13, None, 27, 28, 29]
    """
    if count <= most:
        return list(range(count))
    ends = (most - 2 * around - 1) // 2
    near = range(place - around, place + around + 1)
    kept = sorted({at for at in (*range(ends), *near, *range(count - ends, count)) if 0 <= at < count})
    found: list[int | None] = []
    for at, before in zip(kept, [-1, *kept], strict=False):
        found += [at] if at == before + 1 else [None, at]
    return found


def shown_words(what: str, places: Sequence[int | None], count: int) -> str:
    """Say how much is shown; empty if all is."""
    shown = sum(place is not None for place in places)
    return "" if shown == count else f"{shown} of {count} {what} are shown"


def scale_of(rows: Rows) -> HeatScale:
    """Choose a scale: from zero up where nothing is negative, else with zero at its middle."""
    numbers = [number for row in rows for number in finite_values(row) if number is not None]
    if numbers and min(numbers) >= 0:
        return sequential(0.0, max(numbers) or 1.0)
    values: list[Value] = list(numbers)
    return diverging(values)


def rows_of(values: Tensor) -> Rows:
    """Give a vector or a matrix as rows of numbers; a vector becomes a column."""
    return cells(values.unsqueeze(1) if values.ndim == 1 else values)


def weight_table(choice: Choice, caption: str, values: Tensor, scale: HeatScale | None = None) -> Markup:
    """Render the rows of the chosen gate of a shared parameter, or of anything of its shape."""
    start = choice.gate * choice.hidden
    rows = rows_of(values[start : start + choice.hidden])
    corner = f"{SHORT[choice.gates[choice.gate]]} of unit" if len(choice.gates) > 1 else "unit"
    units = [str(unit) for unit in range(choice.hidden)]
    return heat_table(caption, corner, units, _read_labels(choice), rows, [scale_of(rows) if scale is None else scale])


def weight_scale(choice: Choice, *values: Tensor) -> HeatScale:
    """Choose one scale for the rows of the chosen gate of several arrays."""
    start = choice.gate * choice.hidden
    return scale_of([row for one in values for row in rows_of(one[start : start + choice.hidden])])


def _read_labels(choice: Choice) -> list[str]:
    """Name what the columns of the chosen parameter read."""
    if choice.weight.startswith("bias"):
        return ["offset"]
    letter, count = ("x", choice.module.features) if choice.weight == "weight_ih" else ("h", choice.hidden)
    return [f"{letter} {place}" for place in range(count)]


def positive_or_none(values: Sequence[Value]) -> list[Value]:
    """Leave out of a curve on a logarithmic axis what has no logarithm."""
    return [value if isinstance(value, float) and value > 0 else None for value in values]


def norm_of(values: Tensor) -> float:
    """Give the length of all numbers as one vector, in double precision."""
    return float(values.double().norm())


def boxes(*tables: Markup) -> Markup:
    """Put tables side by side where there is room."""
    return element("div", {"class": "matrices"}, *(element("div", None, one) for one in tables))


def refused(error: ClewError) -> Markup:
    """Say in the place of a table why there is none."""
    return element("p", {"class": "made"}, str(error))
