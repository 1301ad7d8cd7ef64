"""Classification: one class for a whole sequence, read in both directions if the model can.

    inputs      0.3 0.7 0.1  -          three real steps and a padded one
    valid        1   1   1   0
    target      2                       one a sequence: nothing is shifted

A target of -1 is not scored; one of -2 is a class that training never saw and counts as an error.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, ShapeError, complain
from clew.ledger import recording
from clew.tasks.class_references import class_references
from clew.tasks.class_scores import (
    check_classes,
    check_weights,
    class_metrics,
    confusion_counts,
    predicted_classes,
    scored_classes,
    weight_sum,
    weighted_cross_entropy,
)
from clew.tasks.sequences import Sequences, chunks, device_of, model_logits, put_together
from clew.tasks.task import Aligned, Task, evaluation_mode
from clew.tasks.token_loss import TOKEN_LOSS


class Classification(Task):
    """Say which class a sequence or an image belongs to.

    A perfect predictor has loss 0, accuracy, macro F1 and calibration 1, 1 and 0; a uniform one loss log(classes).

    Args:
        classes: Number of classes.
        class_weights: Weight of each class in the training loss, which is then the weighted mean: its divisor is the
            sum of the weights. Reported figures are never weighted.

    Raises:
        ConfigError: If an argument is out of range.
    """

    name: ClassVar[str] = "classification"
    kind_of_head: ClassVar[Literal["sequence", "rows"]] = "sequence"
    boundary: Literal["causal", "full"] = "full"
    selection: str = "loss_nats"
    metrics: tuple[str, ...] = ("loss_nats", "accuracy", "macro_f1", "calibration_error")

    def __init__(self, classes: int, class_weights: Sequence[float] | None = None) -> None:
        if isinstance(classes, bool) or not isinstance(classes, int) or classes < 2:
            remedy = "With one class there is nothing to learn."
            raise ConfigError(complain("Classification", "classes", "a whole number of at least 2", classes, remedy))
        self.classes = classes
        self.class_weights = check_weights("Classification", class_weights, classes)

    @property
    def outputs(self) -> int:
        """Number of logits: one a class."""
        return self.classes

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        weights = None if self.class_weights is None else list(self.class_weights)
        return {"classes": self.classes, "class_weights": weights}

    def align(self, batch: Batch) -> Aligned:
        """Put each class beside its sequence.

        Raises:
            DataError: If there are no targets, or one is no class.
            ShapeError: If the targets are not one whole number a sequence.
        """
        targets = batch.targets
        if targets is None:
            raise DataError(complain("Classification", "targets", "given, a class a sequence", "none"))
        if targets.ndim != 1 or targets.is_floating_point():
            got = f"{tuple(targets.shape)} of {targets.dtype}"
            raise ShapeError(complain("Classification", "targets", "whole numbers (batch,)", got))
        check_classes("Classification", targets, self.classes)
        return Aligned(batch.inputs, batch.valid, targets, scored_classes(targets))

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Mean cross-entropy of the scored sequences, in nats.

        Raises:
            DataError: If no target is scored, or one is no class of training.
            ShapeError: If the model does not give `classes` logits a sequence.
        """
        aligned = self.align(batch)
        assert aligned.scored is not None
        logits = self._logits(model, batch)
        targets = aligned.targets[aligned.scored]
        loss = weighted_cross_entropy("Classification", logits[aligned.scored], targets, self.class_weights)
        if recording.is_on() and self.class_weights is None:
            facts = {"targets": aligned.targets.unsqueeze(1), "scored": aligned.scored.unsqueeze(1)}
            recording.report(TOKEN_LOSS, "", {"logits": logits.unsqueeze(1)}, {"loss": loss}, **facts)
        return loss

    def loss_weight(self, batch: Batch) -> float:
        """Give the number of scored sequences, or the sum of their class weights."""
        aligned = self.align(batch)
        return weight_sum(aligned.targets[aligned.scored], self.class_weights)

    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Give `loss_nats`, `accuracy`, `macro_f1` and `calibration_error` (15 bins) of the scored sequences."""
        log_probabilities, targets = self._scored(model, batch, chunk)
        return class_metrics(log_probabilities, targets)

    def confusion(
        self, model: nn.Module, batch: Sequences, chunk: int = 512
    ) -> Int[Tensor, "true_classes predicted_classes"]:
        """Count sequences by true class (row) and predicted class (column).

        The row after the classes holds sequences of a class that training never saw.
        """
        log_probabilities, targets = self._scored(model, batch, chunk)
        return confusion_counts(predicted_classes(log_probabilities), targets, self.classes)

    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give `probabilities` (batch, classes) and `classes`, the most probable one of each (batch,)."""
        log_probabilities = self._log_probabilities(model, batch, chunk)
        classes = predicted_classes(log_probabilities)
        return {"probabilities": log_probabilities.exp().numpy(), "classes": classes.numpy()}

    def correct(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> Bool[Tensor, " batch"]:
        """Say for each sequence whether its most probable class is right; False where no target is scored."""
        targets = self._targets(batch)
        return (predicted_classes(self._log_probabilities(model, batch, chunk)) == targets) & scored_classes(targets)

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score majority, nearest neighbour, a linear model on means and one on values at their places."""
        return class_references(self.classes, train, test)

    def _scored(
        self, model: nn.Module, data: Sequences, chunk: int
    ) -> tuple[Float[Tensor, "targets classes"], Int[Tensor, " targets"]]:
        targets = self._targets(data)
        scored = scored_classes(targets)
        if not bool(scored.any()):
            got = f"none in {len(data)} sequences"
            raise DataError(complain("Classification", "scored targets", "at least 1", got))
        return self._log_probabilities(model, data, chunk)[scored], targets[scored]

    def _targets(self, data: Sequences) -> Int[Tensor, " batch"]:
        parts = [(index, self.align(batch).targets.cpu()) for index, batch in chunks(data, 512)]
        return put_together(parts, 0) if parts else torch.zeros(0, dtype=torch.int64)

    def _log_probabilities(self, model: nn.Module, data: Sequences, chunk: int) -> Float[Tensor, "batch classes"]:
        parts = []
        with evaluation_mode(model), torch.no_grad():
            for index, batch in chunks(data, chunk, device_of(model)):
                parts.append((index, self._logits(model, batch).double().log_softmax(dim=-1).cpu()))
        return put_together(parts, torch.nan) if parts else torch.zeros(0, self.classes, dtype=torch.float64)

    def _logits(self, model: nn.Module, batch: Batch) -> Float[Tensor, "batch classes"]:
        expected = (len(batch), self.classes)
        return model_logits("Classification", model, batch.inputs, batch.valid, expected)
