"""A quantity as HTML: its equation and shape, its matrices in colour, the parts that sum to its sensitivity.

Pages, notebooks and the explorer show a quantity through these functions. What stands in a cell is a parameter: plain
numbers in a file, buttons where a cell opens into its arithmetic. Start with `pair_of_matrices` and `matrix_table`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clew.ledger.grids import Flow, Grid, Side, cut_words, window
from clew.ledger.quantity import Quantity
from clew.ledger.tables import shape_words
from clew.rendering.colours import HeatScale, diverging, sequential
from clew.rendering.markup import element
from clew.rendering.mathml import equation_html
from clew.rendering.numbers import HIDDEN, Value, finite_values, format_number
from clew.rendering.page import fragments, paragraph
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_ROWS, MOST_COLUMNS = 32, 12
Cells = Sequence[Sequence[Value]] | Mapping[int, Mapping[int, Value]]
"""Rows of numbers by place; of a large matrix only the places that are shown."""
Content = Callable[[int, int, Value], str]
"""What stands in the cell of a row, a column and a value."""


@dataclass(frozen=True)
class Frame:
    """A matrix without its numbers: where it lies, what its sides are, and which places of them are shown.

    Attributes:
        place: Where it lies in the quantity, such as "head 1".
        down: What its rows are.
        across: What its columns are.
        rules: What hid cells in it.
        rows: The places of `down` that are shown, None for a gap.
        columns: The places of `across` that are shown.
    """

    place: str
    down: Side
    across: Side
    rules: Sequence[str]
    rows: Sequence[int | None]
    columns: Sequence[int | None]

    @property
    def corner(self) -> str:
        """What stands above the labels of the rows."""
        return " \\ ".join(side.axis for side in (self.down, self.across) if side.axis not in ("", "one"))

    @property
    def notes(self) -> list[str]:
        """What is left out, and why cells are hidden."""
        sides = ((self.down, self.rows), (self.across, self.columns))
        cuts = [cut_words(side.axis, shown, len(side.labels)) for side, shown in sides]
        return [*filter(None, cuts), *([f"{HIDDEN}: by {' or '.join(self.rules)}"] if self.rules else [])]


def frame_of(grid: Grid) -> Frame:
    """Frame a grid; long sides show their first and last places."""
    rows, columns = window(len(grid.down.labels), MOST_ROWS), window(len(grid.across.labels), MOST_COLUMNS)
    return Frame(grid.place, grid.down, grid.across, grid.rules, rows, columns)


def plain(_row: int, _column: int, value: Value) -> str:
    """Show a value as a number and nothing else."""
    return format_number(value)


def described_html(quantity: Quantity) -> Markup:
    """Say in a paragraph how a quantity is computed, its shape, its variant and where it is from."""
    words = [equation_html(quantity.equation), f". Shape: {shape_words(quantity)}."]
    words += [f" Variant: {quantity.variant}."] if quantity.variant else []
    words += [f" Source: {quantity.source}."] if quantity.source else []
    return paragraph(*words)


def all_matrices(grids: Sequence[Grid], quantity: Quantity) -> list[Markup]:
    """Show matrices in colours that mean the same in each of them."""
    of_values = scale_of([row for grid in grids for row in grid.values])
    of_sensitivities = scale_of([row for grid in grids for row in grid.sensitivities or []])
    return [_value_and_sensitivity(grid, quantity, of_values, of_sensitivities) for grid in grids]


def _value_and_sensitivity(grid: Grid, quantity: Quantity, values: HeatScale, sensitivities: HeatScale) -> Markup:
    frame = frame_of(grid)
    table = (
        None if grid.sensitivities is None else matrix_table("Sensitivity", frame, grid.sensitivities, sensitivities)
    )
    return pair_of_matrices(quantity, matrix_table("Value", frame, grid.values, values), table)


def pair_of_matrices(quantity: Quantity, value: Markup, sensitivity: Markup | None) -> Markup:
    """Show the values of a quantity and, beside or below them, the sensitivities, or why there are none."""
    tables = [value]
    if quantity.value.is_floating_point():
        why_not = quantity.never or "not computed, no backward pass has run"
        missing = element("p", {"class": "made"}, f"Sensitivity: {why_not}.")
        tables.append(missing if sensitivity is None else sensitivity)
    return element("div", {"class": "matrices"}, *(element("div", None, one) for one in tables))


def matrix_table(
    what: str,
    frame: Frame,
    cells: Cells,
    scale: HeatScale,
    content: Content = plain,
    attributes: Mapping[str, str] | None = None,
) -> Markup:
    """Render a matrix as a table with heat colours.

    Args:
        what: What its numbers are, for the caption.
        frame: Its sides, and which places are shown.
        cells: The numbers, at least at the places that are shown.
        scale: The colours.
        content: What stands in a cell.
        attributes: Of the table, such as `data-grid`.
    """
    heads = (Column("…" if place is None else frame.across.labels[place]) for place in frame.columns)
    body = [_matrix_row(frame, cells, place, scale, content) for place in frame.rows]
    caption = ", ".join(part for part in (what, frame.place) if part)
    return table_html(Table(caption, [Column(frame.corner, "left"), *heads], [Group(body)], frame.notes), attributes)


def _matrix_row(frame: Frame, cells: Cells, place: int | None, scale: HeatScale, content: Content) -> list[str | Cell]:
    if place is None:
        return ["…", *("" for _ in frame.columns)]
    values = [None if column is None else cells[place][column] for column in frame.columns]
    found: list[str | Cell] = [frame.down.labels[place]]
    for column, value, css_class in zip(frame.columns, values, scale.classes_of(values), strict=True):
        found.append("…" if column is None else Cell((content(place, column, value),), css_class=css_class))
    return found


def scale_of(rows: Sequence[Sequence[Value]]) -> HeatScale:
    """Choose colours: from zero up where nothing is negative, else with zero at the middle."""
    numbers = [number for row in rows for number in finite_values(row) if number is not None]
    if numbers and min(numbers) >= 0:
        return sequential(0.0, max(numbers) or 1.0)
    values: list[Value] = list(numbers)
    return diverging(values)


def flow_table(flow: Flow) -> Markup:
    """Show the norms of the parts that sum to a sensitivity."""
    shown = window(len(flow.steps), MOST_ROWS)
    columns = [Column("step" if len(flow.steps) > 1 else "", "left"), *(Column(part) for part in flow.parts)]
    scale = scale_of(flow.norms)
    rows = [_flow_row(flow, place, scale) for place in shown]
    cut = cut_words("time", shown, len(flow.steps))
    table = Table("Parts of the sensitivity, a norm each", columns, [Group(rows)], [cut] if cut else [])
    return element("div", {"class": "matrices"}, element("div", None, table_html(table)))


def _flow_row(flow: Flow, place: int | None, scale: HeatScale) -> list[str | Cell]:
    if place is None:
        return ["…", *("" for _ in flow.parts)]
    norms = flow.norms[place]
    classes = scale.classes_of(norms)
    cells = (Cell((format_number(norm),), css_class=name) for norm, name in zip(norms, classes, strict=True))
    return [flow.steps[place], *cells]


def numbers_html(quantity: Quantity, grids: Sequence[Grid], most: int, flow: Flow | None) -> Markup:
    """Show the numbers of a quantity: its matrices up to a number of them, and the parts of its sensitivity."""
    parts = all_matrices(grids[:most], quantity)
    if len(grids) > most:
        words = f"The first {most} of {len(grids)} matrices are shown, up to {grids[most - 1].place}."
        parts.append(element("p", {"class": "made"}, words))
    return fragments(*parts, flow_table(flow) if flow is not None else "")
