"""Planted faults by which a step reads later ones without attention: convolutions, norms, routing, choices, shifts."""

import torch
from torch import nn

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, plain


class CausalConvolution(SmallModel):
    def extra(self) -> None:
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 3)

    def mix(self, rows, valid):
        return self.convolution(nn.functional.pad(rows.mT, (2, 0))).mT


class CentredConvolution(CausalConvolution):
    def mix(self, rows, valid):
        return self.convolution(nn.functional.pad(rows.mT, (1, 1))).mT


class DilatedBlocks(SmallModel):
    """Three blocks of causal convolutions that reach 1, 2 and 4 steps back."""

    early = (0, 0, 0)

    def extra(self) -> None:
        self.blocks = nn.ModuleList(nn.Conv1d(WIDTH, WIDTH, 3, dilation=2**n) for n in range(3))

    def mix(self, rows, valid):
        for number, (block, early) in enumerate(zip(self.blocks, self.early, strict=True)):
            reach = 2 * 2**number
            rows = rows + torch.tanh(block(nn.functional.pad(rows.mT, (reach - early, early))).mT)
        return rows


class OneBlockOneStepAhead(DilatedBlocks):
    """The second block is padded with one step less on the left and one more on the right."""

    early = (0, 1, 0)


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


class SumFromTheEnd(SmallModel):
    """A running sum that runs the wrong way."""

    def mix(self, rows, valid):
        return rows.flip(1).cumsum(dim=1).flip(1) / 10


class SumFromTheStart(SmallModel):
    def mix(self, rows, valid):
        return rows.cumsum(dim=1) / 10


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


class NormOverTimeAndFeatures(SmallModel):
    """One mean and one spread for all steps of a row."""

    def mix(self, rows, valid):
        mixed = super().mix(rows, valid)
        return nn.functional.layer_norm(mixed, mixed.shape[1:])


class NormOverGroups(SmallModel):
    """Group norm takes features first and counts all later axes in."""

    def extra(self) -> None:
        self.norm = nn.GroupNorm(2, WIDTH)

    def mix(self, rows, valid):
        return self.norm(super().mix(rows, valid).mT).mT


class NormOverGroupsByStep(NormOverGroups):
    def mix(self, rows, valid):
        mixed = SmallModel.mix(self, rows, valid)
        return self.norm(mixed.flatten(0, 1)).unflatten(0, mixed.shape[:2])


class ScaledByLargest(SmallModel):
    """Steps divided by the largest of the whole row, as a scaler over a window does."""

    def largest(self, size):
        return size.amax(dim=1, keepdim=True)

    def mix(self, rows, valid):
        return super().mix(rows, valid) / (self.largest(rows.abs().sum(dim=2, keepdim=True)) + 1)


class ScaledByLargestYet(ScaledByLargest):
    def largest(self, size):
        return size.cummax(dim=1).values


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


class ThreeLargestYet(SmallModel):
    """A step is added where it is among the three largest of what came before."""

    def chosen(self, sizes):
        before = torch.ones(sizes.shape[1], sizes.shape[1]).tril().bool()
        larger = (sizes.unsqueeze(1) > sizes.unsqueeze(2)) & before
        return larger.sum(dim=2) < 3

    def mix(self, rows, valid):
        return super().mix(rows, valid) + rows * self.chosen(rows.sum(dim=2)).unsqueeze(2)


class ThreeLargest(ThreeLargestYet):
    """Chosen among all steps: whether a step is chosen depends on later ones."""

    def chosen(self, sizes):
        return (sizes.unsqueeze(1) > sizes.unsqueeze(2)).sum(dim=2) < 3


class StepBefore(SmallModel):
    """Adds the step before."""

    def moved(self, rows):
        return nn.functional.pad(rows, (0, 0, 1, 0))[:, :-1]

    def mix(self, rows, valid):
        return super().mix(rows, valid) + self.moved(rows)


class StepAfter(StepBefore):
    def moved(self, rows):
        return nn.functional.pad(rows, (0, 0, 0, 1))[:, 1:]


class StepBeforeWrapped(StepBefore):
    """A roll brings the last step to the front."""

    def moved(self, rows):
        return rows.roll(1, dims=1)


class FourierMixing(SmallModel):
    """Mixes all steps by their frequencies."""

    def mix(self, rows, valid):
        return torch.fft.fft(rows, dim=1).real / rows.shape[1] + super().mix(rows, valid)


class PairsPooled(SmallModel):
    """Means of pairs of steps, each given to both of its pair."""

    lag = 0

    def mix(self, rows, valid):
        time = rows.shape[1]
        pairs = nn.functional.avg_pool1d(rows.mT, 2, ceil_mode=True).mT.repeat_interleave(2, dim=1)[:, :time]
        return super().mix(rows, valid) + nn.functional.pad(pairs, (0, 0, self.lag, 0))[:, :time]


class EarlierPairsPooled(PairsPooled):
    """Each step is given a pair that is complete."""

    lag = 2


PLANTS = (
    Plant("convolution padded on both sides", "future", plain(CentredConvolution), plain(CausalConvolution),
          "TCN #8"),
    Plant("one block of three looks one step ahead", "future", plain(OneBlockOneStepAhead, time=64),
          plain(DilatedBlocks, time=64), "bioma-tcn-ae #4"),
    Plant("mean over time", "future", plain(MeanOverTime), plain(SmallModel)),
    Plant("mean over time, small", "future", plain(SmallMeanOverTime), plain(SmallModel)),
    Plant("bidirectional layer", "future", plain(BothDirections), plain(OneDirection)),
    Plant("running sum from the end", "future", plain(SumFromTheEnd), plain(SumFromTheStart)),
    Plant("norm over time", "future", plain(NormOverTime), plain(NormOverFeatures)),
    Plant("norm over time and features", "future", plain(NormOverTimeAndFeatures), plain(NormOverFeatures)),
    Plant("group norm over time", "future", plain(NormOverGroups), plain(NormOverGroupsByStep)),
    Plant("scaled by the largest of all steps", "future", plain(ScaledByLargest), plain(ScaledByLargestYet)),
    Plant("routing by the mean", "future", plain(RoutedByMean), plain(RoutedByStep), "MEO #2"),
    Plant("largest of all steps chosen", "future", plain(ThreeLargest), plain(ThreeLargestYet)),
    Plant("shifted the wrong way", "future", plain(StepAfter), plain(StepBefore)),
    Plant("shift that wraps around", "future", plain(StepBeforeWrapped), plain(StepBefore)),
    Plant("mixed by frequencies", "future", plain(FourierMixing), plain(SmallModel)),
    Plant("pooled in pairs", "future", plain(PairsPooled), plain(EarlierPairsPooled)),
)  # fmt: skip
