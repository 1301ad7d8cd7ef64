"""The ledger as one HTML page that needs nothing from outside: every quantity, its equation, its numbers in colour.

Of a batch one row is shown. Long axes show their first and last places, and a note says what is left out. "not
computed", "hidden", 0, NaN and infinity look different. Start with `ledger_page`.
"""

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from clew.ledger.grids import Flow, Grid, Rows, Side, cut_words, flow_of, grids_of, window
from clew.ledger.quantity import Quantity
from clew.ledger.tables import shape_words, summary
from clew.ledger.verification import Distance
from clew.rendering.colours import HeatScale, diverging, sequential
from clew.rendering.markup import element
from clew.rendering.numbers import HIDDEN, Value, finite_values, format_number
from clew.rendering.page import Section, fragments, paragraph, render_page
from clew.rendering.tables import Cell, Column, Group, Table, table_html

TITLE = "Ledger"
MOST_ROWS, MOST_COLUMNS, MOST_GRIDS = 32, 12, 4


def ledger_page(
    quantities: Sequence[Quantity],
    distances: Sequence[Distance] = (),
    row: int = 0,
    tokens: Sequence[str] | None = None,
    title: str = TITLE,
    lead: Markup | None = None,
    extra: Sequence[Section] = (),
) -> str:
    """Render the page.

    Args:
        quantities: In the order of computation.
        distances: How far explanations lie from what really ran.
        row: Which row of the batch is shown.
        tokens: A word for each step of that row.
        title: Heading of the page.
        lead: What stands below it.
        extra: Sections between the table of quantities and the quantities.
    """
    layers = [(above, list(own)) for above, own in groupby(quantities, lambda quantity: _layer(quantity.name))]
    sections = [Section("All quantities", "all-quantities", overview_html(quantities)), *extra]
    sections += [Section(above, _anchor(above), _layer_content(own, row, tokens)) for above, own in _merged(layers)]
    return render_page(title, fragments(lead or Markup(""), _checked(quantities, distances, row)), sections)


def overview_html(quantities: Sequence[Quantity]) -> Markup:
    """Render the table of quantities; each name leads to its numbers on the same page."""
    columns = [
        Column("quantity", "left"),
        Column("shape", "left"),
        Column("least"),
        Column("mean"),
        Column("largest"),
        Column("sensitivity"),
        Column("equation", "left", wraps=True),
    ]
    groups = [
        Group([_overview_row(quantity) for quantity in own], above)
        for above, own in groupby(quantities, lambda quantity: _layer(quantity.name))
    ]
    notes = ["sensitivity: norm of the loss's derivative with respect to the quantity"]
    notes += ["cells that a rule hides are left out of least, mean and largest"]
    return table_html(Table("Quantities in the order of computation", columns, groups, notes))


def _overview_row(quantity: Quantity) -> list[str | Cell]:
    found = summary(quantity)
    link = element("a", {"href": f"#{_anchor(quantity.name)}"}, quantity.name.rpartition(".")[2])
    is_ids = not quantity.value.is_floating_point()
    norm = Cell(("",)) if is_ids else Cell((format_number(found.norm),), "muted" if found.norm is None else "plain")
    mean = "" if is_ids else format_number(found.mean)
    return [
        link, shape_words(quantity), format_number(found.least), mean, format_number(found.largest), norm,
        element("code", None, quantity.equation),
    ]  # fmt: skip


def _checked(quantities: Sequence[Quantity], distances: Sequence[Distance], row: int) -> Markup:
    batch = max((q.shape[q.axes.index("batch")] for q in quantities if "batch" in q.axes), default=1)
    words = [f"{len(quantities)} quantities"]
    words += [f"row {row} of {batch} in the batch is shown"] if batch > 1 else []
    if distances:
        furthest = max(distances, key=lambda one: one.relative / (one.bound or 1.0))
        words.append(
            f"checked against what really ran in {len(distances)} places, the furthest one apart by "
            f"{format_number(furthest.relative)} of its largest number ({furthest.what} of {furthest.name})"
        )
    return element("p", {"class": "made"}, "; ".join(words) + ".")


def _layer_content(quantities: Sequence[Quantity], row: int, tokens: Sequence[str] | None) -> Markup:
    return fragments(*(_quantity_content(quantity, row, tokens) for quantity in quantities))


def _quantity_content(quantity: Quantity, row: int, tokens: Sequence[str] | None) -> Markup:
    shown = quantity.at(batch=row) if "batch" in quantity.axes else quantity
    grids = grids_of(shown, tokens)
    parts = [
        element("h3", {"id": _anchor(quantity.name)}, quantity.name.rpartition(".")[2]),
        _described(quantity),
        *_all_matrices(grids[:MOST_GRIDS], quantity),
    ]
    if len(grids) > MOST_GRIDS:
        words = f"The first {MOST_GRIDS} of {len(grids)} matrices are shown, up to {grids[MOST_GRIDS - 1].place}."
        parts.append(element("p", {"class": "made"}, words))
    flow = flow_of(shown, tokens)
    return fragments(*parts, _flow(flow) if flow is not None else "")


