"""Two arrays of the same place in two passes: where they differ by more than rounding, and by how much.

Start with `Comparison.of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.explorer.change.movement import ROUNDINGS


@dataclass(frozen=True, eq=False)
class Comparison:
    """How one array changed.

    Attributes:
        difference: Now less before.
        moved: True where it is more than rounding; NaN agrees with NaN, and an infinity with itself.
        axes: A name for each axis; none where they do not matter.
    """

    difference: Float[Tensor, "*shape"]
    moved: Bool[Tensor, "*shape"]
    axes: Sequence[str]

    @classmethod
    def of(cls, now: Float[Tensor, "*shape"], before: Float[Tensor, "*shape"], axes: Sequence[str]) -> "Comparison":
        """Compare two arrays of one shape."""
        difference = now - before
        apart = difference.abs()
        if not bool(apart.sum().isfinite()):
            is_same = (now == before) | (now.isnan() & before.isnan())
            apart = torch.where(is_same, 0.0, apart.nan_to_num(nan=torch.inf))
        limit = ROUNDINGS * torch.finfo(now.dtype).eps * max(_size(now), _size(before))
        return cls(difference, apart > limit, axes)

    def without(self, skipped: Bool[Tensor, "*cells"]) -> "Comparison":
        """Leave some cells out."""
        return Comparison(self.difference.masked_fill(skipped, 0.0), self.moved & ~skipped, self.axes)

    @cached_property
    def largest(self) -> float:
        """The change that is largest, with its sign."""
        flat = self.difference.flatten()
        return flat[flat.abs().argmax()].item() if flat.numel() else 0.0

    @cached_property
    def steps(self) -> list[int] | None:
        """The queries or steps at which something moved; None where there are no steps."""
        axis = self._axis
        return None if axis is None else self.moved.movedim(axis, 0).flatten(1).any(1).nonzero().flatten().tolist()

    @cached_property
    def norms(self) -> list[float | None]:
        """The norm of the change at each step, None where it is the same."""
        axis, steps = self._axis, self.steps
        assert axis is not None and steps is not None
        sizes = self.difference.movedim(axis, 0).flatten(1).norm(dim=1).tolist()
        is_moved = set(steps)
        return [size if step in is_moved else None for step, size in enumerate(sizes)]

    @property
    def _axis(self) -> int | None:
        return next((self.axes.index(name) for name in ("query", "time") if name in self.axes), None)


def _size(values: Tensor) -> float:
    """Give the largest magnitude of an array that is finite."""
    if not values.numel():
        return 0.0
    low, high = (bound.item() for bound in torch.aminmax(values))
    size = max(abs(low), abs(high))
    if size < torch.inf:
        return size
    finite = values[values.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0
