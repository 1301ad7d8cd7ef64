"""What the steps of an epoch gave, kept on the device until somebody asks, so that no step waits for its figures."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Float64
from torch import Tensor

NAMES = ("losses", "weights", "norms")


class EpochSums:
    """Loss, weight and gradient norm of each step so far."""

    def __init__(self) -> None:
        self._whole: dict[str, Tensor] = {}
        self._losses: list[Tensor] = []
        self._weights: list[float] = []
        self._norms: list[Tensor] = []

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], device: torch.device) -> "EpochSums":
        """Go on from what `tensors` gave.

        Raises:
            KeyError: If one is missing.
        """
        sums = cls()
        sums._whole = {name: tensors[name] if name == "weights" else tensors[name].to(device) for name in NAMES}
        return sums

    def add(self, loss: Float[Tensor, ""], weight: float, norm: Float[Tensor, ""]) -> None:
        """Take what a step gave.

        Args:
            loss: Mean over the scored targets of the step.
            weight: What that mean divides by.
            norm: Of the gradient before clipping.
        """
        self._losses.append(loss)
        self._weights.append(weight)
        self._norms.append(norm)

    def tensors(self) -> dict[str, Tensor]:
        """Give `losses`, `weights` (float64) and `norms`, a number a step each."""
        if self._losses:
            new = {
                "losses": torch.stack(self._losses),
                "weights": torch.tensor(self._weights, dtype=torch.float64),
                "norms": torch.stack(self._norms),
            }
            old = self._whole
            self._whole = {name: torch.cat([old[name], part]) for name, part in new.items()} if old else new
            self._losses, self._weights, self._norms = [], [], []
        return self._whole

    def last_loss(self) -> float:
        """Give the loss of the last step; NaN before the first."""
        if self._losses:
            return self._losses[-1].item()
        return self._whole["losses"][-1].item() if self._whole else float("nan")

    def mean_loss(self) -> float:
        """Give the mean loss a scored target of the steps so far."""
        parts = self.tensors()
        losses: Float64[Tensor, " steps"] = parts["losses"].double().cpu()
        return ((losses * parts["weights"]).sum() / parts["weights"].sum()).item()

    def first_not_finite(self, norms_too: bool) -> int | None:
        """Give the number, from 1, of the first step whose loss or gradient norm is not finite; None if there is none.

        Args:
            norms_too: Whether norms are looked at; mixed precision in float16 skips steps where they overflow.
        """
        parts = self.tensors()
        is_fine = torch.isfinite(parts["losses"])
        if norms_too:
            is_fine = is_fine & torch.isfinite(parts["norms"])
        return None if bool(is_fine.all()) else int((~is_fine).nonzero()[0]) + 1
