"""Planted faults of pooling a row with padding to one vector of scores."""

import torch
from torch import nn

from clew.checks.planted.plant import VOCAB, Plant, SmallModel, padded


class Pooled(SmallModel):
    """One row of scores: the mean of the real steps."""

    def pool(self, rows, valid):
        return (rows * valid.unsqueeze(2)).sum(dim=1) / valid.sum(dim=1, keepdim=True).clamp(min=1)


class MeanOverPadding(Pooled):
    def pool(self, rows, valid):
        return rows.mean(dim=1)


class MeanOfPadding(Pooled):
    """The mask is inverted."""

    def mix(self, rows, valid):
        return torch.zeros_like(rows)

    def pool(self, rows, valid):
        return (rows * ~valid.unsqueeze(2)).sum(dim=1) / (~valid).sum(dim=1, keepdim=True).clamp(min=1)


class DividedByColumns(Pooled):
    def pool(self, rows, valid):
        return (rows * valid.unsqueeze(2)).sum(dim=1) / rows.shape[1]


class Largest(Pooled):
    def pool(self, rows, valid):
        return rows.masked_fill(~valid.unsqueeze(2), -2.0).amax(dim=1)


class LargestOfPadding(Pooled):
    def pool(self, rows, valid):
        return rows.amax(dim=1)


class LargestOrZero(Pooled):
    """Padding becomes 0, which is larger than what is negative."""

    def pool(self, rows, valid):
        return (rows.masked_fill(~valid.unsqueeze(2), 0.0) - 3).masked_fill(~valid.unsqueeze(2), 0.0).amax(dim=1)


class LargestNegative(Pooled):
    def pool(self, rows, valid):
        return (rows - 3).masked_fill(~valid.unsqueeze(2), -9.0).amax(dim=1)


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


class OneStepBeyond(Pooled):
    """The step at the number of real steps, counted from 1."""

    def pool(self, rows, valid):
        number = valid.sum(dim=1).clamp(max=rows.shape[1] - 1)
        return rows[torch.arange(len(rows)), number] * valid.any(dim=1, keepdim=True)


class SummedPooled(Pooled):
    """Sums of real steps."""

    def kept(self, rows, valid):
        return rows * valid.unsqueeze(2)

    def pool(self, rows, valid):
        return self.kept(rows, valid).sum(dim=1) / 5


class SummedWithPadding(SummedPooled):
    def kept(self, rows, valid):
        return rows


class RealValues(nn.Module):
    """Real-valued inputs; padding is put to 0 before it is used."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 8)
        self.head = nn.Linear(8, VOCAB)

    def without_padding(self, values, valid):
        return values.where(valid.unsqueeze(2), 0.0)

    def forward(self, values, valid):
        rows = torch.tanh(self.inner(self.without_padding(values, valid))) * valid.unsqueeze(2)
        place = valid.cumsum(dim=1).unsqueeze(2).to(rows.dtype)
        return self.head((rows * place).sum(dim=1) / 10)


class PaddingTimesZero(RealValues):
    """0 times NaN is NaN."""

    def without_padding(self, values, valid):
        return values * valid.unsqueeze(2)


def real_valued(kind):
    """Audit a model on real values, padded on the right."""
    values = torch.randn(3, 7, 3, generator=torch.Generator().manual_seed(2))
    return lambda: {**padded(kind)(), "inputs": values, "vocab": None}


PLANTS = (
    Plant("mean over padding", "padding_content", padded(MeanOverPadding), padded(Pooled), "fastai PR #882"),
    Plant("sum with padding", "padding_content", padded(SummedWithPadding), padded(SummedPooled)),
    Plant("maximum over padding", "padding_content", padded(LargestOfPadding), padded(Largest), "allennlp #4739"),
    Plant("state at the last column", "padding_content", padded(LastColumn), padded(LastStep),
          "pytorch-sentiment-analysis #86"),
    Plant("state one step beyond the last", "padding_content", padded(OneStepBeyond), padded(LastStep)),
    Plant("padding times 0", "padding_content", real_valued(PaddingTimesZero), real_valued(RealValues)),
    Plant("padding mask inverted", "mask_polarity", padded(MeanOfPadding), padded(Pooled), "pytorch #27968"),
    Plant("divided by columns", "padding_amount", padded(DividedByColumns), padded(Pooled),
          "text_classification #40"),
    Plant("maximum with 0 for padding", "padding_amount", padded(LargestOrZero), padded(LargestNegative),
          "allennlp #4739"),
    Plant("last step by length", "padding_side", padded(LastOfLengths), padded(LastStep)),
)  # fmt: skip
