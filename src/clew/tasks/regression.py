"""Regression: one or several numbers for a whole sequence.

    inputs      0.3 0.7 0.1  -          three real steps and a padded one
    valid        1   1   1   0
    target      12.5                    one row a sequence: nothing is shifted

A target with NaN is not scored. The model predicts (target - center) / scale; figures are in the target's own units.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, ShapeError, complain
from clew.tasks.regression_references import regression_references, value_metrics
from clew.tasks.sequences import Sequences, chunks, device_of, model_logits, put_together
from clew.tasks.task import Aligned, Task, evaluation_mode


class Regression(Task):
    """Predict `outputs` numbers for each sequence.

    A perfect predictor has squared error 0 and r2 1; the mean of the scored targets has r2 0.

    Args:
        outputs: Numbers of one target.
        center: What is subtracted from each number of a target for training; by default 0.
        scale: By what it is then divided; by default 1. `Regression.scaled_to` takes both from the training targets.

    Raises:
        ConfigError: If an argument is out of range.
    """

    name: ClassVar[str] = "regression"
    kind_of_head: ClassVar[Literal["sequence", "rows"]] = "sequence"
    boundary: Literal["causal", "full"] = "full"
    selection: str = "squared_error"
    metrics: tuple[str, ...] = ("squared_error", "mae", "rmse", "r2")

    def __init__(
        self, outputs: int = 1, center: Sequence[float] | None = None, scale: Sequence[float] | None = None
    ) -> None:
        if isinstance(outputs, bool) or not isinstance(outputs, int) or outputs < 1:
            raise ConfigError(complain("Regression", "outputs", "a whole number of at least 1", outputs))
        self.center = (0.0,) * outputs if center is None else tuple(float(value) for value in center)
        self.scale = (1.0,) * outputs if scale is None else tuple(float(value) for value in scale)
        if len(self.center) != outputs or not all(map(isfinite, self.center)):
            raise ConfigError(complain("Regression", "center", f"outputs={outputs} finite numbers", list(self.center)))
        if len(self.scale) != outputs or not all(isfinite(value) and value > 0 for value in self.scale):
            rule = f"outputs={outputs} finite numbers above 0"
            raise ConfigError(complain("Regression", "scale", rule, list(self.scale)))
        self._outputs = outputs

    @classmethod
    def scaled_to(cls, train: Sequences, outputs: int = 1) -> "Regression":
        """Make a task whose center and scale are the mean and the standard deviation of the training targets.

        A number that never changes keeps the scale 1.

        Raises:
            DataError: If no target is scored.
        """
        targets = cls(outputs)._scored_targets(train)
        spread = targets.std(dim=0, correction=0)
        scale = torch.where(spread > 0, spread, 1.0)
        return cls(outputs, targets.mean(dim=0).tolist(), scale.tolist())

    @property
    def outputs(self) -> int:
        """Numbers of one prediction."""
        return self._outputs

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        return {"outputs": self.outputs, "center": list(self.center), "scale": list(self.scale)}

    def align(self, batch: Batch) -> Aligned:
        """Put each target, in its own units, beside its sequence as a row of `outputs` numbers.

        Raises:
            DataError: If there are no targets, or one is infinite.
            ShapeError: If their shape is not (batch, outputs), or (batch,) for one output.
        """
        targets = batch.targets
        if targets is None:
            raise DataError(complain("Regression", "targets", "given, a row a sequence", "none"))
        rows = targets.unsqueeze(1) if targets.ndim == 1 else targets
        if rows.shape != (len(batch), self.outputs):
            rule = f"of shape (batch, outputs={self.outputs})"
            raise ShapeError(complain("Regression", "targets", rule, tuple(targets.shape)))
        if bool(rows.isinf().any()):
            row = int(rows.isinf().any(dim=1).nonzero()[0])
            raise DataError(complain("Regression", "targets", "finite, or NaN where unknown", f"infinity at row {row}"))
        return Aligned(batch.inputs, batch.valid, rows, ~rows.isnan().any(dim=1))

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Mean over scored sequences of the squared error, in units of `scale`, summed over the numbers of a target.

        Raises:
            DataError: If no target is scored.
            ShapeError: If the model does not give `outputs` values a sequence.
        """
        aligned = self.align(batch)
        assert aligned.scored is not None
        if not bool(aligned.scored.any()):
            got = f"none in {len(batch)} sequences"
            raise DataError(complain("Regression", "scored targets of a batch", "at least 1", got))
        values = self._values(model, batch)[aligned.scored]
        targets = aligned.targets[aligned.scored].to(torch.promote_types(values.dtype, aligned.targets.dtype))
        # Subtracted before rounding to the model's precision: a small change of a large number must survive.
        scaled = ((targets - self._row(self.center, targets)) / self._row(self.scale, targets)).to(values.dtype)
        return (values - scaled).square().sum(dim=1).mean()

    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Give figures in the target's own units.

        Returns:
            `squared_error` (summed over the numbers of a target, mean over targets), `mae` and `rmse` (over all
            numbers), `r2` (the share of the targets' variance that is explained; NaN where they do not vary).
        """
        targets = self._scored_targets(batch)
        return value_metrics(self._predicted(model, batch, chunk)[self._is_scored(batch)], targets)

    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give `values` in the target's own units, (batch, outputs)."""
        return {"values": self._predicted(model, batch, chunk).numpy()}

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score the mean of the training targets, and a linear map of the last real step."""
        return regression_references(self, train, test)

    def _predicted(self, model: nn.Module, data: Sequences, chunk: int) -> Float[Tensor, "batch outputs"]:
        parts = []
        with evaluation_mode(model), torch.no_grad():
            for index, batch in chunks(data, chunk, device_of(model)):
                values = self._values(model, batch).double().cpu()
                parts.append((index, values * self._row(self.scale, values) + self._row(self.center, values)))
        return put_together(parts, torch.nan) if parts else torch.zeros(0, self.outputs, dtype=torch.float64)

    def _values(self, model: nn.Module, batch: Batch) -> Float[Tensor, "batch outputs"]:
        return model_logits("Regression", model, batch.inputs, batch.valid, (len(batch), self.outputs))

    def _is_scored(self, data: Sequences) -> Tensor:
        parts = []
        for index, batch in chunks(data, 512):
            scored = self.align(batch).scored
            assert scored is not None
            parts.append((index, scored.cpu()))
        return put_together(parts, False) if parts else torch.zeros(0, dtype=torch.bool)

    def _scored_targets(self, data: Sequences) -> Float[Tensor, "targets outputs"]:
        parts = [(index, self.align(batch).targets.double().cpu()) for index, batch in chunks(data, 512)]
        targets = put_together(parts, torch.nan)[self._is_scored(data)] if parts else torch.zeros(0, self.outputs)
        if len(targets) == 0:
            raise DataError(complain("Regression", "scored targets", "at least 1", f"none in {len(data)} sequences"))
        return targets

    def _row(self, values: tuple[float, ...], like: Tensor) -> Float[Tensor, " outputs"]:
        return torch.tensor(values, dtype=like.dtype, device=like.device)
