"""Planted faults between modes, and of gradients."""

import torch
from torch import nn

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, plain


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


class ClampedInEvaluation(SmallModel):
    """Scores are cut off in evaluation only."""

    def pool(self, rows, valid):
        return rows if self.training else rows.clamp(min=-0.5, max=0.5)


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


class FrozenByAccident(DetachedLayer):
    """A block that is run without recording gradients."""

    def reached(self, rows):
        with torch.no_grad():
            return rows * 1.0


class RootOfZero(SmallModel):
    """The root of a square has no slope at 0."""

    smallest = 0.0

    def mix(self, rows, valid):
        gap = rows - rows[:, :1]
        return super().mix(rows, valid) + (gap.square().sum(dim=2, keepdim=True) + self.smallest).sqrt()


class RootAboveZero(RootOfZero):
    smallest = 1e-3


class RoundedGate(SmallModel):
    """A gate that is rounded has no slope; its layer never learns."""

    def extra(self) -> None:
        self.gate = nn.Linear(WIDTH, WIDTH)

    def opened(self, gate):
        return gate.round()

    def mix(self, rows, valid):
        return super().mix(rows, valid) * self.opened(torch.sigmoid(self.gate(rows)))


class SmoothGate(RoundedGate):
    def opened(self, gate):
        return gate


PLANTS = (
    Plant("scaled in training", "modes", plain(ScaledInTraining), plain(SmallModel)),
    Plant("cut off in evaluation", "modes", plain(ClampedInEvaluation), plain(SmallModel)),
    Plant("another path with gradients", "modes", plain(OtherWithGradients), plain(SmallModel), "pytorch #106630"),
    Plant("another path for weights", "modes", plain(OtherPathForWeights), plain(WeightsAsked), "pytorch #160064"),
    Plant("layer that is not used", "gradients", plain(UnusedLayer), plain(SmallModel)),
    Plant("layer that is detached", "gradients", plain(DetachedLayer), plain(AttachedLayer)),
    Plant("block without gradients", "gradients", plain(FrozenByAccident), plain(AttachedLayer)),
    Plant("rounded gate", "gradients", plain(RoundedGate), plain(SmoothGate)),
    Plant("root of zero", "gradients", plain(RootOfZero), plain(RootAboveZero)),
)  # fmt: skip
