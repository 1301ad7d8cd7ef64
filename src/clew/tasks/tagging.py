"""Tagging: a class for each step of a sequence.

    inputs      a  b  c  d  -        four real steps and a padded one
    valid       1  1  1  1  0
    targets     3  0 -1  2 -1        at the step itself: nothing is shifted; -1 is not scored
    scored      1  1  0  1  0

With `max_steps=3` the model reads a, b, c; the target of d is still scored, as an error with the loss of a uniform
guess: what a model cannot read is counted, not dropped.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, ShapeError, complain
from clew.ledger import recording
from clew.tasks.class_scores import (
    calibration_error,
    check_classes,
    check_weights,
    confusion_counts,
    macro_f1,
    mean_loss,
    predicted_classes,
    scored_classes,
    weight_sum,
    weighted_cross_entropy,
)
from clew.tasks.sequences import Sequences, chunks, device_of, model_logits, put_together, real_steps
from clew.tasks.tag_references import tag_references
from clew.tasks.task import Aligned, Task, evaluation_mode
from clew.tasks.token_loss import TOKEN_LOSS

COUNTED_AT_ONCE = 4096


class _Read(NamedTuple):
    """What a model is given: the first `max_steps` real steps of each row, in the columns that hold any of them."""

    inputs: Shaped[Tensor, "batch kept *features"]
    valid: Bool[Tensor, "batch kept"] | None
    columns: slice
    is_read: Bool[Tensor, "batch time"]


class Tagging(Task):
    """Say for each step which class it belongs to.

    A perfect predictor has loss 0 and accuracy 1; a uniform one has loss log(classes).

    Args:
        classes: Number of tags.
        causal: Whether a tag may be predicted from its own step and earlier ones only.
        class_weights: Weight of each class in the training loss, which is then the weighted mean.
        max_steps: Real steps that a model reads of each sequence; None for all. Later targets count as errors.
        word: Column of real-valued inputs that numbers the word, for the reference that gives each word its most
            frequent tag; inputs of ids number it themselves.

    Raises:
        ConfigError: If an argument is out of range.
    """

    name: ClassVar[str] = "tagging"
    kind_of_head: ClassVar[Literal["sequence", "rows"]] = "rows"
    selection: str = "loss_nats"
    metrics: tuple[str, ...] = ("loss_nats", "accuracy", "macro_f1", "calibration_error", "truncated_fraction")

    def __init__(
        self,
        classes: int,
        causal: bool = False,
        class_weights: Sequence[float] | None = None,
        max_steps: int | None = None,
        word: int | None = None,
    ) -> None:
        if isinstance(classes, bool) or not isinstance(classes, int) or classes < 2:
            raise ConfigError(complain("Tagging", "classes", "a whole number of at least 2", classes))
        for what, value, least in (("max_steps", max_steps, 1), ("word", word, 0)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ConfigError(complain("Tagging", what, f"a whole number of at least {least}, or None", value))
        self.classes = classes
        self.causal = causal
        self.class_weights = check_weights("Tagging", class_weights, classes)
        self.max_steps = max_steps
        self.word = word
        self.boundary = "causal" if causal else "full"

    @property
    def outputs(self) -> int:
        """Number of logits: one a class."""
        return self.classes

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        weights = None if self.class_weights is None else list(self.class_weights)
        return {
            "classes": self.classes,
            "causal": self.causal,
            "class_weights": weights,
            "max_steps": self.max_steps,
            "word": self.word,
        }

    def align(self, batch: Batch) -> Aligned:
        """Put each tag beside its step; padding is not scored.

        Raises:
            DataError: If there are no targets, or one is no class.
            ShapeError: If the targets are not one whole number a step.
        """
        targets = batch.targets
        if targets is None:
            raise DataError(complain("Tagging", "targets", "given, a class a step", "none"))
        if targets.shape != batch.inputs.shape[:2] or targets.is_floating_point():
            rule = f"whole numbers (batch, time) = {tuple(batch.inputs.shape[:2])}"
            raise ShapeError(complain("Tagging", "targets", rule, f"{tuple(targets.shape)} of {targets.dtype}"))
        scored = scored_classes(targets) & real_steps(batch)
        check_classes("Tagging", targets[scored], self.classes)
        return Aligned(batch.inputs, batch.valid, targets, scored)

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Mean cross-entropy of the scored steps that the model reads, in nats.

        Raises:
            DataError: If none is scored, or a target is no class of training.
            ShapeError: If the model does not give `classes` logits a step.
        """
        aligned, read = self.align(batch), self._read(batch)
        scored, targets = self._within(aligned, read)
        logits = self._logits(model, read)
        loss = weighted_cross_entropy("Tagging", logits[scored], targets[scored], self.class_weights)
        if recording.is_on() and self.class_weights is None:
            recording.report(TOKEN_LOSS, "", {"logits": logits}, {"loss": loss}, targets=targets, scored=scored)
        return loss

    def scored_targets(self, batch: Sequences) -> int:
        """Count the scored steps that the model reads."""
        return sum(
            int(self._within(self.align(part), self._read(part))[0].sum()) for _, part in chunks(batch, COUNTED_AT_ONCE)
        )

    def loss_weight(self, batch: Batch) -> float:
        """Give the number of scored steps that the model reads, or the sum of their class weights."""
        scored, targets = self._within(self.align(batch), self._read(batch))
        return weight_sum(targets[scored], self.class_weights)

    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Give `loss_nats`, `accuracy`, `macro_f1`, `calibration_error` and `truncated_fraction` over scored steps."""
        log_probabilities, targets, is_read = self._scored(model, batch, chunk)
        predicted = torch.where(is_read, predicted_classes(log_probabilities), -1)
        return {
            "loss_nats": mean_loss(log_probabilities, targets),
            "accuracy": (predicted == targets).double().mean().item(),
            "macro_f1": macro_f1(confusion_counts(predicted, targets, self.classes)),
            "calibration_error": calibration_error(log_probabilities.exp(), torch.where(is_read, targets, -1)),
            "truncated_fraction": (~is_read).double().mean().item(),
        }

    def confusion(
        self, model: nn.Module, batch: Sequences, chunk: int = 512
    ) -> Int[Tensor, "true_classes predicted_classes"]:
        """Count scored steps by true class (row) and predicted class (column).

        The last row holds steps of a class that training never saw, the last column steps that were not read.
        """
        log_probabilities, targets, is_read = self._scored(model, batch, chunk)
        predicted = torch.where(is_read, predicted_classes(log_probabilities), -1)
        return confusion_counts(predicted, targets, self.classes)

    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give `probabilities` (batch, time, classes) and `classes` (batch, time).

        Padding and steps that were not read hold NaN and -1.
        """
        probabilities, classes = [], []
        for index, _, log_probabilities, is_read in self._predicted(model, batch, chunk):
            log_probabilities[~is_read] = torch.nan
            probabilities.append((index, log_probabilities.exp()))
            classes.append((index, predicted_classes(log_probabilities)))
        if not classes:
            return {"probabilities": np.zeros((0, 0, self.classes)), "classes": np.zeros((0, 0), np.int64)}
        return {
            "probabilities": put_together(probabilities, torch.nan).numpy(),
            "classes": put_together(classes, -1).numpy(),
        }

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score the most frequent tag, and the most frequent tag of each word where words are known."""
        return tag_references(self.classes, self.word, train, test)

    def _read(self, batch: Batch) -> _Read:
        valid = real_steps(batch)
        if self.max_steps is None or int(valid.sum(dim=1).max()) <= self.max_steps:
            return _Read(batch.inputs, batch.valid, slice(None), valid)
        is_read = valid & (valid.cumsum(dim=1) <= self.max_steps)
        used = is_read.any(dim=0).nonzero()
        columns = slice(int(used[0]), int(used[-1]) + 1)
        return _Read(batch.inputs[:, columns], is_read[:, columns], columns, is_read)

    def _within(self, aligned: Aligned, read: _Read) -> tuple[Bool[Tensor, "batch kept"], Int[Tensor, "batch kept"]]:
        assert aligned.scored is not None
        return (aligned.scored & read.is_read)[:, read.columns], aligned.targets[:, read.columns]

    def _logits(self, model: nn.Module, read: _Read) -> Float[Tensor, "batch kept classes"]:
        expected = (*read.inputs.shape[:2], self.classes)
        return model_logits("Tagging", model, read.inputs, read.valid, expected)

    def _predicted(
        self, model: nn.Module, data: Sequences, chunk: int
    ) -> list[tuple[Tensor, Batch, Float[Tensor, "batch time classes"], Bool[Tensor, "batch time"]]]:
        """Give for each chunk its numbers, its batch, log-probabilities of all steps and which of them were read."""
        parts = []
        with evaluation_mode(model), torch.no_grad():
            for index, batch in chunks(data, chunk, device_of(model)):
                read = self._read(batch)
                logits = self._logits(model, read).double().cpu()
                log_probabilities = logits.new_zeros(*batch.inputs.shape[:2], self.classes).log_softmax(dim=-1)
                log_probabilities[:, read.columns] = logits.log_softmax(dim=-1)
                is_read = read.is_read.cpu()
                log_probabilities[~is_read] = -torch.tensor(float(self.classes)).double().log()
                parts.append((index, batch, log_probabilities, is_read))
        return parts

    def _scored(
        self, model: nn.Module, data: Sequences, chunk: int
    ) -> tuple[Float[Tensor, "targets classes"], Int[Tensor, " targets"], Bool[Tensor, " targets"]]:
        parts = []
        for _, batch, log_probabilities, is_read in self._predicted(model, data, chunk):
            aligned = self.align(batch.to("cpu"))
            assert aligned.scored is not None
            parts.append((log_probabilities[aligned.scored], aligned.targets[aligned.scored], is_read[aligned.scored]))
        if sum(len(targets) for _, targets, _ in parts) == 0:
            raise DataError(complain("Tagging", "scored targets", "at least 1", f"none in {len(data)} sequences"))
        log_probabilities, targets, is_read = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        return log_probabilities, targets, is_read
