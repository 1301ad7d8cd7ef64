"""One step of a recurrent layer: gates, candidate, cell and state by unit, forward and backward, and the arithmetic.

Every number of the first table is a button that opens the arithmetic of its unit. Start with `step_html`.
"""

from collections.abc import Sequence

import torch
from markupsafe import Markup
from torch import Tensor

from clew.explorer.recurrence.choice import Choice
from clew.explorer.recurrence.tables import SHORT, boxes, heat_table, norm_of
from clew.ledger.grids import Rows, cells
from clew.ledger.quantity import Quantity
from clew.rendering.colours import HeatScale, diverging, sequential
from clew.rendering.markup import element, joined
from clew.rendering.mathml import equation_html
from clew.rendering.numbers import Value, format_number
from clew.rendering.page import fragments, paragraph, subsection

GATES = ("reset_gate", "update_gate", "input_gate", "forget_gate", "output_gate")
BEFORE = {"state": "h before", "cell": "c before"}


def step_html(choice: Choice) -> Markup:
    """Show the open step: what it computed, what its numbers are made of, and what the backward pass says of them."""
    parts = [
        _equations(choice),
        _values(choice),
        subsection(f"The arithmetic of unit {choice.unit}"),
        _arithmetic(choice),
    ]
    if choice.scene.has_backward:
        parts += [subsection("What arrives at this step"), _arrivals(choice)]
    return fragments(*parts)


def _equations(choice: Choice) -> Markup:
    """List the layer's equations, and which variant of the cell it is."""
    quantities = [choice.of(name) for name in choice.names()]
    listed = element(
        "ul", {"class": "equations"}, *(element("li", None, equation_html(one.equation)) for one in quantities)
    )
    variants = list(dict.fromkeys(one.variant for one in quantities if one.variant))
    sources = list(dict.fromkeys(one.source for one in quantities if one.source))
    words = [f"Variant: {'; '.join(variants)}."] if variants else []
    words += [f"Source: {'; '.join(sources)}."] if sources else []
    return listed + element("p", {"class": "made"}, " ".join(words))


def _values(choice: Choice) -> Markup:
    """Show all quantities of the step by unit, and beside them their sensitivities."""
    names = choice.names()
    quantities = [choice.of(name) for name in names]
    before = [part for part in ("state", "cell") if part in names]
    labels = [BEFORE[part] for part in before] + [SHORT.get(name, name) for name in names]
    columns = [_before(choice, choice.of(part)) for part in before]
    columns += [cells(one.value[choice.step]) for one in quantities]
    scales = [_scale("state", column) for column in columns[: len(before)]]
    scales += [_scale(name, column) for name, column in zip(names, columns[len(before) :], strict=True)]
    units = [str(unit) for unit in range(choice.hidden)]

    def opened(unit: int, place: int, words: str) -> str:
        if place < len(before):
            return words
        name = names[place - len(before)]
        attributes = {"name": "cell", "value": f"{name}.{unit}", "id": f"cell-{name}-{unit}"}
        is_open = unit == choice.unit and name == choice.quantity
        return element("button", attributes | ({"aria-pressed": "true"} if is_open else {}), words)

    caption = "Values"
    table = heat_table(caption, "unit", units, labels, _turned(columns), scales, opened, marked=choice.unit)
    form = element(
        "form",
        {"method": "get", "action": choice.scene.address.path, "class": "cells-form"},
        _carried_along(choice),
        table,
    )
    tables = [form]
    if choice.scene.has_backward:
        found = [cells(one.sensitivity[choice.step]) for one in quantities]
        shades = [diverging(column) for column in found]
        names_of = [f"g[{SHORT.get(name, name)}]" for name in names]
        caption = "Sensitivities g, the derivatives of the loss"
        tables.append(heat_table(caption, "unit", units, names_of, _turned(found), shades, marked=choice.unit))
    note = (
        "The colours of a column range over that column; those of gates from 0 to 1. Choose a number to open its unit."
    )
    return boxes(*tables) + element("p", {"class": "made"}, note)


def _carried_along(choice: Choice) -> Markup:
    """The hidden fields of the form of cells, with the step written out, so that the link holds exactly this view."""
    step = element("input", {"type": "hidden", "name": "step", "value": str(choice.step)})
    return choice.scene.address.hidden_inputs("cell", "step") + step


def _before(choice: Choice, quantity: Quantity) -> list[Value]:
    previous = choice.previous
    return [0.0] * choice.hidden if previous is None else cells(quantity.value[previous])


def _scale(name: str, column: Sequence[Value]) -> HeatScale:
    return sequential(0.0, 1.0) if name in GATES else diverging(column)


def _turned(columns: Sequence[Sequence[Value]]) -> Rows:
    return [list(row) for row in zip(*columns, strict=True)]


def _arithmetic(choice: Choice) -> Markup:
    """Write how each quantity of the open unit was computed, line by line."""
    entries: list[Markup] = []
    for name in choice.names():
        places = {"row": choice.scene.row, "step": choice.step, "hidden": choice.unit}
        told = choice.scene.ledger.explain(f"{choice.layer}.{name}", **places)
        is_open = name == choice.quantity
        term = element("strong", None, f"▸ {name}") if is_open else name
        lines = joined((element("code", None, line) for line in told.split("\n")), Markup("<br>"))
        entries.append(element("dt", None, term) + element("dd", None, lines))
    return element("dl", {"class": "arithmetic", "id": "arithmetic"}, *entries)


def _arrivals(choice: Choice) -> Markup:
    """Show by unit the parts that sum to the sensitivity of each part of the state."""
    tables: list[Markup] = []
    apart: list[Tensor] = []
    units = [str(unit) for unit in range(choice.hidden)]
    for part in choice.module.state_parts:
        quantity = choice.of(part)
        terms = {name: value[choice.step] for name, value in quantity.terms.items()}
        total = quantity.sensitivity[choice.step]
        summed = sum(terms.values(), start=total * 0)
        apart.append((summed - total).abs().max())
        columns = [cells(value) for value in (*terms.values(), total)]
        scale = diverging(number for column in columns for number in column)
        labels = [*terms, f"g[{'h' if part == 'state' else 'c'}]"]
        letter = "h" if part == "state" else "c"
        caption = f"{part}: {' + '.join(terms)} = g[{letter}]"
        norms = ", ".join(f"{name} {format_number(norm_of(value))}" for name, value in terms.items())
        note = f"norms: {norms}, together {format_number(norm_of(total))}"
        tables.append(heat_table(caption, "unit", units, labels, _turned(columns), [scale], None, [note], choice.unit))
    words = (
        "direct: from the head, or the layer above, at this very step. later: from the step that is read next, "
        f"{_next_words(choice)}. The parts and their sum differ by at most "
        f"{format_number(torch.stack(apart).max().item())}."
    )
    own = " own state: a cell also reaches the loss through the state of its own step." if len(tables) > 1 else ""
    return boxes(*tables) + paragraph(words + own)


def _next_words(choice: Choice) -> str:
    following = choice.following
    return "and there is none" if following is None else choice.title(following)
