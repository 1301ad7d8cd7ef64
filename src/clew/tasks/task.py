"""What a task is: what a prediction may use, what it must say, how that is scored.

The task alone aligns inputs with targets, and it does so once; models and losses never shift. One target is one scored
position: a loss is the sum over the scored targets divided by their number, whatever the sizes of batches and chunks.
Start with `NextToken`; `CueRecall` shows a task with one scored query a sequence.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.tasks.sequences import Sequences, chunks

INPUT_CHUNK = 4096  # sequences that are looked at together where positions and targets are counted


@dataclass(frozen=True, eq=False)
class Aligned:
    """Inputs and, row for row, the targets that are predicted from them.

    Attributes:
        inputs: What the model reads.
        valid: True at a real input step; None where all are real.
        targets: What is to be predicted at each row.
        scored: True where a target counts; None where all count. A target that does not count may hold anything.
        documents: Number of the document of each input step, where rows are packed documents; None otherwise.

    A task with one target a step has targets and `scored` of shape (batch, time, ...), one with a target a sequence
    (batch, ...).
    """

    inputs: Shaped[Tensor, "batch *rest"]
    valid: Bool[Tensor, "batch time"] | None
    targets: Shaped[Tensor, "batch *coordinates"]
    scored: Bool[Tensor, "batch *steps"] | None
    documents: Int[Tensor, "batch time"] | None = None


class Task(ABC):
    """Boundary, targets, loss and metrics of one prediction problem.

    Attributes:
        name: The word for the task in configurations.
        kind_of_head: "rows" (a prediction a step) or "sequence" (one a sequence).
        boundary: What a prediction may read: "causal" (its own position and earlier ones) or "full".
        metrics: Names of what `evaluate` gives.
        selection: The metric of `evaluate` that is minimised on validation to choose a checkpoint.
        chance_accuracy: Accuracy of a guess at the scored query; None where the task has no such query.
        oracle_accuracy: Best accuracy that the task allows at the scored query, where it is known.
    """

    name: ClassVar[str]
    kind_of_head: ClassVar[Literal["sequence", "rows"]]
    boundary: Literal["causal", "full"]
    selection: str
    metrics: tuple[str, ...]
    chance_accuracy: ClassVar[float | None] = None
    oracle_accuracy: ClassVar[float | None] = None

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Give the arguments that make this task again, as plain JSON values."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of logits or values of one prediction, to build a model with."""

    @abstractmethod
    def align(self, batch: Batch) -> Aligned:
        """Put each target beside the row that predicts it."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Training loss: the sum over the scored targets divided by their number.

        Raises:
            DataError: If no target of the batch is scored.
        """

    @abstractmethod
    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Compute the reported metrics in evaluation mode; `chunk` sequences at a time, which changes no accounting."""

    @abstractmethod
    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give the raw predictions in evaluation mode, in the order of the data; no target is looked at.

        Probabilities are (batch, classes) or (batch, time, classes), values (batch, outputs) or as the task says. Steps
        without a prediction hold NaN.
        """

    def monitor(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Compute what is looked at after each epoch, `selection` among it; by default all of `evaluate`."""
        return self.evaluate(model, batch, chunk)

    @property
    def label(self) -> str:
        """Name the setting in a few words for tables and progress displays; empty where there is only one."""
        return ""

    def input_positions(self, batch: Sequences) -> int:
        """Count the real positions that a model reads for these sequences; of an image, its pixels."""
        return sum(_input_positions(self.align(part)) for part in _parts(batch))

    def scored_targets(self, batch: Sequences) -> int:
        """Count the targets that the loss of these sequences is the mean of."""
        return sum(_scored_targets(self, self.align(part)) for part in _parts(batch))

    def loss_weight(self, batch: Batch) -> float:
        """Give the divisor of `loss`: the losses of several batches are averaged with these weights.

        It is the number of scored targets, or the sum of their class weights where a task has those.
        """
        return float(self.scored_targets(batch))

    def correct(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> Bool[Tensor, " batch"] | None:
        """Say for each sequence whether its scored query is answered correctly; None for a task without one."""
        return None

    def evidence(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, int | float]:
        """Give what tells whether a model beats the oracle, where that is known: the fields of `OracleComparison`."""
        return {}

    def errors(self, model: nn.Module, windows: Sequences, chunk: int = 512) -> dict[str, list[float]]:
        """Give errors of each sequence that comparisons take intervals over; empty for a task that has none."""
        return {}

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score simple predictors on the test sequences; chance and, where it is known, the oracle are among them."""
        return []

    def diagnose(self, model: nn.Module, batch: Batch) -> dict[str, float]:
        """Look at a model in training, once an epoch; must leave gradients, modes and random numbers alone."""
        return {}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config().items())
        return f"{type(self).__name__}({arguments})"


def _parts(data: Sequences) -> Iterator[Batch]:
    return iter([data]) if isinstance(data, Batch) else (batch for _, batch in chunks(data, INPUT_CHUNK))


def _input_positions(aligned: Aligned) -> int:
    if aligned.valid is not None:
        return int(aligned.valid.sum())
    is_image = aligned.inputs.ndim == 4
    return len(aligned.inputs) * prod(aligned.inputs.shape[2:4] if is_image else aligned.inputs.shape[1:2])


def _scored_targets(task: Task, aligned: Aligned) -> int:
    if aligned.scored is not None:
        return int(aligned.scored.sum())
    return prod(aligned.targets.shape[: 1 if task.kind_of_head == "sequence" else 2])


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch every module to evaluation and put each back as it was, also after an error."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, is_training in modes:
            module.training = is_training
