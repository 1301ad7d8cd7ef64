"""Two ledgers side by side: the first quantity that differs, in the order of computation.

Values are compared from the first layer to the last. Only where all agree, sensitivities are, from the loss back to the
inputs, which is the order in which a backward pass computes them. So what is named is where two runs part, not what
follows from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clew.ledger.quantity import Quantity
from clew.rendering.numbers import NOT_COMPUTED, Value, format_number


@dataclass(frozen=True)
class Difference:
    """Where two ledgers part.

    Attributes:
        name: The first quantity that differs.
        what: "name", "shape", "value" or "sensitivity".
        largest: Largest absolute difference; None where nothing can be subtracted.
        place: Where it is, an index for each axis.
        first: What the first ledger has there.
        second: What the second one has there.
    """

    name: str
    what: str
    largest: float | None
    place: Mapping[str, int]
    first: Value | tuple[int, ...]
    second: Value | tuple[int, ...]

    def __str__(self) -> str:
        if self.what == "name":
            return f"{self.name} is in only one of the two, the {'second' if self.first is None else 'first'}"
        if self.what == "shape":
            return f"{self.name} has shape {self.first} in the first and {self.second} in the second"
        where = ", ".join(f"{axis} {index}" for axis, index in self.place.items())
        by = "" if self.largest is None else f" by up to {format_number(self.largest)}"
        shown = " and ".join(one if isinstance(one, str) else repr(one) for one in (self.first, self.second))
        return f"the {self.what} of {self.name} differs{by}{f' at {where}' if where else ''}: {shown}"


def first_difference(
    first: Sequence[Quantity], second: Sequence[Quantity], tolerance: float = 0.0
) -> Difference | None:
    """Find where two ledgers part; None if they agree.

    Args:
        first: Quantities in the order of computation.
        second: Likewise.
        tolerance: Absolute difference that is let pass; NaN agrees with NaN, and an infinity with itself.
    """
    others = {quantity.name: quantity for quantity in second}
    for one in first:
        found = _missing(one, others) or _differing_value(one, others[one.name], tolerance)
        if found is not None:
            return found
    known = {quantity.name for quantity in first}
    for other in second:
        if other.name not in known:
            return Difference(other.name, "name", None, {}, None, other.shape)
    for one in reversed(first):
        found = _differing_sensitivity(one, others[one.name], tolerance)
        if found is not None:
            return found
    return None


def _missing(one: Quantity, others: Mapping[str, Quantity]) -> Difference | None:
    return None if one.name in others else Difference(one.name, "name", None, {}, one.shape, None)


def _differing_value(one: Quantity, other: Quantity, tolerance: float) -> Difference | None:
    if one.shape != other.shape:
        return Difference(one.name, "shape", None, {}, one.shape, other.shape)
    return _differing(one, "value", one.value, other.value, tolerance)


def _differing_sensitivity(one: Quantity, other: Quantity, tolerance: float) -> Difference | None:
    if one.has_sensitivity and other.has_sensitivity:
        return _differing(one, "sensitivity", one.sensitivity, other.sensitivity, tolerance)
    if one.has_sensitivity == other.has_sensitivity:
        return None
    told = ["computed" if quantity.has_sensitivity else NOT_COMPUTED for quantity in (one, other)]
    return Difference(one.name, "sensitivity", None, {}, *told)


def _differing(quantity: Quantity, what: str, first: Tensor, second: Tensor, tolerance: float) -> Difference | None:
    first, second = first.detach().double().cpu(), second.detach().double().cpu()
    is_same = (first == second) | (first.isnan() & second.isnan())
    apart = torch.where(is_same, 0.0, (first - second).abs().nan_to_num(nan=torch.inf))
    if apart.numel() == 0 or apart.max().item() <= tolerance:
        return None
    index = tuple(int(place) for place in torch.unravel_index(apart.argmax(), apart.shape)) if apart.ndim else ()
    place = dict(zip(quantity.axes, index, strict=True))
    return Difference(quantity.name, what, apart.max().item(), place, first[index].item(), second[index].item())
