"""How far two passes lie apart, quantity by quantity, in the order of computation.

Exactly equal, equal to rounding and moved are three things: after an edit, what the model computed before it must be
the first, bit for bit. Cells that a rule hides in both passes are left out, since nothing reads them. Start with
`movements`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor, nn

from clew.ledger import Ledger
from clew.ledger.quantity import Quantity

Status = Literal["moved", "rounding", "equal", "shape", "first", "second", "none"]
ROUNDINGS = 64.0
"""Spacings of the numbers by which two arrays may differ, at their largest number, and still be equal to rounding."""


@dataclass(frozen=True)
class Movement:
    """How far two arrays lie apart.

    Attributes:
        status: "moved", "rounding" (equal to rounding), "equal" (bit for bit), "shape" (cannot be subtracted), "first"
            or "second" (only there), "none" (in neither).
        largest: Largest absolute difference, NaN where only one of two numbers is none; 0 if there is none.
        relative: Norm of the difference over the norm of the first array; infinite where that is 0.
        cells: How many cells moved.
        count: How many there are.
        place: Where the largest difference is, an index for each axis.
        limit: What a difference must exceed to be more than rounding.
    """

    status: Status
    largest: float = 0.0
    relative: float = 0.0
    cells: int = 0
    count: int = 0
    place: Mapping[str, int] | None = None
    limit: float = 0.0

    @property
    def is_apart(self) -> bool:
        """Whether there is more than rounding between the two."""
        return self.status in ("moved", "shape", "first", "second")


@dataclass(frozen=True)
class Pair:
    """One quantity, or one weight, in two passes.

    Attributes:
        name: Its name.
        first, second: The quantity; None where a pass has none of that name, or it is a weight.
        forward: How its values differ.
        backward: How its sensitivities differ, or its gradients.
    """

    name: str
    first: Quantity | None
    second: Quantity | None
    forward: Movement
    backward: Movement


NONE = Movement("none")


def movements(first: Ledger, second: Ledger) -> list[Pair]:
    """Compare all quantities of two passes, in the order of computation; what only one has stands where it has it."""
    ones, others = ({one.name: one for one in ledger.quantities()} for ledger in (first, second))
    return [_pair(name, ones.get(name), others.get(name)) for name in merged(list(ones), list(others))]


def weight_movements(first: nn.Module, second: nn.Module) -> list[Pair]:
    """Compare the weights of two models, and their gradients, which a backward pass has left."""
    ones, others = (dict(model.named_parameters()) for model in (first, second))
    found: list[Pair] = []
    for name in merged(list(ones), list(others)):
        one, other = ones.get(name), others.get(name)
        forward = movement(one, other)
        backward = movement(None if one is None else one.grad, None if other is None else other.grad)
        found.append(Pair(name, None, None, forward, backward))
    return found


def movement(
    first: Shaped[Tensor, "..."] | None,
    second: Shaped[Tensor, "..."] | None,
    axes: Sequence[str] = (),
    skipped: Bool[Tensor, "..."] | None = None,
) -> Movement:
    """Compare two arrays; NaN equals NaN, and an infinity itself.

    Args:
        first: None if there is none.
        second: Likewise.
        axes: A name for each axis; by default their numbers.
        skipped: True at cells that do not count.

    >>> movement(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5])).largest
    0.5
    """
    if first is None or second is None:
        return NONE if first is second else Movement("first" if second is None else "second")
    first, second = first.detach(), second.detach()
    if first.shape != second.shape:
        return Movement("shape", count=first.numel())
    count = first.numel() if skipped is None else int((~skipped).sum())
    if first.dtype == second.dtype and torch.equal(first, second):
        return Movement("equal", count=count)
    spacing = max(_spacing(first), _spacing(second))
    first, second = (part if part.is_floating_point() else part.double() for part in (first, second))
    is_same = (first == second) | (first.isnan() & second.isnan())
    is_same = is_same if skipped is None else is_same | skipped
    difference = torch.where(is_same, 0.0, second - first)
    apart = difference.abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
    if not bool(apart.any()):
        return Movement("equal", count=count)
    limit = ROUNDINGS * spacing * max(_size(first), _size(second))
    cells = int((apart > limit).sum())
    index = index_of(int(apart.argmax()), apart.shape)
    names = axes or tuple(f"axis {place}" for place in range(len(index)))
    known = first if skipped is None else torch.where(skipped, 0.0, first)
    relative = (difference.double().norm() / known.double().norm()).item()
    status = "moved" if cells else "rounding"
    place = dict(zip(names, index, strict=True))
    return Movement(status, difference[index].abs().item(), relative, cells, count, place, limit)


def merged(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Put the names of two passes in one order: the second's, with the first's own ones behind what came before them.

    >>> merged(["a", "b", "c"], ["a", "x", "c"])
    ['a', 'b', 'x', 'c']
    """
    found = list(second)
    known = set(second)
    after = 0
    for name in first:
        if name in known:
            after = max(after, found.index(name) + 1)
        else:
            found.insert(after, name)
            after += 1
    return found


def hidden_in_both(first: Quantity, second: Quantity) -> Tensor | None:
    """Say which cells no pass reads; None where there are none."""
    if first.shape != second.shape:
        return None
    one, other = first.is_hidden(), second.is_hidden()
    return None if one is None or other is None else one & other


def sensitivity(quantity: Quantity | None) -> Tensor | None:
    """Give the sensitivity of a quantity; None where there is none."""
    return quantity.sensitivity if quantity is not None and quantity.has_sensitivity else None


def _pair(name: str, first: Quantity | None, second: Quantity | None) -> Pair:
    if first is None or second is None:
        alone = movement(None if first is None else first.value, None if second is None else second.value)
        return Pair(name, first, second, alone, movement(sensitivity(first), sensitivity(second)))
    skipped = hidden_in_both(first, second)
    forward = movement(first.value, second.value, second.axes, skipped)
    backward = movement(sensitivity(first), sensitivity(second), second.axes, skipped)
    return Pair(name, first, second, forward, backward)


def index_of(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Give the index of a cell by its number in the flattened array."""
    found: list[int] = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        found.append(place)
    return tuple(reversed(found))


def _spacing(values: Tensor) -> float:
    return torch.finfo(values.dtype).eps if values.is_floating_point() else 0.0


def _size(values: Tensor) -> float:
    finite = values[values.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0
