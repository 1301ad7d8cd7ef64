"""A quantity as matrices to look at: one a head, its rows and columns labelled, what cannot be a number said as such.

A `Grid` knows nothing of where it is shown; `clew.ledger.tables` prints it, `clew.ledger.page` puts it on a page.
Start with `grids_of`.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Bool, Shaped
from torch import Tensor

from clew.ledger.quantity import Quantity
from clew.rendering.numbers import HIDDEN, Value

TOKEN_AXES = ("time", "query", "source")
Rows = list[list[Value]]


@dataclass(frozen=True)
class Side:
    """One side of a grid: the axis it runs along and a label for each place."""

    axis: str
    labels: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """One matrix of a quantity.

    Attributes:
        place: Where it lies in the quantity, such as "head 1"; empty if it is the whole of it.
        down: What its rows are.
        across: What its columns are.
        values: A cell each, "hidden" where a rule hid it.
        sensitivities: Likewise; None if no backward pass has run.
        rules: What hid cells in it.
    """

    place: str
    down: Side
    across: Side
    values: Rows
    sensitivities: Rows | None
    rules: tuple[str, ...]

    def only(self, place: int) -> "Grid":
        """Keep a single row."""
        kept = None if self.sensitivities is None else [self.sensitivities[place]]
        return replace(
            self, down=Side(self.down.axis, [self.down.labels[place]]), values=[self.values[place]], sensitivities=kept
        )


def grids_of(quantity: Quantity, tokens: Sequence[str] | None = None, step: int | None = None) -> list[Grid]:
    """Cut a quantity into matrices of its last two axes; an axis of one dimension runs down if it is one of steps.

    Args:
        quantity: Usually a single row of the batch: `quantity.at(batch=0)`.
        tokens: A word for each step, where there are words; steps behind them are called padding.
        step: The only step, or query, that is wanted; None for all.
    """
    axes, shape = quantity.axes, quantity.shape
    ahead = max(len(shape) - 2, 0)
    sensitivity = quantity.sensitivity if quantity.has_sensitivity else None
    hidden = quantity.is_hidden()
    found: list[Grid] = []
    for place in itertools.product(*(range(size) for size in shape[:ahead])):
        down, across = sides(axes[ahead:], shape[ahead:], tokens)
        is_hidden = None if hidden is None else hidden[place]
        grid = Grid(
            ", ".join(f"{singular(axis)} {index}" for axis, index in zip(axes, place, strict=False)),
            down,
            across,
            _as_rows(cells(quantity.value[place], is_hidden), down, across),
            None if sensitivity is None else _as_rows(cells(sensitivity[place], is_hidden), down, across),
            tuple(rule for rule, where in quantity.hidden_by.items() if bool(where.expand(shape)[place].any())),
        )
        found.append(grid if step is None or down.axis not in ("time", "query") else grid.only(step))
    return found


@dataclass(frozen=True)
class Flow:
    """The parts that sum to a sensitivity, a norm each: one row a step where there are steps, else a single one.

    Attributes:
        steps: A label for each row.
        parts: Names of the parts, and "together" for the sensitivity itself.
        norms: A row of norms a step.
    """

    steps: Sequence[str]
    parts: Sequence[str]
    norms: Rows


def flow_of(quantity: Quantity, tokens: Sequence[str] | None = None) -> Flow | None:
    """Give the norms of the parts of a sensitivity; None where it has a single part, or is not computed.

    Args:
        quantity: Usually a single row of the batch.
        tokens: A word for each step.
    """
    terms = dict(quantity.terms)
    if not terms:
        return None
    has_steps = "time" in quantity.axes
    labels = _labels("time", quantity.shape[quantity.axes.index("time")], tokens) if has_steps else [""]
    columns = [_norms(part, quantity.axes) for part in (*terms.values(), quantity.sensitivity)]
    return Flow(labels, [*_without_prefix(list(terms)), "together"], [list(row) for row in zip(*columns, strict=True)])


def _without_prefix(names: Sequence[str]) -> list[str]:
    """Leave out the layers that all names begin with."""
    layers = [name.split(".")[:-1] for name in names]
    common = 0
    while common < min(map(len, layers)) and len({layer[common] for layer in layers}) == 1:
        common += 1
    return [".".join(name.split(".")[common:]) for name in names]


def _norms(values: Tensor, axes: Sequence[str]) -> list[float]:
    if "time" not in axes:
        return [values.double().norm().item()]
    by_step = values.double().movedim(axes.index("time"), 0)
    return by_step.reshape(len(by_step), -1).norm(dim=1).tolist()


def cells(values: Shaped[Tensor, "..."], hidden: Bool[Tensor, "..."] | None = None) -> Any:
    """Give the numbers of a tensor as nested lists, "hidden" where a rule hid a cell."""
    numbers = values.tolist()
    return numbers if hidden is None or not bool(hidden.any()) else _marked(numbers, hidden.tolist())


def window(count: int, most: int) -> list[int | None]:
    """List the places of an axis that are shown: all, or the first and the last with None between.

    >>> window(3, 4), window(9, 4)
    ([0, 1, 2], [0, 1, None, 7, 8])
    """
    if count <= most:
        return list(range(count))
    first = math.ceil(most / 2)
    return [*range(first), None, *range(count - (most - first), count)]


def cut_words(axis: str, shown: Sequence[int | None], count: int) -> str:
    """Say what a window leaves out; empty if nothing.

    >>> cut_words("hidden", window(9, 4), 9)
    'hidden 2 to 6 of 9 are cut'
    >>> cut_words("time", [4, 5, 6], 9)
    'time 4 to 6 of 9 are shown'
    """
    if None not in shown:
        return "" if len(shown) == count else f"{axis} {shown[0]} to {shown[-1]} of {count} are shown"
    gap = shown.index(None)
    after = shown[gap + 1] if gap + 1 < len(shown) else count
    assert after is not None
    return f"{axis} {gap} to {after - 1} of {count} are cut"


def sides(axes: Sequence[str], shape: Sequence[int], tokens: Sequence[str] | None) -> tuple[Side, Side]:
    """Give what runs down and what runs across of at most two axes; a side that does not exist has an empty name."""
    found = [Side(axis, _labels(axis, size, tokens)) for axis, size in zip(axes, shape, strict=True)]
    alone = Side("", [""])
    if not found:
        return alone, alone
    if len(found) == 1:
        return (found[0], alone) if found[0].axis in TOKEN_AXES else (alone, found[0])
    return found[0], found[1]


def _labels(axis: str, size: int, tokens: Sequence[str] | None) -> list[str]:
    if axis in TOKEN_AXES and tokens is not None:
        words = [*tokens[:size], *["padding"] * (size - len(tokens))]
        return [f"{step} {word}" for step, word in enumerate(words)]
    return [""] if axis == "one" else [str(place) for place in range(size)]


def _as_rows(numbers: Any, down: Side, across: Side) -> Rows:
    if not isinstance(numbers, list):
        return [[numbers]]
    if numbers and isinstance(numbers[0], list):
        return numbers
    is_single_row = down.axis == ""
    return [numbers] if is_single_row and across.axis != "" else [[number] for number in numbers]


def _marked(numbers: Any, hidden: Any) -> Any:
    if isinstance(hidden, list):
        return [_marked(*pair) for pair in zip(numbers, hidden, strict=True)]
    return HIDDEN if hidden else numbers


def singular(axis: str) -> str:
    """Name one place of an axis: a head of the heads."""
    return {"heads": "head", "batch": "row"}.get(axis, axis)
