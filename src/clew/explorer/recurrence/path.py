"""The product of Jacobians along a chosen path in time: its factors, its norm and bound, the carry-only product beside.

Start with `path_html`. The Jacobians are the ledger's, of the states that the model really had.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from markupsafe import Markup
from torch import Tensor

from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.bounds import require_followed
from clew.explorer.recurrence.choice import Choice
from clew.explorer.recurrence.forms import number_field, submit
from clew.explorer.recurrence.tables import (
    STYLES,
    boxes,
    heat_table,
    norm_of,
    positive_or_none,
    refused,
    rows_of,
    scale_of,
    shown_words,
)
from clew.ledger.grids import window
from clew.ledger.spectral import spectral_norms
from clew.rendering.axes import Axis, axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.markup import element
from clew.rendering.numbers import Value, format_number
from clew.rendering.page import figure, fragments, paragraph, subsection
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_ROWS = 24


@dataclass(frozen=True)
class Path:
    """A path and its numbers, a place for each transition.

    Attributes:
        steps: Read after the start, up to the end.
        found: What `Ledger.path` gave.
        products: Norm of the product of the factors so far, from the start.
        bounds: Product of their norms so far.
        carries: Largest entry of the carry-only product so far; empty where the cell carries nothing by itself.
    """

    steps: Sequence[int]
    found: Mapping[str, Tensor]
    products: Sequence[float]
    bounds: Sequence[float]
    carries: Sequence[float]


def read_path(choice: Choice) -> Path:
    """Follow the chosen path."""
    found = choice.scene.ledger.path(choice.layer, choice.scene.row, choice.start, choice.end)
    product = torch.eye(found["product"].shape[-1], dtype=found["product"].dtype)
    products = []
    for jacobian in found["jacobians"]:
        product = jacobian @ product
        products.append(product)
    carries = found["carry"].cumprod(dim=0).abs().amax(dim=1).tolist() if "carry" in found else []
    return Path(
        choice.read_between(choice.start, choice.end),
        found,
        spectral_norms(torch.stack(products)).tolist(),
        found["norms"].cumprod(dim=0).tolist(),
        carries,
    )


def path_html(choice: Choice) -> Markup:
    """Show the path that is chosen, and a form to choose another."""
    if len(choice.order) < 2:
        return paragraph("One step has no transition: a path needs two states.")
    try:
        require_followed(choice, len(choice.read_between(choice.start, choice.end)), "Choose a shorter path.")
    except ExplorerError as error:
        return _form(choice) + refused(error)
    path = read_path(choice)
    return fragments(
        paragraph(
            "The derivative of a later state with respect to an earlier one is the product of one Jacobian a step. "
            "Its norm says how much of a change, or of a sensitivity, such a path lets through."
        ),
        _form(choice),
        _answer(choice, path),
        element("div", {"class": "beside"}, element("div", None, _factors(choice, path)), _chart(path)),
        subsection("The product, and what the carry alone would give"),
        _matrices(choice, path),
    )


def _form(choice: Choice) -> Markup:
    least, most = min(choice.order), max(choice.order)
    carried = choice.scene.address.hidden_inputs("start", "end")
    fields = [
        number_field("start", "From the state after step", choice.start, least, most),
        number_field("end", "to the state after step", choice.end, least, most),
    ]
    attributes = {"method": "get", "action": f"{choice.scene.address.path}#path", "class": "controls"}
    return element("form", attributes, carried, *fields, submit("Follow", "path-submit"))


def _answer(choice: Choice, path: Path) -> Markup:
    found, count = path.found, len(path.steps)
    norm, bound = float(found["norm"]), float(found["bound"])
    where = " to that after ".join(f"step {step} ({choice.word(step)})" for step in (choice.start, choice.end))
    words = [f"From the state after {where}: {count} transition{'' if count == 1 else 's'}."]
    words.append(f" Norm of the product {format_number(norm)}, bound {format_number(bound)}")
    if path.carries:
        words.append(f", carry alone {format_number(path.carries[-1])}")
    words.append(".")
    if norm == 0 and float(found["norms"].min()) > 0:
        words.append(" No factor is 0: the product is too small for this precision.")
    if "carried" in found:
        words.append(_carried_words(choice, found["carried"]))
    return element("p", {"class": "proof"}, *words)


def _carried_words(choice: Choice, carried: Tensor) -> str:
    whole = norm_of(torch.cat([choice.of(part).sensitivity[choice.start] for part in choice.module.state_parts]))
    return (
        f" Of the sensitivity at the start, whose norm is {format_number(whole)}, the part that comes along this path "
        f"from its end has norm {format_number(norm_of(carried))}."
    )


def _factors(choice: Choice, path: Path) -> Markup:
    """List the transitions: each factor's norm, and norm, bound and carry of the product so far."""
    columns = [Column("transition to", "left"), Column("factor"), Column("product"), Column("bound")]
    columns += [Column("carry, mean"), Column("carry, product")] if path.carries else []
    gates = path.found["carry"].mean(dim=1).tolist() if path.carries else []
    shown = window(len(path.steps), MOST_ROWS)
    rows: list[list[str | Cell]] = []
    for place in shown:
        if place is None:
            rows.append(["…", *("" for _ in columns[1:])])
            continue
        numbers = [float(path.found["norms"][place]), path.products[place], path.bounds[place]]
        numbers += [gates[place], path.carries[place]] if path.carries else []
        rows.append([choice.label(path.steps[place]), *map(format_number, numbers)])
    cut = shown_words("transitions", shown, len(path.steps))
    notes = [
        "factor: spectral norm of the transition's Jacobian; product: of the product of the factors so far",
        "bound: the product of the factors' norms, which the product cannot exceed",
    ]
    if path.carries:
        notes.append(f"carry: the {_gate(choice)} alone, as if gates and candidate did not depend on the state")
        notes.append("carry, product: the largest entry of the product so far")
    notes += [cut] if cut else []
    return table_html(Table("Factors along the path", columns, [Group(rows)], notes))


