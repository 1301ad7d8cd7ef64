"""What a task is: what a prediction may use, what it must say, how that is scored.

The task alone aligns inputs with targets, and it does so once; models and losses never shift. One target is one scored
position: a loss is the sum over the scored targets divided by their number, whatever the sizes of batches and chunks.
Start with `NextToken`; `CueRecall` shows a task with one scored query a sequence.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from clew.data.batch import Batch


@dataclass(frozen=True, eq=False)
class Aligned:
    """Inputs and, row for row, the targets that are predicted from them.

    Attributes:
        inputs: What the model reads.
        valid: True at a real input step; None where all are real.
        targets: What is to be predicted at each row.
        scored: True where a target counts; None where all count. A target that does not count may hold anything.
    """

    inputs: Shaped[Tensor, "batch time *features"]
    valid: Bool[Tensor, "batch time"] | None
    targets: Shaped[Tensor, "batch time *coordinates"]
    scored: Bool[Tensor, "batch time"] | None


class Task(ABC):
    """Boundary, targets, loss and metrics of one prediction problem.

    Attributes:
        name: The word for the task in configurations.
        boundary: What a prediction may read: "causal" (its own position and earlier ones) or "full".
        metrics: Names of what `evaluate` gives.
        selection: The metric of `evaluate` that is minimised on validation to choose a checkpoint.
        chance_accuracy: Accuracy of a guess at the scored query; None where the task has no such query.
        oracle_accuracy: Best accuracy that the task allows at the scored query, where it is known.
    """

    name: ClassVar[str]
    boundary: ClassVar[Literal["causal", "full"]]
    selection: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    chance_accuracy: ClassVar[float | None] = None
    oracle_accuracy: ClassVar[float | None] = None

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Give the arguments that make this task again, as plain JSON values."""

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
    def evaluate(self, model: nn.Module, batch: Batch, chunk: int = 512) -> dict[str, float]:
        """Compute the reported metrics in evaluation mode; `chunk` sequences at a time, which changes no accounting."""

    @property
    def label(self) -> str:
        """Name the setting in a few words for tables and progress displays; empty where there is only one."""
        return ""

    def input_positions(self, batch: Batch) -> int:
        """Count the real positions that a model reads for these sequences."""
        aligned = self.align(batch)
        if aligned.valid is not None:
            return int(aligned.valid.sum())
        return aligned.inputs.shape[0] * aligned.inputs.shape[1]

    def scored_targets(self, batch: Batch) -> int:
        """Count the targets that the loss of these sequences is the mean of."""
        aligned = self.align(batch)
        if aligned.scored is not None:
            return int(aligned.scored.sum())
        return aligned.targets.shape[0] * aligned.targets.shape[1]

    def correct(self, model: nn.Module, batch: Batch, chunk: int = 512) -> Bool[Tensor, " batch"] | None:
        """Say for each sequence whether its scored query is answered correctly; None for a task without one."""
        return None

    def evidence(self, model: nn.Module, batch: Batch, chunk: int = 512) -> dict[str, int | float]:
        """Give what tells whether a model beats the oracle, where that is known: the fields of `OracleComparison`."""
        return {}

    def references(self, train: Batch, test: Batch) -> list[dict[str, Any]]:
        """Score predictors without learning on the test sequences, chance and oracle among them."""
        return []

    def diagnose(self, model: nn.Module, batch: Batch) -> dict[str, float]:
        """Look at a model in training, once an epoch; must leave gradients, modes and random numbers alone."""
        return {}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config().items())
        return f"{type(self).__name__}({arguments})"


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
