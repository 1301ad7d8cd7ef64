"""An explanation is compared with what really ran; the distance is kept, and one beyond rounding is an error.

A distance is the largest difference of two arrays, in units of the largest number that was summed to make them.
Rounding grows with the square root of the number of terms, so the bound is a few thousand times the spacing of the
numbers (`epsilon` of their type): far below what a changed equation or a wrong mask does.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from clew.errors import LedgerError

EPSILONS = 4096.0


@dataclass(frozen=True)
class Distance:
    """How far an explained array lies from the real one.

    Attributes:
        name: The quantity.
        what: Which array: "value", "sensitivity", "gradient" or "sum of terms".
        relative: Largest difference, in units of the largest number involved.
        bound: What rounding may reach for this type of numbers.
    """

    name: str
    what: str
    relative: float
    bound: float

    @property
    def is_rounding(self) -> bool:
        """Whether the difference is no larger than rounding."""
        return self.relative <= self.bound


def measure(
    name: str,
    what: str,
    real: Tensor,
    explained: Tensor,
    scale: float = 0.0,
    is_broken: bool = False,
) -> Distance:
    """Compare two arrays; NaN and infinity must stand at the same places.

    Args:
        name: Of the quantity.
        what: Which of its arrays.
        real: What ran.
        explained: What the equations give.
        scale: Size of the numbers that were summed, where they may have cancelled.
        is_broken: Whether NaN or infinity went in. Kernels differ in what they make of it, so that only finite numbers
            are compared.
    """
    bound = EPSILONS * torch.finfo(real.dtype).eps if real.is_floating_point() else 0.0
    if real.shape != explained.shape:
        return Distance(name, what, float("inf"), bound)
    if real.numel() == 0 or torch.equal(real, explained):
        return Distance(name, what, 0.0, bound)
    is_same = (real == explained) | (real.isnan() & explained.isnan())
    if is_broken:
        is_same = is_same | ~real.isfinite() | ~explained.isfinite()
    difference = torch.where(is_same, 0.0, (real - explained).abs().nan_to_num(nan=torch.inf)).max().item()
    largest = max(scale, size_of(real), torch.finfo(real.dtype).tiny if real.is_floating_point() else 1.0)
    return Distance(name, what, difference / largest, bound)


def size_of(*tensors: Tensor) -> float:
    """Largest finite number of some arrays; 0 if they have none."""
    return max((_largest(tensor.detach()) for tensor in tensors if tensor.is_floating_point()), default=0.0)


def _largest(numbers: Tensor) -> float:
    """Largest finite magnitude; numbers are picked out only where some are not finite, since that is slow."""
    if numbers.numel():
        low, high = (end.item() for end in torch.aminmax(numbers))
        if math.isfinite(low) and math.isfinite(high):
            return max(-low, high)
    finite = numbers[numbers.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def is_finite(*tensors: Tensor) -> bool:
    """Whether arrays hold neither NaN nor infinity."""
    return all(bool(tensor.isfinite().all()) for tensor in tensors if tensor.is_floating_point())


def require_agreement(distances: list[Distance]) -> None:
    """Raise for the first quantity, in the order of computation, that is further away than rounding.

    Raises:
        LedgerError: With its name, which array, and the distance.
    """
    for distance in distances:
        if not distance.is_rounding:
            raise LedgerError(
                f"ledger: the explained {distance.what} of {distance.name} must be what really ran, to rounding "
                f"({distance.bound:.1e} of the largest number), got a distance of {distance.relative:.1e}. "
                "The equation or the mask that explains it is not the one that ran."
            )
