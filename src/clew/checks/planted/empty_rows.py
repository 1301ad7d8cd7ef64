"""Planted faults of rows without a real step: NaN, or padding that is read after all."""

import torch

from clew.checks.planted.padding import Attended
from clew.checks.planted.plant import Plant, padded
from clew.checks.planted.pooling import Pooled


class DividedByNothing(Pooled):
    def pool(self, rows, valid):
        return (rows * valid.unsqueeze(2)).sum(dim=1) / valid.sum(dim=1, keepdim=True)


class EmptySoftmax(Attended):
    def weights(self, scores, valid):
        return scores.masked_fill(~valid.unsqueeze(1), -torch.inf).softmax(dim=-1)


class CleanedSoftmax(Attended):
    """NaN is replaced by 0 afterwards; going back it comes again."""

    def weights(self, scores, valid):
        mask = torch.zeros_like(scores).masked_fill(~valid.unsqueeze(1), -torch.inf)
        return (scores + mask).softmax(dim=-1).nan_to_num(0.0)


class EverythingForNothing(Pooled):
    """A row without a real step counts as all real, so that nothing is divided by 0."""

    def pool(self, rows, valid):
        return super().pool(rows, valid | ~valid.any(dim=1, keepdim=True))


class AtLeastOneStep(Pooled):
    """Lengths of at least 1, as packing asks for: an empty row's first padding is read."""

    def pool(self, rows, valid):
        first = torch.arange(rows.shape[1]) < 1
        return super().pool(rows, valid | (first & ~valid.any(dim=1, keepdim=True)))


class PooledByWeights(Pooled):
    """Real steps weighted by their scores; a row without any gives 0."""

    def weights(self, scores, valid):
        return scores.masked_fill(~valid, -1e9).softmax(dim=1) * valid

    def pool(self, rows, valid):
        return (self.weights(rows.sum(dim=2), valid).unsqueeze(2) * rows).sum(dim=1)


class MeanOfHidden(PooledByWeights):
    """A finite mask hides nothing where it hides everything: all weights are equal."""

    def weights(self, scores, valid):
        return scores.masked_fill(~valid, -1e9).softmax(dim=1)


FULL = {"boundary": "full"}
PLANTS = (
    Plant("softmax over nothing", "empty_row", padded(EmptySoftmax, **FULL), padded(Attended, **FULL),
          "pytorch #103963"),
    Plant("softmax over nothing, cleaned", "empty_row", padded(CleanedSoftmax, **FULL), padded(Attended, **FULL),
          "pytorch #41508"),
    Plant("finite mask over everything", "empty_row", padded(MeanOfHidden), padded(PooledByWeights)),
    Plant("division by no steps", "empty_row", padded(DividedByNothing), padded(Pooled)),
    Plant("everything for nothing", "empty_row", padded(EverythingForNothing), padded(Pooled)),
    Plant("length of at least 1", "empty_row", padded(AtLeastOneStep), padded(Pooled), "pytorch #11514"),
)  # fmt: skip
