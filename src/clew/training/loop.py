"""The one training loop: an epoch of batches in a seeded order, Adam, clipping, then a look at validation.

It knows a task, a model and two sets of sequences, and goes on from any step. Files, processes and progress displays
belong to its callers, who are asked after each step whether to go on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ClewError, DataError, complain
from clew.tasks.sequences import Sequences
from clew.tasks.task import Task
from clew.training.config import TrainConfig
from clew.training.optimizers import mixed_precision
from clew.training.ordering import draw_batches
from clew.training.schedule import learning_rate_at
from clew.training.state import TrainingState
from clew.training.sums import EpochSums

AfterStep = Callable[[], bool]


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
        steps: Optimizer steps since the start.
        learning_rate: Of the last step.
        stopped: Why training ends with this epoch: "epochs", "patience" or "max_minutes"; "" where it goes on.
    """

    epoch: int
    train_loss_nats: float
    validation: dict[str, float]
    diagnose: dict[str, float]
    clipped_fraction: float
    tokens_seen: int
    is_best: bool
    steps: int
    learning_rate: float
    stopped: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Give the plain values."""
        return dict(vars(self))


def train_epoch(
    state: TrainingState,
    task: Task,
    train: Sequences,
    validation: Sequences,
    config: TrainConfig,
    after_step: AfterStep | None = None,
) -> EpochRecord:
    """Train to the end of the epoch under way and evaluate; `state` moves on to the next one.

    Args:
        state: Where training stands, in the middle of an epoch too.
        task: Loss and metrics.
        train: What is fitted.
        validation: What selects.
        config: Budget and rules.
        after_step: Called after each step, when `state` may be saved; True ends the epoch, and training with it.

    Raises:
        TrainingError: If a loss or a gradient is not finite.
        DataError: If a step has no scored target.
    """
    progress = state.progress
    state.model.train()
    batches = _begin(state, train, config)
    is_cut_short = False
    for rows in batches[progress.step :]:
        _take_step(state, task, train.select(rows), config, len(batches))
        if after_step is not None and after_step():
            is_cut_short = True
            break
    require_finite(state, config)
    return _finish(state, task, train, validation, config, batches, is_cut_short)


def require_finite(state: TrainingState, config: TrainConfig) -> None:
    """Look at the figures of the epoch under way.

    Raises:
        TrainingError: If a loss or a gradient is not finite.
    """
    if state.progress.step == 0:
        return
    step = state.sums.first_not_finite(norms_too=config.precision != "float16")
    if step is not None:
        parts = state.sums.tensors()
        loss, norm = (parts[name][step - 1].item() for name in ("losses", "norms"))
        raise TrainingError(
            f"training: loss and gradient must be finite, got a loss of {loss:.4g} and a gradient "
            f"norm of {norm:.4g} in epoch {state.progress.epoch + 1}, step {step}. Lower the learning rate."
        )


def _begin(state: TrainingState, train: Sequences, config: TrainConfig) -> tuple[Int[Tensor, " _"], ...]:
    """Draw the batches of the epoch under way: anew at its start, as they were in its middle."""
    state.order_at_start = state.order_generator.get_state()
    if state.progress.step == 0:
        state.sums = EpochSums()
    return draw_batches(train, config, state.order_generator)


def _take_step(state: TrainingState, task: Task, batch: Batch, config: TrainConfig, steps: int) -> None:
    """Take one optimizer step on a batch."""
    progress = state.progress
    if config.warmup_steps or config.decay != "none":
        rate = learning_rate_at(progress.total_steps, steps * config.epochs, config)
        for group in state.optimizer.param_groups:
            group["lr"] = rate
    state.optimizer.zero_grad(set_to_none=True)
    loss, weight = _add_gradients(state, task, batch, config)
    state.scaler.unscale_(state.optimizer)
    limit = float("inf") if config.clip_norm is None else config.clip_norm
    norm = nn.utils.clip_grad_norm_(list(state.model.parameters()), limit, foreach=True)
    state.scaler.step(state.optimizer)
    state.scaler.update()
    state.sums.add(loss, weight, norm)
    progress.step += 1
    progress.total_steps += 1


def _add_gradients(state: TrainingState, task: Task, batch: Batch, config: TrainConfig) -> tuple[Tensor, float]:
    """Add up the gradients of the parts of a batch; give the mean loss of the whole and what it divides by.

    Each part counts by its share of the divisor of the whole step; one without a target adds nothing.
    """
    size = -(-len(batch) // config.accumulate)
    rows = torch.arange(len(batch)).split(size)
    parts = [batch] if len(rows) == 1 else [batch.select(some) for some in rows]
    weights = [task.loss_weight(part) for part in parts]
    whole = sum(weights)
    if not whole > 0:
        place = f"none in epoch {state.progress.epoch + 1}, step {state.progress.step + 1}, of {len(batch)} sequences"
        remedy = "Drop sequences without a target, or take larger batches."
        raise DataError(complain("training", "scored targets of a step", "at least 1", place, remedy))
    total = torch.zeros((), device=state.device)
    for part, weight in zip(parts, weights, strict=True):
        if weight == 0:
            continue
        with mixed_precision(state.device, config):
            loss = task.loss(state.model, part.to(state.device))
        share = loss if weight == whole else loss * (weight / whole)
        state.scaler.scale(share).backward()
        total = share.detach() if weight == whole else total + share.detach()
    return total, whole


def _finish(
    state: TrainingState,
    task: Task,
    train: Sequences,
    validation: Sequences,
    config: TrainConfig,
    batches: tuple[Int[Tensor, " _"], ...],
    is_cut_short: bool,
) -> EpochRecord:
    """Evaluate after an epoch and make its record."""
    progress, sums = state.progress, state.sums
    progress.tokens_seen += _positions(state, task, train, batches)
    progress.epoch += 1
    progress.step = 0
    metrics = task.monitor(state.model, validation)
    is_best = metrics[task.selection] < progress.best_value
    if is_best:
        progress.best_epoch, progress.best_value = progress.epoch, metrics[task.selection]
    progress.stopped = _why_to_stop(state, config, is_cut_short)
    clipped = 0.0
    if config.clip_norm is not None:
        clipped = (sums.tensors()["norms"] > config.clip_norm).double().mean().item()
    return EpochRecord(
        epoch=progress.epoch,
        train_loss_nats=sums.mean_loss(),
        validation=metrics,
        diagnose=_diagnose(state, task, validation),
        clipped_fraction=clipped,
        tokens_seen=progress.tokens_seen,
        is_best=is_best,
        steps=progress.total_steps,
        learning_rate=learning_rate_at(progress.total_steps - 1, len(batches) * config.epochs, config),
        stopped=progress.stopped,
    )


def _why_to_stop(state: TrainingState, config: TrainConfig, is_cut_short: bool) -> str:
    progress = state.progress
    if is_cut_short:
        return "max_minutes"
    if progress.epoch >= config.epochs:
        return "epochs"
    if config.patience is not None and progress.epoch - progress.best_epoch >= config.patience:
        return "patience"
    return ""


def _positions(state: TrainingState, task: Task, train: Sequences, batches: tuple[Int[Tensor, " _"], ...]) -> int:
    """Count the input positions of the steps that were taken."""
    if state.progress.step < len(batches):
        return sum(task.input_positions(train.select(rows)) for rows in batches[: state.progress.step])
    if state.epoch_positions is None:
        state.epoch_positions = task.input_positions(train)
    return state.epoch_positions


def _diagnose(state: TrainingState, task: Task, validation: Sequences) -> dict[str, float]:
    """Ask the task to look at the model, where validation is a batch already."""
    return task.diagnose(state.model, validation.to(state.device)) if isinstance(validation, Batch) else {}
