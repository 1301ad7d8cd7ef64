"""Planted faults by which a step reads what it must not, and models that cannot tell order."""

import torch
from torch import nn

from clew.checks.planted.plant import TIME, WIDTH, Plant, SmallModel, plain


class Attending(SmallModel):
    """Two attention layers; each reads what `visible` says."""

    def extra(self) -> None:
        self.layers = nn.ModuleList(nn.MultiheadAttention(WIDTH, 2, batch_first=True) for _ in range(2))

    def visible(self, layer, time):
        return torch.ones(time, time, dtype=torch.bool).tril()

    def mix(self, rows, valid):
        for number, layer in enumerate(self.layers):
            mask = ~self.visible(number, rows.shape[1])
            rows = rows + layer(rows, rows, rows, attn_mask=mask, need_weights=False)[0]
        return rows


class WithoutMask(Attending):
    def visible(self, layer, time):
        return torch.ones(time, time, dtype=torch.bool)


class MaskInLastLayerOnly(Attending):
    def visible(self, layer, time):
        return super().visible(layer, time) | (layer == 0)


class InvertedCausalMask(Attending):
    def visible(self, layer, time):
        return torch.ones(time, time, dtype=torch.bool).triu()


class MaskShiftedByOne(Attending):
    def visible(self, layer, time):
        return torch.ones(time, time, dtype=torch.bool).tril(1)


class MaskInEvaluationOnly(Attending):
    def visible(self, layer, time):
        return super().visible(layer, time) | self.training


class MaskForShortRowsOnly(Attending):
    """The mask is left out for a single row, as a shortcut for generation may do."""

    def mix(self, rows, valid):
        self.has_one_row = len(rows) == 1
        return super().mix(rows, valid)

    def visible(self, layer, time):
        return super().visible(layer, time) | self.has_one_row


class CausalConvolution(SmallModel):
    def extra(self) -> None:
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 3)

    def mix(self, rows, valid):
        return self.convolution(nn.functional.pad(rows.mT, (2, 0))).mT


class CentredConvolution(CausalConvolution):
    def mix(self, rows, valid):
        return self.convolution(nn.functional.pad(rows.mT, (1, 1))).mT


class MeanOverTime(SmallModel):
    def mix(self, rows, valid):
        return rows.mean(dim=1, keepdim=True) + super().mix(rows, valid)


class SmallMeanOverTime(SmallModel):
    """A leak of 1e-4 of the size of what is read."""

    def mix(self, rows, valid):
        return 1e-4 * rows.mean(dim=1, keepdim=True) + super().mix(rows, valid)


class OneDirection(SmallModel):
    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def mix(self, rows, valid):
        return self.recurrent(rows)[0]


class BothDirections(SmallModel):
    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def mix(self, rows, valid):
        return self.recurrent(rows)[0]


class NormOverFeatures(SmallModel):
    def extra(self) -> None:
        self.norm = nn.LayerNorm(WIDTH)

    def mix(self, rows, valid):
        return self.norm(super().mix(rows, valid))


class NormOverTime(SmallModel):
    def extra(self) -> None:
        self.norm = nn.InstanceNorm1d(WIDTH, affine=True)

    def mix(self, rows, valid):
        return self.norm(super().mix(rows, valid).mT).mT


class RoutedByStep(SmallModel):
    def extra(self) -> None:
        self.router = nn.Linear(WIDTH, 2)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def summary(self, rows):
        return rows

    def mix(self, rows, valid):
        shares = self.router(self.summary(rows)).softmax(dim=-1)
        return sum(shares[..., n : n + 1] * one(rows) for n, one in enumerate(self.experts)) + super().mix(rows, valid)


class RoutedByMean(RoutedByStep):
    def summary(self, rows):
        return rows.mean(dim=1, keepdim=True)


class Windowed(Attending):
    """Reads itself and two steps back in one layer, nothing in the other."""

    reach = 2

    def visible(self, layer, time):
        distance = torch.arange(time).unsqueeze(1) - torch.arange(time)
        return (distance >= 0) & (distance <= (self.reach if layer == 0 else 0))


class WindowTooWide(Windowed):
    reach = 3


class WindowTooNarrow(Windowed):
    reach = 1


class TwoDocuments(Attending):
    def visible(self, layer, time):
        document = torch.arange(time) >= 3
        return super().visible(layer, time) & (document.unsqueeze(1) == document)


class DocumentsForgotten(Attending):
    pass


class Positioned(SmallModel):
    """Mean of what came before, after positions were added."""


class PositionsHidden(SmallModel):
    """Positions multiplied by a mask that is True at padding, hence by 0."""

    def place(self, ids, valid):
        return torch.zeros_like(ids)


STEPS = torch.arange(TIME)
BACK = STEPS.unsqueeze(1) - STEPS
WINDOW = (BACK >= 0) & (BACK <= 2)
DOCUMENTS = (BACK >= 0) & ((STEPS >= 3).unsqueeze(1) == (STEPS >= 3))
PLANTS = (
    Plant("no causal mask", "future", plain(WithoutMask), plain(Attending)),
    Plant("causal mask in the last layer only", "future", plain(MaskInLastLayerOnly), plain(Attending)),
    Plant("causal mask inverted", "future", plain(InvertedCausalMask), plain(Attending)),
    Plant("causal mask shifted by one", "future", plain(MaskShiftedByOne), plain(Attending)),
    Plant("causal mask missing in training", "future", plain(MaskInEvaluationOnly), plain(Attending)),
    Plant("causal mask missing for one row", "future", plain(MaskForShortRowsOnly), plain(Attending)),
    Plant("convolution padded on both sides", "future", plain(CentredConvolution), plain(CausalConvolution)),
    Plant("mean over time", "future", plain(MeanOverTime), plain(SmallModel)),
    Plant("mean over time, small", "future", plain(SmallMeanOverTime), plain(SmallModel)),
    Plant("bidirectional layer", "future", plain(BothDirections), plain(OneDirection)),
    Plant("norm over time", "future", plain(NormOverTime), plain(NormOverFeatures)),
    Plant("routing by the mean", "future", plain(RoutedByMean), plain(RoutedByStep)),
    Plant("window too wide", "boundary", plain(WindowTooWide, boundary=WINDOW), plain(Windowed, boundary=WINDOW)),
    Plant("documents forgotten", "boundary", plain(DocumentsForgotten, boundary=DOCUMENTS),
          plain(TwoDocuments, boundary=DOCUMENTS)),
    Plant("window too narrow", "position", plain(WindowTooNarrow, boundary=WINDOW), plain(Windowed, boundary=WINDOW)),
    Plant("positions hidden", "position", plain(PositionsHidden), plain(Positioned)),
)  # fmt: skip