def _gate(choice: Choice) -> str:
    return "forget gate" if "cell" in choice.module.state_parts else "update gate"


def _chart(path: Path) -> Markup:
    curves: dict[str, list[Value]] = {"product": [1.0, *path.products], "bound": [1.0, *path.bounds]}
    if path.carries:
        curves["carry only"] = [1.0, *path.carries]
    curves = {name: positive_or_none(curve) for name, curve in curves.items()}
    lines = [Line(name, STYLES[name], list(enumerate(curve))) for name, curve in curves.items()]
    axis = axis_over("norm, logarithmic", [number for curve in curves.values() for number in curve], log=True)
    picture = line_chart("Along the path", Axis("transitions", 0, len(path.steps)), axis, lines)
    entries = legend([LegendEntry(name, "line", STYLES[name]) for name in curves])
    return figure(entries + picture, "What is left of a length of 1; what is 0 has no point.")


def _matrices(choice: Choice, path: Path) -> Markup:
    """Show the whole product, and beside it the diagonal that the carry alone gives."""
    hidden, product = choice.hidden, path.found["product"]
    labels = [
        f"{part[0] if part == 'cell' else 'h'} {unit}" for part in choice.module.state_parts for unit in range(hidden)
    ]
    new = [f"new {label}" for label in labels]
    scale = scale_of(rows_of(product))
    tables = [heat_table("Product: d new state / d old state", "", new, labels, rows_of(product), [scale])]
    if not path.carries:
        return boxes(*tables) + paragraph("A simple RNN has no carry: every path leads through weights and slopes.")
    along = path.found["carry"].prod(dim=0)
    is_cell = "cell" in choice.module.state_parts
    letter, start = ("c", hidden) if is_cell else ("h", 0)
    own = product.diagonal()[start:]
    rows = rows_of(torch.stack([along, own], dim=1))
    units = [f"{letter} {unit}" for unit in range(hidden)]
    tables.append(heat_table("Carry only, and full", "", units, ["carry only", "full"], rows, [scale_of(rows)]))
    words = (
        f"Carry only is, unit by unit, the product of the {_gate(choice)} over the path; full is the entry of the same "
        "unit on the diagonal of the product, which also goes through what gates and candidate read of the state."
    )
    return boxes(*tables) + paragraph(words)