def _described(quantity: Quantity) -> Markup:
    words = [element("code", None, quantity.equation), f". Shape: {shape_words(quantity)}."]
    words += [f" Variant: {quantity.variant}."] if quantity.variant else []
    words += [f" Source: {quantity.source}."] if quantity.source else []
    return paragraph(*words)


def _all_matrices(grids: Sequence[Grid], quantity: Quantity) -> list[Markup]:
    """Show matrices in colours that mean the same in each of them."""
    values = _scale([row for grid in grids for row in grid.values])
    sensitivities = _scale([row for grid in grids for row in grid.sensitivities or []])
    return [_matrices(grid, quantity, values, sensitivities) for grid in grids]


def _matrices(grid: Grid, quantity: Quantity, of_values: HeatScale, of_sensitivities: HeatScale) -> Markup:
    """Show the values of one matrix and, beside or below them, the sensitivities."""
    tables = [_matrix("Value", grid, grid.values, of_values)]
    if quantity.value.is_floating_point():
        why_not = quantity.never or "not computed, no backward pass has run"
        tables.append(
            element("p", {"class": "made"}, f"Sensitivity: {why_not}.")
            if grid.sensitivities is None
            else _matrix("Sensitivity", grid, grid.sensitivities, of_sensitivities)
        )
    return element("div", {"class": "matrices"}, *(_box(one) for one in tables))


def _box(content: Markup) -> Markup:
    return element("div", None, content)


def _matrix(what: str, grid: Grid, rows: Rows, scale: HeatScale) -> Markup:
    down, across = window(len(grid.down.labels), MOST_ROWS), window(len(grid.across.labels), MOST_COLUMNS)
    corner = " \\ ".join(side.axis for side in (grid.down, grid.across) if side.axis not in ("", "one"))
    columns = [
        Column(corner, "left"),
        *(Column("…" if place is None else grid.across.labels[place]) for place in across),
    ]
    body = [_matrix_row(grid.down, rows, place, across, scale) for place in down]
    cuts = [cut_words(side.axis, shown, len(side.labels)) for side, shown in ((grid.down, down), (grid.across, across))]
    notes = [cut for cut in cuts if cut]
    notes += [f"{HIDDEN}: by {' or '.join(grid.rules)}"] if grid.rules else []
    caption = ", ".join(part for part in (what, grid.place) if part)
    return table_html(Table(caption, columns, [Group(body)], notes))


def _matrix_row(
    down: Side, rows: Rows, place: int | None, across: Sequence[int | None], scale: HeatScale
) -> list[str | Cell]:
    if place is None:
        return ["…", *("" for _ in across)]
    values = [None if column is None else rows[place][column] for column in across]
    classes = scale.classes_of(values)
    found: list[str | Cell] = [down.labels[place]]
    for column, value, css_class in zip(across, values, classes, strict=True):
        found.append("…" if column is None else Cell((format_number(value),), css_class=css_class))
    return found


def _scale(rows: Rows) -> HeatScale:
    numbers = [number for row in rows for number in finite_values(row) if number is not None]
    if numbers and min(numbers) >= 0:
        return sequential(0.0, max(numbers) or 1.0)
    values: list[Value] = list(numbers)
    return diverging(values)


def _flow(flow: Flow) -> Markup:
    """Show the norms of the parts that sum to a sensitivity."""
    shown = window(len(flow.steps), MOST_ROWS)
    columns = [Column("step" if len(flow.steps) > 1 else "", "left"), *(Column(part) for part in flow.parts)]
    scale = _scale(flow.norms)
    rows = [_flow_row(flow, place, scale) for place in shown]
    cut = cut_words("time", shown, len(flow.steps))
    table = Table("Parts of the sensitivity, a norm each", columns, [Group(rows)], [cut] if cut else [])
    return element("div", {"class": "matrices"}, _box(table_html(table)))


def _flow_row(flow: Flow, place: int | None, scale: HeatScale) -> list[str | Cell]:
    if place is None:
        return ["…", *("" for _ in flow.parts)]
    norms = flow.norms[place]
    classes = scale.classes_of(norms)
    cells = (Cell((format_number(norm),), css_class=name) for norm, name in zip(norms, classes, strict=True))
    return [flow.steps[place], *cells]


def _merged(layers: Sequence[tuple[str, list[Quantity]]]) -> list[tuple[str, list[Quantity]]]:
    """Give each layer one section, where its quantities come apart in the order of computation."""
    found: dict[str, list[Quantity]] = {}
    for above, own in layers:
        found.setdefault(above, []).extend(own)
    return list(found.items())


def _layer(name: str) -> str:
    return name.rpartition(".")[0]


def _anchor(name: str) -> str:
    return name.replace("#", "-again-").replace(".", "-")
