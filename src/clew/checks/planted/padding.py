"""Planted faults by which padding is read, or a row with nothing to read gives NaN."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, padded


class Pooled(SmallModel):
    """One row of scores: the mean of the real steps."""

    def pool(self, rows, valid):
        return (rows * valid.unsqueeze(2)).sum(dim=1) / valid.sum(dim=1, keepdim=True).clamp(min=1)


class MeanOverPadding(Pooled):
    def pool(self, rows, valid):
        return rows.mean(dim=1)


class DividedByColumns(Pooled):
    def pool(self, rows, valid):
        return (rows * valid.unsqueeze(2)).sum(dim=1) / rows.shape[1]


class DividedByNothing(Pooled):
    def pool(self, rows, valid):
        return (rows * valid.unsqueeze(2)).sum(dim=1) / valid.sum(dim=1, keepdim=True)


class MeanOfPadding(Pooled):
    """The mask is inverted."""

    def mix(self, rows, valid):
        return torch.zeros_like(rows)

    def pool(self, rows, valid):
        return (rows * ~valid.unsqueeze(2)).sum(dim=1) / (~valid).sum(dim=1, keepdim=True).clamp(min=1)


class Largest(Pooled):
    def pool(self, rows, valid):
        return rows.masked_fill(~valid.unsqueeze(2), -2.0).amax(dim=1)


class LargestOfPadding(Pooled):
    def pool(self, rows, valid):
        return rows.amax(dim=1)


class LastStep(Pooled):
    def pool(self, rows, valid):
        number = torch.arange(rows.shape[1]).where(valid, -1).amax(dim=1).clamp(min=0)
        return rows[torch.arange(len(rows)), number] * valid.any(dim=1, keepdim=True)


class LastColumn(Pooled):
    def pool(self, rows, valid):
        return rows[:, -1]


class LastOfLengths(Pooled):
    """The step at the number of real steps: right only for padding on the right."""

    def pool(self, rows, valid):
        number = (valid.sum(dim=1) - 1).clamp(min=0)
        return rows[torch.arange(len(rows)), number] * valid.any(dim=1, keepdim=True)


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


class EmptySoftmax(Attended):
    def weights(self, scores, valid):
        return scores.masked_fill(~valid.unsqueeze(1), -torch.inf).softmax(dim=-1)


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


FULL = {"boundary": "full"}
PLANTS = (
    Plant("mean over padding", "padding_content", padded(MeanOverPadding), padded(Pooled)),
    Plant("maximum over padding", "padding_content", padded(LargestOfPadding), padded(Largest)),
    Plant("state at the last column", "padding_content", padded(LastColumn), padded(LastStep)),
    Plant("backward direction starts in padding", "padding_content", padded(Unpacked, **FULL), padded(Packed, **FULL)),
    Plant("padding mask dropped", "padding_content", padded(MaskDropped, **FULL), padded(Attended, **FULL)),
    Plant("padding mask after the softmax", "padding_content", padded(MaskAfterSoftmax, **FULL),
          padded(Attended, **FULL)),
    Plant("boolean mask added", "padding_content", padded(MaskAdded, **FULL), padded(Attended, **FULL)),
    Plant("statistics over padding", "padding_content", padded(NormedOverPadding, **FULL),
          padded(NormedOverRealSteps, **FULL)),
    Plant("padding mask inverted", "mask_polarity", padded(MeanOfPadding), padded(Pooled)),
    Plant("divided by columns", "padding_amount", padded(DividedByColumns), padded(Pooled)),
    Plant("positions from the last column", "padding_amount", padded(CountedFromLastColumn), padded(SmallModel)),
    Plant("positions from the first column", "padding_side", padded(CountedFromFirstColumn), padded(SmallModel)),
    Plant("last step by length", "padding_side", padded(LastOfLengths), padded(LastStep)),
    Plant("softmax over nothing", "empty_row", padded(EmptySoftmax, **FULL), padded(Attended, **FULL)),
    Plant("division by no steps", "empty_row", padded(DividedByNothing), padded(Pooled)),
)  # fmt: skip
