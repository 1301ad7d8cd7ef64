"""The ledger as text of at most 100 columns: one table of all quantities, and the matrices of a single one.

"not computed", "hidden", 0, NaN and infinity read differently. Start with `quantities_text` and `quantity_text`.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from clew.ledger.grids import Flow, Grid, Rows, Side, cut_words, flow_of, grids_of, window
from clew.ledger.quantity import Quantity
from clew.rendering.numbers import HIDDEN, NOT_COMPUTED, Value, format_number

WIDTH = 100
MOST_ROWS = 16
_NAME, _SHAPE, _NUMBER, _NORM = 20, 38, 9, 13
_CELL, _MARK, _LONGEST_LABEL = 9, 4, 14
_PART = 12
CUT = "..."


@dataclass(frozen=True)
class Summary:
    """A quantity in four numbers; a hidden cell counts in none of the first three."""

    least: Value
    mean: Value
    largest: Value
    norm: Value


def summary(quantity: Quantity) -> Summary:
    """Give smallest, mean and largest value, and the norm of the sensitivity; None where there is no such number."""
    hidden = quantity.is_hidden()
    values = quantity.value if hidden is None else quantity.value[~hidden]
    norm = quantity.sensitivity.double().norm().item() if quantity.has_sensitivity else None
    if values.numel() == 0:
        return Summary(HIDDEN, HIDDEN, HIDDEN, norm)
    if values.dtype == torch.bool or not values.is_floating_point():
        return Summary(int(values.min()), None, int(values.max()), None)
    return Summary(values.min().item(), values.mean(dtype=torch.float64).item(), values.max().item(), norm)


def shape_words(quantity: Quantity) -> str:
    """Give each axis its size: "batch 1, time 7, hidden 8"; "a single number" without axes."""
    pairs = zip(quantity.axes, quantity.shape, strict=True)
    return ", ".join(f"{axis} {size}" for axis, size in pairs if axis != "one") or "a single number"


def quantities_text(quantities: Sequence[Quantity]) -> str:
    """Write the table of quantities in the order of computation, layer by layer, each with its equation."""
    lines = [_row("quantity", "shape", ["least", "mean", "largest", "sensitivity"])]
    layer = None
    for quantity in quantities:
        above, _, own = quantity.name.rpartition(".")
        if above != layer:
            lines += ["", above]
            layer = above
        found = summary(quantity)
        is_ids = not quantity.value.is_floating_point()
        numbers = [format_number(found.least), "" if is_ids else format_number(found.mean)]
        numbers += [format_number(found.largest), "" if is_ids else format_number(found.norm)]
        shape = shape_words(quantity)
        lines.append(_row(f"  {own}", shape if len(shape) < _SHAPE else "", numbers))
        lines += [f"      {shape}"] if len(shape) >= _SHAPE else []
        lines += textwrap.wrap(quantity.equation, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8)
    notes = "Sensitivity: norm of the loss's derivative. Hidden cells are left out of least, mean and largest."
    return "\n".join([*lines, "", notes])


def _row(name: str, shape: str, numbers: Sequence[str]) -> str:
    widths = [_NUMBER, _NUMBER, _NUMBER, _NORM]
    cells = "".join(number.rjust(width) for number, width in zip(numbers, widths, strict=True))
    return f"{name.ljust(_NAME)}{shape.ljust(_SHAPE)}{cells}".rstrip()


def quantity_text(
    quantity: Quantity, tokens: Sequence[str] | None = None, step: int | None = None, has_parts: bool = True
) -> str:
    """Write the matrices of a quantity, the sensitivity below each; long axes are cut, and the cut is said.

    Args:
        quantity: Usually a single row of the batch.
        tokens: A word for each step.
        step: The only step, or query, that is wanted; None for all.
        has_parts: Whether the parts that sum to the sensitivity follow, where there are several and all steps show.
    """
    heading = f"{quantity.name}    {quantity.equation}"
    lines = textwrap.wrap(heading, WIDTH, subsequent_indent="    ")
    lines += [f"    ({quantity.variant})"] if quantity.variant else []
    for grid in grids_of(quantity, tokens, step):
        lines += ["", *_grid_lines("value", grid, grid.values)]
        if grid.sensitivities is not None and quantity.value.is_floating_point():
            lines += ["", *_grid_lines("sensitivity", grid, grid.sensitivities)]
        if grid.rules:
            lines.append(f"  {HIDDEN}: by {' or '.join(grid.rules)}")
    flow = flow_of(quantity, tokens) if has_parts and step is None else None
    return "\n".join([*lines, "", *flow_lines(flow)] if flow is not None else lines)


def flow_lines(flow: Flow) -> list[str]:
    """Write the norms of the parts that sum to a sensitivity, a line a step; long names of parts get a line each."""
    labels = [_fit(label, _LONGEST_LABEL) for label in flow.steps]
    width = max(map(len, [*labels, "step"])) + 2
    names = list(flow.parts)
    lines = ["  norms of the parts of the sensitivity"]
    if max(map(len, names)) > _PART - 2:
        lines += [f"  {letter}: {name}" for letter, name in zip("abcdefgh", names[:-1], strict=False)]
        names = [*"abcdefgh"[: len(names) - 1], names[-1]]
    lines.append(("step" if len(labels) > 1 else "").ljust(width) + "".join(name.rjust(_PART) for name in names))
    shown = window(len(labels), MOST_ROWS)
    for place in shown:
        numbers = [] if place is None else [format_number(norm).rjust(_PART) for norm in flow.norms[place]]
        lines.append(CUT if place is None else labels[place].ljust(width) + "".join(numbers))
    cut = cut_words("time", shown, len(labels))
    return [*lines, f"  {CUT} {cut}"] if cut else lines


def _grid_lines(what: str, grid: Grid, rows: Rows) -> list[str]:
    label_width = min(max(len(_corner(grid)), *(len(label) for label in grid.down.labels)), _LONGEST_LABEL) + 2
    across = _columns_shown(grid.across, WIDTH - label_width)
    down = window(len(grid.down.labels), MOST_ROWS)
    heads = [_MARK_CELL if place is None else _column_head(grid.across, place) for place in across]
    title = ", ".join(part for part in (what, grid.place) if part)
    lines = [f"  {title}"]
    if any(head.strip() for head in heads):
        lines.append(_corner(grid).ljust(label_width) + "".join(heads))
    for place in down:
        if place is None:
            lines.append(CUT)
            continue
        shown = [_MARK_CELL if column is None else _number(rows[place][column]) for column in across]
        lines.append((_fit(grid.down.labels[place], _LONGEST_LABEL).ljust(label_width) + "".join(shown)).rstrip())
    cuts = [
        cut_words(grid.down.axis, down, len(grid.down.labels)),
        cut_words(grid.across.axis, across, len(grid.across.labels)),
    ]
    said = "; ".join(cut for cut in cuts if cut)
    return [*lines, f"  {CUT} {said}"] if said else lines


_MARK_CELL = CUT.rjust(_MARK)


def _columns_shown(side: Side, room: int) -> list[int | None]:
    count = len(side.labels)
    return window(count, count if count * _CELL <= room else (room - _MARK) // _CELL)


def _corner(grid: Grid) -> str:
    return " \\ ".join(side.axis for side in (grid.down, grid.across) if side.axis not in ("", "one"))


def _column_head(side: Side, place: int) -> str:
    return _fit(side.labels[place], _CELL - 1).rjust(_CELL)


def _number(value: Value) -> str:
    words = format_number(value)
    return ("-" if words == NOT_COMPUTED else words).rjust(_CELL)


def _fit(words: str, width: int) -> str:
    return words if len(words) <= width else words[: width - 1] + "…"
