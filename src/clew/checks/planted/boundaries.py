"""Planted faults against a boundary that was declared, and models that cannot tell the order of steps."""

import torch

from clew.checks.planted.attention_masks import Attending
from clew.checks.planted.plant import TIME, Plant, SmallModel, plain


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
    """Documents that were packed into one row read each other."""


class SecondLayerForgetsDocuments(TwoDocuments):
    def visible(self, layer, time):
        return super().visible(layer, time) if layer == 0 else Attending.visible(self, layer, time)


class StrictlyBefore(SmallModel):
    """The mean of what came before, the step itself left out, on a row without the step itself."""

    least = 1

    def forward(self, ids, valid=None):
        rows = torch.tanh(self.inner(self.tokens(ids) + self.positions[: ids.shape[1]]))
        steps = torch.arange(ids.shape[1])
        before = (steps.unsqueeze(1) - steps >= self.least).to(rows.dtype)
        return self.head(before @ rows / before.sum(dim=1, keepdim=True).clamp(min=1))


class ItselfToo(StrictlyBefore):
    """Reads the step that it is to predict."""

    least = 0


class PrefixBothWays(Attending):
    """The first three steps read each other both ways."""

    def visible(self, layer, time):
        prefix = torch.arange(time) < 3
        return super().visible(layer, time) | (prefix.unsqueeze(1) & prefix)


class PrefixOneWay(Attending):
    """A prefix that may be read both ways is read one way."""


class PrefixTooLong(Attending):
    def visible(self, layer, time):
        prefix = torch.arange(time) < 4
        return super().visible(layer, time) | (prefix.unsqueeze(1) & prefix)


class PositionsHidden(SmallModel):
    """Positions multiplied by a mask that is True at padding, hence by 0."""

    def place(self, ids, valid):
        return torch.zeros_like(ids)


class PositionsShared(SmallModel):
    """A whole-number division gives every four steps one position."""

    def place(self, ids, valid):
        return super().place(ids, valid) // 4


STEPS = torch.arange(TIME)
BACK = STEPS.unsqueeze(1) - STEPS
WINDOW = (BACK >= 0) & (BACK <= 2)
DOCUMENTS = (BACK >= 0) & ((STEPS >= 3).unsqueeze(1) == (STEPS >= 3))
PREFIX = (BACK >= 0) | ((STEPS < 3).unsqueeze(1) & (STEPS < 3))
PLANTS = (
    Plant("window too wide", "boundary", plain(WindowTooWide, boundary=WINDOW), plain(Windowed, boundary=WINDOW)),
    Plant("documents forgotten", "boundary", plain(DocumentsForgotten, boundary=DOCUMENTS),
          plain(TwoDocuments, boundary=DOCUMENTS)),
    Plant("documents forgotten in one layer", "boundary", plain(SecondLayerForgetsDocuments, boundary=DOCUMENTS),
          plain(TwoDocuments, boundary=DOCUMENTS)),
    Plant("reads the step it predicts", "boundary", plain(ItselfToo, boundary=BACK > 0),
          plain(StrictlyBefore, boundary=BACK > 0)),
    Plant("prefix too long", "future", plain(PrefixTooLong, boundary=PREFIX), plain(PrefixBothWays, boundary=PREFIX)),
    Plant("prefix read one way", "position", plain(PrefixOneWay, boundary=PREFIX),
          plain(PrefixBothWays, boundary=PREFIX)),
    Plant("window too narrow", "position", plain(WindowTooNarrow, boundary=WINDOW), plain(Windowed, boundary=WINDOW)),
    Plant("positions hidden", "position", plain(PositionsHidden), plain(SmallModel), "speechbrain #2276"),
    Plant("positions shared", "position", plain(PositionsShared), plain(SmallModel)),
)  # fmt: skip
