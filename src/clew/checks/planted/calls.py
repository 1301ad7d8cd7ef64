"""Planted faults between rows, calls and modes."""

import torch
from torch import nn
from torch.nn.functional import dropout

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, plain


class MeanOfBatch(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows - rows.mean(dim=0, keepdim=True), valid)


class MeanOfRow(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows - rows.mean(dim=2, keepdim=True), valid)


class BatchFirst(SmallModel):
    is_batch_first = True

    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=self.is_batch_first)

    def mix(self, rows, valid):
        return self.recurrent(rows)[0]


class TimeFirst(BatchFirst):
    """A layer that takes time first is given rows first: it runs along the batch."""

    is_batch_first = False

    def mix(self, rows, valid):
        return self.recurrent(rows)[0] + SmallModel.mix(self, rows, valid)


class JoinedRows(SmallModel):
    """Rows are joined before the running sum, and cut again."""

    def mix(self, rows, valid):
        return rows.flatten(0, 1).cumsum(dim=0).unflatten(0, rows.shape[:2]) / 10


class SeparateRows(SmallModel):
    def mix(self, rows, valid):
        return rows.cumsum(dim=1) / 10


class BiasByPlace(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows, valid) + torch.arange(len(rows)).reshape(-1, 1, 1)


class SortedAndRestored(SmallModel):
    def forward(self, ids, valid=None):
        order = ids[:, 0].argsort(stable=True)
        return super().forward(ids[order])[order.argsort()]


class SortedAndLeft(SmallModel):
    def forward(self, ids, valid=None):
        return super().forward(ids[ids[:, 0].argsort(stable=True)])


class FreshState(SmallModel):
    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.state = None

    def start(self, rows):
        return None

    def mix(self, rows, valid):
        mixed, state = self.recurrent(rows, self.start(rows))
        self.state = state.detach()
        return mixed


class KeptState(FreshState):
    def start(self, rows):
        return self.state if self.state is not None and self.state.shape[1] == len(rows) else None


class KeptStateInTraining(KeptState):
    def start(self, rows):
        return super().start(rows) if self.training else None


class GrowingMemory(SmallModel):
    """Keeps what it has seen in a list and reads it."""

    def extra(self) -> None:
        self.memory: list[torch.Tensor] = []

    def mix(self, rows, valid):
        self.memory.append(rows.detach().mean())
        return super().mix(rows, valid) + self.memory[0] - self.memory[-1]


class RunningMean(SmallModel):
    """Updates a running mean in evaluation too."""

    def extra(self) -> None:
        self.register_buffer("mean", torch.zeros(()))

    def mix(self, rows, valid):
        out = super().mix(rows, valid) - self.mean
        self.mean = 0.9 * self.mean + 0.1 * rows.detach().mean()
        return out


class DropoutInEvaluation(SmallModel):
    def mix(self, rows, valid):
        return dropout(super().mix(rows, valid), 0.3)


class DropoutInTraining(SmallModel):
    def mix(self, rows, valid):
        return dropout(super().mix(rows, valid), 0.3, training=self.training)


class NoisyRows(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows, valid) + 0.01 * torch.randn(rows.shape[-1], dtype=rows.dtype)


class ScaledInTraining(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows, valid) * (1.2 if self.training else 1.0)


class OtherWithGradients(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows, valid) * (1.0 if torch.is_grad_enabled() else 0.9)


class WeightsAsked(SmallModel):
    """Can be asked for weights, as published models can."""

    share = 1.0

    def mix(self, rows, valid):
        return super().mix(rows, valid) * (self.share if self.asked else 1.0)

    def forward(self, ids, valid=None, output_attentions=False):
        self.asked = output_attentions
        return super().forward(ids, valid)


class OtherPathForWeights(WeightsAsked):
    share = 0.5


class WritesIntoInput(SmallModel):
    def forward(self, ids, valid=None):
        ids[:, 0] = 0
        return super().forward(ids)


class CopiesInput(SmallModel):
    def forward(self, ids, valid=None):
        ids = ids.clone()
        ids[:, 0] = ids[:, 0] % 4
        return super().forward(ids)


class UnusedLayer(SmallModel):
    def extra(self) -> None:
        self.forgotten = nn.Linear(WIDTH, WIDTH)


class DetachedLayer(SmallModel):
    def extra(self) -> None:
        self.below = nn.Linear(WIDTH, WIDTH)

    def reached(self, rows):
        return rows.detach()

    def mix(self, rows, valid):
        return super().mix(self.reached(self.below(rows)), valid)


class AttachedLayer(DetachedLayer):
    def reached(self, rows):
        return rows


class RootOfZero(SmallModel):
    """The root of a square has no slope at 0."""

    smallest = 0.0

    def mix(self, rows, valid):
        gap = rows - rows[:, :1]
        return super().mix(rows, valid) + (gap.square().sum(dim=2, keepdim=True) + self.smallest).sqrt()


class RootAboveZero(RootOfZero):
    smallest = 1e-3


PLANTS = (
    Plant("mean over the batch", "batch_mates", plain(MeanOfBatch), plain(MeanOfRow)),
    Plant("time first", "batch_mates", plain(TimeFirst), plain(BatchFirst)),
    Plant("rows joined", "batch_mates", plain(JoinedRows), plain(SeparateRows)),
    Plant("bias by place", "batch_order", plain(BiasByPlace), plain(SmallModel)),
    Plant("sorted and not put back", "batch_order", plain(SortedAndLeft), plain(SortedAndRestored)),
    Plant("state kept", "state_carry", plain(KeptState), plain(FreshState)),
    Plant("state kept in training", "state_carry", plain(KeptStateInTraining), plain(FreshState)),
    Plant("memory that grows", "state_carry", plain(GrowingMemory), plain(SmallModel)),
    Plant("running mean in evaluation", "state_carry", plain(RunningMean), plain(SmallModel)),
    Plant("dropout in evaluation", "determinism", plain(DropoutInEvaluation), plain(DropoutInTraining)),
    Plant("noise in evaluation", "determinism", plain(NoisyRows), plain(SmallModel)),
    Plant("scaled in training", "modes", plain(ScaledInTraining), plain(SmallModel)),
    Plant("another path with gradients", "modes", plain(OtherWithGradients), plain(SmallModel)),
    Plant("another path for weights", "modes", plain(OtherPathForWeights), plain(WeightsAsked)),
    Plant("writes into its input", "input_changed", plain(WritesIntoInput), plain(CopiesInput)),
    Plant("layer that is not used", "gradients", plain(UnusedLayer), plain(SmallModel)),
    Plant("layer that is detached", "gradients", plain(DetachedLayer), plain(AttachedLayer)),
    Plant("root of zero", "gradients", plain(RootOfZero), plain(RootAboveZero)),
)
