"""The one training loop: an epoch of batches in a seeded order, Adam, clipping, then a look at validation.

It knows a task, a model and two batches of sequences. Files, processes and progress displays belong to its callers.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ClewError
from clew.tasks.task import Task
from clew.training.config import TrainConfig
from clew.training.state import TrainingState


class TrainingError(ClewError):
    """Training cannot go on: a loss or a gradient is not finite."""


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch gave; a line of `metrics.jsonl`.

    Attributes:
        epoch: Its number, from 1.
        train_loss_nats: Mean loss a scored target over the epoch, while the weights moved.
        validation: The task's metrics on the validation sequences after the epoch.
        diagnose: The task's own diagnostics on the validation sequences.
        clipped_fraction: Share of the steps whose gradient was scaled down.
        tokens_seen: Real input positions read since the start.
        is_best: Whether validation was better than after every earlier epoch.
    """

    epoch: int
    train_loss_nats: float
    validation: dict[str, float]
    diagnose: dict[str, float]
    clipped_fraction: float
    tokens_seen: int
    is_best: bool

    def to_mapping(self) -> dict[str, Any]:
        """Give the plain values."""
        return dict(vars(self))


def train_epoch(state: TrainingState, task: Task, train: Batch, validation: Batch, config: TrainConfig) -> EpochRecord:
    """Train for one epoch and evaluate; `state` moves on to the next epoch.

    Raises:
        TrainingError: If a loss or a gradient is not finite.
    """
    progress = state.progress
    state.model.train()
    losses, weights, norms = _take_steps(state, task, train, config)
    if not bool(torch.isfinite(losses).all() and torch.isfinite(norms).all()):
        step = int((~(torch.isfinite(losses) & torch.isfinite(norms))).nonzero()[0]) + 1
        raise TrainingError(
            f"training: loss and gradient must be finite, got a loss of {losses[step - 1].item():.4g} and a gradient "
            f"norm of {norms[step - 1].item():.4g} in epoch {progress.epoch + 1}, step {step}. Lower the learning rate."
        )
    progress.epoch += 1
    progress.tokens_seen += task.input_positions(train)
    metrics = task.evaluate(state.model, validation)
    is_best = metrics[task.selection] < progress.best_value
    if is_best:
        progress.best_epoch, progress.best_value = progress.epoch, metrics[task.selection]
    clipped = 0.0 if config.clip_norm is None else (norms > config.clip_norm).double().mean().item()
    return EpochRecord(
        epoch=progress.epoch,
        train_loss_nats=((losses.double() * weights).sum() / weights.sum()).item(),
        validation=metrics,
        diagnose=task.diagnose(state.model, validation),
        clipped_fraction=clipped,
        tokens_seen=progress.tokens_seen,
        is_best=is_best,
    )


def _take_steps(state: TrainingState, task: Task, train: Batch, config: TrainConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Take one optimizer step a batch; give each step's loss, number of scored targets and gradient norm."""
    parameters = list(state.model.parameters())
    limit = float("inf") if config.clip_norm is None else config.clip_norm
    order = torch.randperm(len(train), generator=state.order_generator)
    losses, weights, norms = [], [], []
    for rows in order.split(config.batch_size):
        batch = train.select(rows)
        loss = task.loss(state.model, batch)
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(parameters, limit, foreach=True))
        state.optimizer.step()
        losses.append(loss.detach())
        weights.append(task.scored_targets(batch))
    return torch.stack(losses), torch.tensor(weights, dtype=torch.float64), torch.stack(norms)
