"""One case for each task: data of unequal lengths, a perfect and a chance predictor, and what they must score."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from clew.data import Batch, sample_episodes
from clew.models import build
from clew.tasks import Classification, CueRecall, Forecasting, NextToken, Regression, Scaling, Tagging, Task

COUNT = 12
CERTAIN = 60.0


@dataclass(frozen=True)
class Output:
    logits: Tensor


class Function(nn.Module):
    """A model made of a function of inputs and valid; NaN at padding is replaced by 0 before."""

    def __init__(self, logits: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, inputs: Tensor, valid: Tensor | None = None) -> Output:
        valid = torch.ones(inputs.shape[:2], dtype=torch.bool) if valid is None else valid
        kept = valid.reshape(*valid.shape, *[1] * (inputs.ndim - 2))
        return Output(self.logits(torch.where(kept, inputs, torch.zeros_like(inputs)), valid))


@dataclass(frozen=True)
class Member:
    """A task under test.

    Attributes:
        task: The task.
        batch: Its data, float64 or ids, ragged unless the task allows no padding.
        model: Some model with random weights, float64.
        perfect, chance: Predictors with known figures.
        perfect_figures, chance_figures: Those.
        worked: A batch of one worked row, and what `align` must give for it: inputs, targets, scored.
        per_step: Whether predictions belong to steps, by `predict`'s key.
    """

    task: Task
    batch: Batch
    model: nn.Module
    perfect: nn.Module
    perfect_figures: dict[str, float]
    chance: nn.Module
    chance_figures: dict[str, float]
    worked: tuple[Batch, Any, Any, Any]

    @property
    def is_ragged(self) -> bool:
        return self.batch.valid is not None


class Rows:
    """Sequences that are not a `Batch`: selected one by one and padded anew."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def lengths(self) -> Tensor:
        return self.batch.lengths

    def select(self, index: Tensor) -> Batch:
        batch = self.batch.select(index)
        if batch.valid is None:
            return batch
        time = int(batch.valid.sum(dim=1).max())
        targets = batch.targets
        if targets is not None and targets.ndim > 1 and targets.shape[1] == batch.valid.shape[1]:
            targets = targets[:, :time]
        return Batch(batch.inputs[:, :time], batch.valid[:, :time], targets)


def lengths(least: int, most: int) -> Tensor:
    drawn = torch.randint(least, most + 1, (COUNT,), generator=torch.Generator().manual_seed(1))
    drawn[0] = most
    return drawn


def mask(least: int, most: int) -> Tensor:
    return torch.arange(most) < lengths(least, most).unsqueeze(1)


def padded_left(batch: Batch, extra: int = 2, garbage: float = float("nan")) -> Batch:
    """Move each row's real steps to the right end, with `extra` more columns of garbage before them."""
    assert batch.valid is not None
    time = batch.valid.shape[1] + extra
    moved = []
    per_step = batch.targets is not None and batch.targets.ndim > 1 and batch.targets.shape[1] == batch.valid.shape[1]
    for part, fill in ((batch.inputs, garbage), (batch.targets if per_step else None, -1)):
        if part is None:
            moved.append(None)
            continue
        fill = fill if part.is_floating_point() else -999 if fill != -1 else -1
        rows = part.new_full((len(part), time, *part.shape[2:]), fill)
        for row, valid in enumerate(batch.valid):
            rows[row, time - int(valid.sum()) :] = part[row][valid]
        moved.append(rows)
    valid = torch.arange(time) >= time - batch.valid.sum(dim=1, keepdim=True)
    return Batch(moved[0], valid, moved[1] if per_step else batch.targets)


