"""Planted faults between the rows of a batch."""

import torch
from torch import Tensor, nn

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, padded, plain


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


class BatchNormInTraining(SmallModel):
    """Statistics of the batch in evaluation too."""

    is_training = True
    mean: Tensor
    spread: Tensor

    def extra(self) -> None:
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.register_buffer("spread", torch.ones(WIDTH))

    def mix(self, rows, valid):
        mixed = super().mix(rows, valid)
        steps = [
            nn.functional.batch_norm(step, self.mean.clone(), self.spread.clone(), training=self.is_training)
            for step in mixed.unbind(dim=1)
        ]
        return torch.stack(steps, dim=1)


class BatchNormInEvaluation(BatchNormInTraining):
    is_training = False


class StatePerRow(SmallModel):
    """A recurrence with a state for each row."""

    def shared(self, state):
        return state

    def mix(self, rows, valid):
        state, states = torch.zeros_like(rows[:, 0]), []
        for step in range(rows.shape[1]):
            state = self.shared(torch.tanh(0.7 * state + rows[:, step]))
            states.append(state)
        return torch.stack(states, dim=1)


class StateOfAllRows(StatePerRow):
    """The state is averaged over the batch."""

    def shared(self, state):
        return state.mean(dim=0, keepdim=True).expand_as(state)


class ExpertForAll(SmallModel):
    """An expert that takes every step that asks for it."""

    capacity = 10_000

    def mix(self, rows, valid):
        asks = rows[..., 0] > 0
        is_taken = asks & (asks.flatten().cumsum(dim=0).reshape(asks.shape) <= self.capacity)
        return super().mix(rows, valid) + is_taken.unsqueeze(2) * rows.flip(2)


class ExpertForFirstComers(ExpertForAll):
    """An expert with room for seven steps of the whole batch."""

    capacity = 7


class LargestOfBatch(SmallModel):
    """Divides by the largest number of the batch, as a quantizer without a mask does."""

    def largest(self, rows):
        return rows.abs().amax(dim=(0, 2), keepdim=True)

    def mix(self, rows, valid):
        return super().mix(rows / (self.largest(rows) + 1), valid)


class LargestOfStep(LargestOfBatch):
    def largest(self, rows):
        return rows.abs().amax(dim=2, keepdim=True)


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


class SortedByLength(SmallModel):
    """Rows sorted by length for packing, and put back."""

    def restored(self, scores, order):
        return scores[order.argsort()]

    def forward(self, ids, valid=None):
        valid = torch.ones_like(ids, dtype=torch.bool) if valid is None else valid
        order = valid.sum(dim=1).argsort(descending=True, stable=True)
        return self.restored(super().forward(ids[order], valid[order]), order)


class SortedTwice(SortedByLength):
    """Put back by the order itself in place of its inverse."""

    def restored(self, scores, order):
        return scores[order]


PLANTS = (
    Plant("mean over the batch", "batch_mates", plain(MeanOfBatch), plain(MeanOfRow)),
    Plant("batch statistics in evaluation", "batch_mates", plain(BatchNormInTraining), plain(BatchNormInEvaluation)),
    Plant("time first", "batch_mates", plain(TimeFirst), plain(BatchFirst)),
    Plant("rows joined", "batch_mates", plain(JoinedRows), plain(SeparateRows), "mamba #783"),
    Plant("state averaged over the batch", "batch_mates", plain(StateOfAllRows), plain(StatePerRow),
          "fastbook PR #469"),
    Plant("expert with room for seven", "batch_mates", plain(ExpertForFirstComers), plain(ExpertForAll)),
    Plant("scaled by the largest of the batch", "batch_mates", plain(LargestOfBatch), plain(LargestOfStep)),
    Plant("bias by place", "batch_order", plain(BiasByPlace), plain(SmallModel)),
    Plant("sorted and not put back", "batch_order", plain(SortedAndLeft), plain(SortedAndRestored)),
    Plant("sorted by length and put back wrongly", "batch_order", padded(SortedTwice), padded(SortedByLength),
          "OpenNMT-py #1547"),
)  # fmt: skip
