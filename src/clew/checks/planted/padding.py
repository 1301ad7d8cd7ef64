"""Planted faults by which a step reads padding, or its outputs depend on how much there is and where."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, padded


class Packed(SmallModel):
    """Both directions, packed by length."""

    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def mix(self, rows, valid):
        order = (~valid).int().argsort(dim=1, stable=True)
        each = torch.arange(len(rows)).unsqueeze(1)
        lengths = valid.sum(dim=1).clamp(min=1)
        packed = pack_padded_sequence(rows[each, order], lengths, batch_first=True, enforce_sorted=False)
        mixed, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True, total_length=rows.shape[1])
        return torch.zeros_like(mixed).index_put((each, order), mixed)


class Unpacked(Packed):
    def mix(self, rows, valid):
        return self.recurrent(rows)[0]


class Attended(SmallModel):
    """Attention over real steps; a row without any reads nothing."""

    def weights(self, scores, valid):
        shares = scores.masked_fill(~valid.unsqueeze(1), -1e4).softmax(dim=-1)
        return shares * valid.unsqueeze(1)

    def mix(self, rows, valid):
        return self.weights(rows @ rows.mT, valid) @ rows


class MaskDropped(Attended):
    def weights(self, scores, valid):
        return scores.softmax(dim=-1)


class MaskAfterSoftmax(Attended):
    def weights(self, scores, valid):
        return scores.softmax(dim=-1) * valid.unsqueeze(1)


class MaskAdded(Attended):
    """A boolean mask added to scores as numbers."""

    def weights(self, scores, valid):
        return (scores - (~valid.unsqueeze(1)).to(scores.dtype)).softmax(dim=-1)


class MaskOneStepTooLong(Attended):
    """The first step of padding counts as real."""

    def weights(self, scores, valid):
        return super().weights(scores, valid | nn.functional.pad(valid, (1, 0))[:, :-1])


class Convolved(SmallModel):
    """A convolution over real steps on both sides."""

    def extra(self) -> None:
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)

    def kept(self, rows, valid):
        return rows * valid.unsqueeze(2)

    def mix(self, rows, valid):
        return self.convolution(self.kept(rows, valid).mT).mT


class ConvolvedWithPadding(Convolved):
    def kept(self, rows, valid):
        return rows


class NormedOverPadding(SmallModel):
    """Mean and spread of a row's steps, padding counted too."""

    def steps(self, valid):
        return torch.ones_like(valid)

    def mix(self, rows, valid):
        kept = self.steps(valid).unsqueeze(2)
        count = kept.sum(dim=1, keepdim=True).clamp(min=1)
        centre = (rows * kept).sum(dim=1, keepdim=True) / count
        spread = ((rows - centre).square() * kept).sum(dim=1, keepdim=True) / count
        return (rows - centre) / (spread + 1e-5).sqrt()


class NormedOverRealSteps(NormedOverPadding):
    def steps(self, valid):
        return valid


class CountedFromFirstColumn(SmallModel):
    def place(self, ids, valid):
        return torch.arange(ids.shape[1]).expand_as(ids)


class CountedFromLastColumn(SmallModel):
    def place(self, ids, valid):
        return torch.arange(ids.shape[1]).flip(0).expand_as(ids)


class ShareOfColumns(SmallModel):
    """Adds how far along a step is, as a share of all columns."""

    def length(self, valid):
        return torch.full((len(valid), 1), valid.shape[1])

    def mix(self, rows, valid):
        share = valid.cumsum(dim=1) / self.length(valid).clamp(min=1)
        return super().mix(rows, valid) + share.unsqueeze(2).to(rows.dtype)


class ShareOfRealSteps(ShareOfColumns):
    def length(self, valid):
        return valid.sum(dim=1, keepdim=True)


class HeldState(SmallModel):
    """A recurrence; padding leaves the state as it is."""

    def next(self, state, row, is_real):
        return torch.where(is_real, torch.tanh(0.7 * state + row), state)

    def mix(self, rows, valid):
        state, states = torch.zeros_like(rows[:, 0]), []
        for step in range(rows.shape[1]):
            state = self.next(state, rows[:, step], valid[:, step : step + 1])
            states.append(state)
        return torch.stack(states, dim=1)


class StateThroughPadding(HeldState):
    """Padding on the left enters the state; on the right it comes too late to do harm."""

    def next(self, state, row, is_real):
        return torch.tanh(0.7 * state + row)


FULL = {"boundary": "full"}
PLANTS = (
    Plant("backward direction starts in padding", "padding_content", padded(Unpacked, **FULL), padded(Packed, **FULL),
          "pytorch #1811"),
    Plant("padding mask dropped", "padding_content", padded(MaskDropped, **FULL), padded(Attended, **FULL),
          "OpenNMT-py #318"),
    Plant("padding mask after the softmax", "padding_content", padded(MaskAfterSoftmax, **FULL),
          padded(Attended, **FULL)),
    Plant("boolean mask added", "padding_content", padded(MaskAdded, **FULL), padded(Attended, **FULL),
          "mlverse/torch PR #1208"),
    Plant("padding mask one step too long", "padding_content", padded(MaskOneStepTooLong, **FULL),
          padded(Attended, **FULL)),
    Plant("convolution reads padding", "padding_content", padded(ConvolvedWithPadding, **FULL),
          padded(Convolved, **FULL), "mamba #66"),
    Plant("statistics over padding", "padding_content", padded(NormedOverPadding, **FULL),
          padded(NormedOverRealSteps, **FULL), "pytorch #70529"),
    Plant("positions from the last column", "padding_amount", padded(CountedFromLastColumn), padded(SmallModel)),
    Plant("positions as a share of columns", "padding_amount", padded(ShareOfColumns, **FULL),
          padded(ShareOfRealSteps, **FULL)),
    Plant("positions from the first column", "padding_side", padded(CountedFromFirstColumn), padded(SmallModel),
          "transformers #3021"),
    Plant("padding enters the state", "padding_side", padded(StateThroughPadding), padded(HeldState),
          "transformers #31540"),
)  # fmt: skip
