"""How sensitivities travel along time in one layer: a chart of their norms, and the table with a line a step.

The numbers are those of `clew.report.trace_paths`. Start with `along_time_html`.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.bounds import require_followed
from clew.explorer.recurrence.choice import Choice
from clew.explorer.recurrence.tables import STYLES, places_around, positive_or_none, refused, shown_words
from clew.ledger import Ledger
from clew.rendering.axes import Axis, axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import SeriesStyle
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.markup import element
from clew.rendering.numbers import Value, format_number
from clew.rendering.page import figure, fragments, paragraph
from clew.rendering.tables import Cell, Column, Group, Table, table_html
from clew.report.trace_paths import StepTable, step_tables

MOST_ROWS = 24
DRAWN = ("direct", "later", "state", "path", "bound")


def along_time_html(choice: Choice) -> Markup:
    """Chart and table of the layer that is open."""
    try:
        if not choice.is_from_end:  # whose table has no paths
            require_followed(choice, len(choice.order), "Choose a shorter input or a narrower model.")
    except ExplorerError as error:
        return refused(error)
    found = step_table(choice)
    words = (
        "For each state: the direct term from the head or the layer above, the term from later steps, and their sum, "
        "as norms. path and bound tell what a path of that length lets through, whatever arrives at its end."
    )
    return fragments(paragraph(words), _chart(choice, found), _table(choice, found))


def step_table(choice: Choice) -> StepTable:
    """Measure the layer that is open."""
    ledger = choice.scene.ledger[f"{choice.layer}.*"]
    assert isinstance(ledger, Ledger)
    (found,) = step_tables(ledger, choice.scene.row, _read_tokens(choice))
    return found


def _read_tokens(choice: Choice) -> list[str]:
    """The words of the row up to its last real step."""
    return choice.scene.tokens[: max(choice.order) + 1]


def _chart(choice: Choice, found: StepTable) -> Markup:
    columns = {name: positive_or_none([row[place] for row in found.rows]) for place, name in enumerate(found.columns)}
    names = [name for name in DRAWN if name in columns]
    lines = [_line(name, STYLES[name], columns[name], choice.step) for name in names]
    x = Axis("step", 0, max(len(found.steps) - 1, 1))
    y = axis_over("norm, logarithmic", [number for name in names for number in columns[name]], log=True)
    entries = legend([LegendEntry(name, "line", STYLES[name]) for name in names])
    caption = "Norms along time. The open step is marked; what is 0 has no point."
    picture = line_chart("Sensitivities along time", x, y, lines, description="Norms of sensitivities by step")
    return figure(entries + picture, caption)


def _line(name: str, style: SeriesStyle, values: Sequence[Value], step: int) -> Line:
    points = [(place, value) for place, value in enumerate(values)]
    marked = (step, values[step]) if name in ("direct", "later", "state") else None
    return Line(name, style, points, marked)


def _table(choice: Choice, found: StepTable) -> Markup:
    columns = [Column("step", "left"), *(Column(name) for name in found.columns)]
    shown = places_around(len(found.steps), choice.step, MOST_ROWS)
    rows: list[list[str | Cell]] = []
    for place in shown:
        if place is None:
            rows.append(["…", *("" for _ in found.columns)])
            continue
        cells = [_cell(value) for value in found.rows[place]]
        rows.append([_linked(choice, place), *cells])
    cut = shown_words("steps", shown, len(found.steps))
    notes = [*found.notes, *([cut] if cut else [])]
    return table_html(Table("Norms, a line a step", columns, [Group(rows)], notes))


def _cell(value: Value) -> Cell:
    return Cell(("-",), "muted") if value is None else Cell((format_number(value),))


def _linked(choice: Choice, step: int) -> Cell:
    if step not in choice.order:
        return Cell((choice.label(step),), "muted")
    address = choice.scene.address.link(step=step)
    attributes = {"href": address, "id": f"norms-step-{step}", "aria-current": "step" if step == choice.step else None}
    return Cell((element("a", attributes, choice.label(step)),), "strong" if step == choice.step else "plain")
