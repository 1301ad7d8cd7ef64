"""Training into a run folder, from where it stands to its end: what `clew.fit` and the lab's jobs share.

It can be killed at any moment. Checkpoints are written between steps, every few seconds of training and at the end;
epochs, best weights and the whole state go to disk together, so that the state is never ahead of them, and what comes
after it is trained again to the same bits.
"""

import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from clew.runs.folder import RunFolder
from clew.tasks import Task
from clew.tasks.sequences import Sequences
from clew.training.config import TrainConfig
from clew.training.loop import EpochRecord, TrainingError, require_finite, train_epoch
from clew.training.state import TrainingState, save_weights

CHECKPOINT_SECONDS = 2.0
WRITING_SHARE = 0.05
"""Largest part of the time that goes into checkpoints: a large model is written less often."""
SECONDS_BETWEEN_WORDS = 0.2

OnEpoch = Callable[[EpochRecord, float], None]
OnStep = Callable[[int, int, float], None]


def train_in_folder(
    folder: RunFolder,
    state: TrainingState,
    task: Task,
    train: Sequences,
    validation: Sequences,
    training: TrainConfig,
    on_epoch: OnEpoch,
    on_step: OnStep | None = None,
) -> None:
    """Train to the end; the caller holds the folder's lock and has brought `state` to what the folder holds.

    Args:
        folder: Where checkpoints and records go; the selected weights are in its `best.safetensors` at the end.
        state: Where training stands.
        task: Loss, metrics and selection.
        train: What is fitted.
        validation: What selects.
        training: Budget and rules.
        on_epoch: Called after each epoch with its record and the seconds that this call spent on it.
        on_step: Called between steps, a few times a second at most, with epoch, steps of it and the last loss.

    Raises:
        RunError: If the folder cannot be written.
        TrainingError: If a loss or gradient is not finite, or validation never gave a number.
        DataError: If a step has no scored target.
    """
    folder.cut_back(state.progress.epoch)
    keeper = _Keeper(folder, state, training, on_step)
    while not state.progress.stopped:
        record = train_epoch(state, task, train, validation, training, keeper.after_step)
        if record.stopped and state.progress.best_epoch == 0:
            value = record.validation[task.selection]
            raise TrainingError(
                f"training: {task.selection} on validation must be a number after some epoch, got {value} after each "
                f"of {record.epoch}. Lower the learning rate, or look at the validation data."
            )
        seconds = keeper.take(record)
        on_epoch(record, seconds)
        if keeper.is_due or record.stopped:
            keeper.write()


class _Keeper:
    """Keeps epochs and the best weights in memory and writes them together, so that `last` is never ahead of them."""

    def __init__(self, folder: RunFolder, state: TrainingState, training: TrainConfig, on_step: OnStep | None) -> None:
        self.folder = folder
        self.state = state
        self.training = training
        self.on_step = on_step
        self.best: dict[str, Tensor] | None = None
        self.best_epoch = 0
        self.records: list[dict[str, Any]] = []
        now = time.monotonic()
        self.seconds_before = folder.seconds() if training.max_minutes is not None else 0.0
        self.started = self.epoch_started = self.written = self.told = now
        self.writing_seconds = 0.0

    @property
    def is_due(self) -> bool:
        pause = max(CHECKPOINT_SECONDS, self.writing_seconds / WRITING_SHARE)
        return time.monotonic() - self.written > pause

    def after_step(self) -> bool:
        """Look at the clock between steps; True where the time is over."""
        now = time.monotonic()
        if self.is_due:
            self.write()
        if self.on_step is not None and now - self.told > SECONDS_BETWEEN_WORDS:
            progress = self.state.progress
            self.on_step(progress.epoch + 1, progress.step, self.state.sums.last_loss())
            self.told = now
        limit = self.training.max_minutes
        return limit is not None and self.seconds_before + now - self.started >= 60 * limit

    def take(self, record: EpochRecord) -> float:
        """Keep what an epoch gave until the next checkpoint; give the seconds that were spent on it."""
        self.records.append(record.to_mapping())
        if record.is_best:
            self.best = {name: tensor.detach().clone() for name, tensor in self.state.model.state_dict().items()}
            self.best_epoch = record.epoch
        now = time.monotonic()
        seconds, self.epoch_started = now - self.epoch_started, now
        return seconds

    def write(self) -> None:
        """Write everything, the state last."""
        require_finite(self.state, self.training)
        begun = time.monotonic()
        if self.best is not None:
            save_weights(self.best, self.folder.best, self.best_epoch)
            self.best = None
        self.folder.append_metrics(self.records)
        self.records = []
        epoch = self.state.progress.epoch + (self.state.progress.step > 0)
        self.folder.append_seconds(epoch, begun - self.written)
        self.state.save(self.folder.last)
        self.writing_seconds = time.monotonic() - begun
        self.written = begun + self.writing_seconds