def draws(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def one_hot(classes: Tensor, size: int) -> Tensor:
    return CERTAIN * torch.nn.functional.one_hot(classes.long().clamp(0, size - 1), size).double()


def zeros(outputs: int, per_step: bool) -> Function:
    return Function(lambda x, valid: torch.zeros(*x.shape[: 2 if per_step else 1], outputs, dtype=torch.float64))


def worked(inputs: list[Any], valid: list[int], targets: list[Any]) -> Batch:
    return Batch(torch.tensor(inputs), torch.tensor([valid]).bool(), torch.tensor(targets))


def classification() -> Member:
    classes = torch.arange(COUNT) % 3
    inputs = draws(COUNT, 9, 2)
    inputs[..., 1] = classes.unsqueeze(1)
    share = (classes == 0).double().mean().item()
    return Member(
        Classification(3),
        Batch(inputs, mask(2, 9), classes),
        build("gru", features=2, outputs=3, hidden=5, head="last").double(),
        Function(lambda x, valid: one_hot(x[..., 1].amax(dim=1), 3)),
        {"loss_nats": 0.0, "accuracy": 1.0, "macro_f1": 1.0, "calibration_error": 0.0},
        zeros(3, per_step=False),
        {"loss_nats": log(3), "accuracy": share, "calibration_error": abs(share - 1 / 3)},
        (
            worked([[[0.3], [0.7], [0.1], [9.0]]], [1, 1, 1, 0], [2]),
            [[[0.3], [0.7], [0.1], [9.0]]],
            [2],
            [True],
        ),
    )


def tagging() -> Member:
    valid = mask(1, 8)
    tags = torch.randint(0, 4, valid.shape, generator=torch.Generator().manual_seed(3))
    tags[:, 0] = torch.where(torch.arange(COUNT) % 5 == 0, -1, tags[:, 0])
    inputs = draws(COUNT, 8, 2)
    inputs[..., 0] = tags
    scored = valid & (tags >= 0)
    share = (tags[scored] == 0).double().mean().item()
    return Member(
        Tagging(4, word=0),
        Batch(inputs, valid, torch.where(valid, tags, -1)),
        build("lstm", features=2, outputs=4, hidden=5, bidirectional=True).double(),
        Function(lambda x, valid: one_hot(x[..., 0], 4)),
        {"loss_nats": 0.0, "accuracy": 1.0, "macro_f1": 1.0, "truncated_fraction": 0.0},
        zeros(4, per_step=True),
        {"loss_nats": log(4), "accuracy": share, "calibration_error": abs(share - 0.25)},
        (
            worked([[1, 2, 3, 4, 0]], [1, 1, 1, 1, 0], [[3, 0, -1, 2, -1]]),
            [[1, 2, 3, 4, 0]],
            [[3, 0, -1, 2, -1]],
            [[True, True, False, True, False]],
        ),
    )


def next_token() -> Member:
    first = torch.randint(0, 6, (COUNT, 1), generator=torch.Generator().manual_seed(4))
    return Member(
        NextToken(6, token_bytes=[1, 1, 1, 2, 2, 3]),
        Batch((first + torch.arange(9)) % 6, mask(2, 9)),
        build("gru", vocab=6, outputs=6, hidden=5).double(),
        Function(lambda ids, valid: one_hot((ids + 1) % 6, 6)),
        {"loss_nats": 0.0, "accuracy": 1.0, "bits_per_byte": 0.0},
        zeros(6, per_step=True),
        {"loss_nats": log(6)},
        (Batch(torch.tensor([[4, 2, 0, 1, 5]])), [[4, 2, 0, 1]], [[2, 0, 1, 5]], None),
    )


def regression() -> Member:
    inputs = draws(COUNT, 7, 2)
    inputs[..., 1] = torch.arange(COUNT).unsqueeze(1)
    targets = torch.stack([inputs[:, 0, 1] * 2 + 100, -inputs[:, 0, 1]], dim=1)
    targets[4, 0] = float("nan")
    kept = targets[~targets.isnan().any(dim=1)]
    center, scale = kept.mean(dim=0).tolist(), [3.0, 0.5]
    rows, offset = torch.tensor([[2.0], [-1.0]]).double(), torch.tensor([100.0, 0.0])
    spread = kept.var(dim=0, correction=0)
    return Member(
        Regression(2, center, scale),
        Batch(inputs, mask(1, 7), targets),
        build("gru", features=2, outputs=2, hidden=5, head="mean").double(),
        Function(
            lambda x, valid: (
                (x[..., 1].amax(dim=1, keepdim=True) @ rows.T + offset - torch.tensor(center, dtype=torch.float64))
                / torch.tensor(scale)
            )
        ),
        {"squared_error": 0.0, "mae": 0.0, "rmse": 0.0, "r2": 1.0},
        zeros(2, per_step=False),
        {"squared_error": spread.sum().item(), "rmse": sqrt(spread.mean().item()), "r2": 0.0},
        (
            worked([[[0.3], [0.7], [0.1], [9.0]]], [1, 1, 1, 0], [[1.5, 2.0]]),
            [[[0.3], [0.7], [0.1], [9.0]]],
            [[1.5, 2.0]],
            [True],
        ),
    )


def forecasting() -> Member:
    """Two ramps: perfect is the last value and 1, the last value alone is wrong by 1, 2, 3."""
    start = torch.randint(0, 9, (COUNT, 1, 2), generator=torch.Generator().manual_seed(5)).double()
    ramp = start + torch.arange(12).double()[:, None]
    scaling = Scaling((10.0, 0.0), (2.0, 1.0), 4, (4.0, 4.0))
    scaled = (ramp - torch.tensor([10.0, 0.0])) / torch.tensor([2.0, 1.0])
    batch = Batch(torch.cat([scaled, draws(COUNT, 12, 2)], dim=2), mask(8, 12))
    names = [f"{mode}_{name}" for mode in ("one_step", "rollout") for name in ("mae", "rmse")]
    step = torch.tensor([0.5, 1.0]).double()
    return Member(
        Forecasting(3, series=2, past=1, known=1, lags=(2, 4), season=4, scaling=scaling),
        batch,
        build("gru", features=8, outputs=2, hidden=5).double(),
        Function(lambda x, valid: x[..., :2] + step),
        dict.fromkeys(names, 0.0),
        Function(lambda x, valid: x[..., :2]),
        {
            "one_step_mae": 1.0,
            "one_step_mase": 0.25,
            "rollout_mae": 2.0,
            "rollout_mase": 0.5,
            "rollout_rmse": sqrt(14 / 3),
        },
        (
            Batch(torch.tensor([[[5.0, 0.0], [7, 1], [6, 2], [8, 3], [9, 4], [7, 5]]])),
            None,
            None,
            None,
        ),
    )


def cue_recall() -> Member:
    task = CueRecall(3)
    batch = Batch(sample_episodes(COUNT, 3, torch.Generator().manual_seed(0)))
    return Member(
        task,
        batch,
        build("gru", vocab=7, outputs=7, hidden=5).double(),
        Function(lambda ids, valid: one_hot(ids, 7)),
        {},
        zeros(7, per_step=True),
        {"cue_loss_nats": log(7), "all_loss_nats": log(7)},
        (batch.select(torch.tensor([0])), batch.inputs[:1, :-1].tolist(), batch.inputs[:1, 1:].tolist(), None),
    )


MEMBERS: dict[str, Callable[[], Member]] = {
    make.__name__: make for make in (classification, tagging, next_token, regression, forecasting, cue_recall)
}
