"""The ledger as one HTML page that needs nothing from outside: every quantity, its equation, its numbers in colour.

Of a batch one row is shown. Long axes show their first and last places, and a note says what is left out. "not
computed", "hidden", 0, NaN and infinity look different. Start with `ledger_page`.
"""

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from clew.ledger.grids import flow_of, grids_of
from clew.ledger.matrices import described_html, numbers_html
from clew.ledger.quantity import Quantity
from clew.ledger.tables import shape_words, summary
from clew.ledger.verification import Distance
from clew.rendering.markup import element
from clew.rendering.mathml import equation_html
from clew.rendering.numbers import format_number
from clew.rendering.page import Section, fragments, render_page
from clew.rendering.tables import Cell, Column, Group, Table, table_html

TITLE = "Ledger"
MOST_GRIDS = 4


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


def quantity_page(quantity: Quantity, row: int = 0, tokens: Sequence[str] | None = None) -> str:
    """Render one quantity as a page of its own."""
    section = Section("Numbers", "numbers", _numbers(quantity, row, tokens))
    return render_page(quantity.name, fragments(described_html(quantity), _checked([quantity], (), row)), [section])


def overview_page(quantities: Sequence[Quantity], distances: Sequence[Distance], lead: Markup) -> str:
    """Render the table of quantities without their numbers."""
    section = Section("All quantities", "all-quantities", overview_html(quantities, is_linked=False))
    return render_page(TITLE, fragments(lead, _checked(quantities, distances, None)), [section])


def overview_html(quantities: Sequence[Quantity], is_linked: bool = True) -> Markup:
    """Render the table of quantities; each name leads to its numbers where they stand on the same page."""
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
        Group([_overview_row(quantity, is_linked) for quantity in own], above)
        for above, own in groupby(quantities, lambda quantity: _layer(quantity.name))
    ]
    notes = ["sensitivity: norm of the loss's derivative with respect to the quantity"]
    notes += ["cells that a rule hides are left out of least, mean and largest"]
    return table_html(Table("Quantities in the order of computation", columns, groups, notes))


def _overview_row(quantity: Quantity, is_linked: bool) -> list[str | Cell]:
    found, name = summary(quantity), quantity.name.rpartition(".")[2]
    link = element("a", {"href": f"#{_anchor(quantity.name)}"}, name) if is_linked else name
    is_ids = not quantity.value.is_floating_point()
    norm = Cell(("",)) if is_ids else Cell((format_number(found.norm),), "muted" if found.norm is None else "plain")
    mean = "" if is_ids else format_number(found.mean)
    return [
        link, shape_words(quantity), format_number(found.least), mean, format_number(found.largest), norm,
        equation_html(quantity.equation),
    ]  # fmt: skip


def _checked(quantities: Sequence[Quantity], distances: Sequence[Distance], row: int | None) -> Markup:
    batch = max((q.shape[q.axes.index("batch")] for q in quantities if "batch" in q.axes), default=1)
    words = [f"{len(quantities)} quantities"] if len(quantities) != 1 else ["1 quantity"]
    words += [f"row {row} of {batch} in the batch is shown"] if batch > 1 and row is not None else []
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
    heading = element("h3", {"id": _anchor(quantity.name)}, quantity.name.rpartition(".")[2])
    return fragments(heading, described_html(quantity), _numbers(quantity, row, tokens))


def _numbers(quantity: Quantity, row: int, tokens: Sequence[str] | None) -> Markup:
    shown = quantity.at(batch=row) if "batch" in quantity.axes else quantity
    return numbers_html(quantity, grids_of(shown, tokens), MOST_GRIDS, flow_of(shown, tokens))


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
