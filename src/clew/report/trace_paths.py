"""How a sensitivity travels along time in a recurrent layer: a table with a line a step.

Norms of the direct term, of the term from later steps and of their sum; of the sensitivity of each gate; and of the
path from the last step back to each step: the product of the transition Jacobians, and its bound, the product of their
norms. Start with `step_tables`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from markupsafe import Markup
from torch import Tensor

from clew.ledger import Ledger
from clew.ledger.grids import cut_words, window
from clew.ledger.spectral import spectral_norms
from clew.ledger.tables import MOST_ROWS
from clew.rendering.numbers import Value, format_number
from clew.rendering.page import subsection
from clew.rendering.tables import Cell, Column, Group, Table, table_html

GATES = ("input_gate", "forget_gate", "output_gate", "reset_gate", "update_gate", "candidate", "cell_candidate")
_SHORT = {
    "input_gate": "input",
    "forget_gate": "forget",
    "output_gate": "output",
    "reset_gate": "reset",
    "update_gate": "update",
    "cell_candidate": "candidate",
}
MOST_PAGE_ROWS = 64
_LABEL, _NUMBER = 14, 9
NOTES = (
    "state = direct + later: what reaches it from the head at its own step, and from later steps",
    "path: norm of d(last state)/d(this state), the product of the Jacobians between",
    "bound: the product of their norms, which the path cannot exceed",
)
JOINT_NOTE = "in path and bound, a state is state and cell together"


@dataclass(frozen=True)
class StepTable:
    """Norms of one layer, a line a step.

    Attributes:
        layer: Its name.
        steps: A label for each line.
        columns: What is measured.
        rows: A norm each; None where there is none.
        notes: What the columns are.
    """

    layer: str
    steps: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = NOTES


def step_tables(ledger: Ledger, row: int, tokens: Sequence[str]) -> list[StepTable]:
    """Measure every recurrent layer of a ledger in one row of the batch."""
    layers = [name.removesuffix(".state") for name in ledger if name.endswith(".state")]
    return [_step_table(ledger, layer, row, tokens) for layer in layers]


def _step_table(ledger: Ledger, layer: str, row: int, tokens: Sequence[str]) -> StepTable:
    state = ledger.quantity(f"{layer}.state").at(batch=row)
    columns: dict[str, list[Value]] = {
        name: _norms(part, len(tokens)) for name, part in state.terms.items() if name in ("direct", "later")
    }
    columns["state"] = _norms(state.sensitivity, len(tokens))
    for gate in GATES:
        if f"{layer}.{gate}" in ledger:
            quantity = ledger.quantity(f"{layer}.{gate}").at(batch=row)
            columns[_SHORT.get(gate, gate)] = _norms(quantity.sensitivity, len(tokens))
    if ".backward_layer" not in layer:
        columns |= _path_columns(ledger, layer, row, len(tokens))
    steps = [f"{place} {word}" for place, word in enumerate(tokens)]
    notes = (*NOTES, JOINT_NOTE) if f"{layer}.cell" in ledger else NOTES
    return StepTable(layer, steps, list(columns), list(zip(*columns.values(), strict=True)), notes)


def _path_columns(ledger: Ledger, layer: str, row: int, steps: int) -> dict[str, list[Value]]:
    """Measure the paths from the last step back to each step, each one Jacobian longer than the one before."""
    norms: list[Value] = [None]
    bounds: list[Value] = [None]
    if steps > 1:
        path = ledger.path(layer, row, 0, steps - 1)
        product, bound = torch.eye(path["product"].shape[-1], dtype=path["product"].dtype), 1.0
        for jacobian, norm in zip(path["jacobians"].flip(0), path["norms"].flip(0), strict=True):
            product, bound = product @ jacobian, bound * float(norm)
            norms.append(float(spectral_norms(product)))
            bounds.append(bound)
    return {"path": norms[::-1], "bound": bounds[::-1]}


def _norms(values: Tensor, steps: int) -> list[Value]:
    return list(values[:steps].double().norm(dim=-1).tolist())


def steps_text(table: StepTable) -> list[str]:
    """Write a table in at most 100 columns; long texts are cut, and the cut is said."""
    width = min(max(map(len, [*table.steps, "step"])), _LABEL) + 1
    lines = [f"{table.layer}: sensitivities along time, norms"]
    lines.append("step".ljust(width) + "".join(name.rjust(_width(name)) for name in table.columns))
    shown = window(len(table.steps), MOST_ROWS)
    for place in shown:
        if place is None:
            lines.append("...")
            continue
        label = table.steps[place]
        label = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
        numbers = [
            _words(value).rjust(_width(name)) for name, value in zip(table.columns, table.rows[place], strict=True)
        ]
        lines.append(label.ljust(width) + "".join(numbers))
    cut = cut_words("time", shown, len(table.steps))
    return [*lines, *([f"  ... {cut}"] if cut else []), *(f"  {note}" for note in table.notes)]


def steps_html(table: StepTable) -> Markup:
    """Render a table for a page; of a long text the first and the last steps."""
    columns = [Column("step", "left"), *(Column(name) for name in table.columns)]
    shown = window(len(table.steps), MOST_PAGE_ROWS)
    rows = [["…", *("" for _ in table.columns)] if place is None else _html_row(table, place) for place in shown]
    cut = cut_words("time", shown, len(table.steps))
    notes = [*table.notes, *([cut] if cut else [])]
    return subsection(table.layer) + table_html(Table("Norms, a line a step", columns, [Group(rows)], notes))


def _html_row(table: StepTable, place: int) -> list[str | Cell]:
    values = (Cell((_words(value),), "muted" if value is None else "plain") for value in table.rows[place])
    return [table.steps[place], *values]


def _width(name: str) -> int:
    return max(_NUMBER, len(name) + 1)


def _words(value: Value) -> str:
    return "-" if value is None else format_number(value)
