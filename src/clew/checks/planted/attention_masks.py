"""Planted faults of causal attention masks: missing, misplaced, lost on some path, or too weak to hide anything."""

import torch
from torch import nn

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, padded, plain


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
    """True was meant to hide, and is taken for visible."""

    def visible(self, layer, time):
        return torch.ones(time, time, dtype=torch.bool).triu()


class MaskShiftedByOne(Attending):
    def visible(self, layer, time):
        return torch.ones(time, time, dtype=torch.bool).tril(1)


class MaskInEvaluationOnly(Attending):
    def visible(self, layer, time):
        return super().visible(layer, time) | self.training


class MaskForSeveralRowsOnly(Attending):
    """The mask is left out for a single row, as a shortcut for generation may do."""

    def mix(self, rows, valid):
        self.has_one_row = len(rows) == 1
        return super().mix(rows, valid)

    def visible(self, layer, time):
        return super().visible(layer, time) | self.has_one_row


class MaskWithoutGradientsOnly(Attending):
    """Another kernel is taken where gradients are recorded, and it is given no mask."""

    def visible(self, layer, time):
        return super().visible(layer, time) | torch.is_grad_enabled()


class MaskForShortInputsOnly(Attending):
    """A mask that was built for 8 steps; what lies beyond is visible."""

    limit = 8

    def visible(self, layer, time):
        hidden = torch.zeros(time, time, dtype=torch.bool)
        hidden[: self.limit, : self.limit] = ~super().visible(layer, time)[: self.limit, : self.limit]
        return ~hidden


class MaskForAllInputs(MaskForShortInputsOnly):
    limit = 64


class BothMasks(SmallModel):
    """Causal attention that knows padding."""

    def hidden(self, future, padding):
        return future | padding

    def mix(self, rows, valid):
        time = rows.shape[1]
        future = torch.ones(time, time, dtype=torch.bool).triu(1)
        hidden = self.hidden(future, ~valid.unsqueeze(1))
        return (rows @ rows.mT).masked_fill(hidden, -1e4).softmax(dim=-1) @ rows


class PaddingMaskAlone(BothMasks):
    """A padding mask takes the place of the causal one."""

    def hidden(self, future, padding):
        return padding.expand(-1, len(future), -1)


class NoMaskWithoutPadding(BothMasks):
    """Without padding there is no mask at all: somebody else was thought to see to the future."""

    def hidden(self, future, padding):
        return future | padding if padding.any() else torch.zeros_like(future)


class WeightsOfPast(SmallModel):
    """Attention by hand, a mask on the scores."""

    def weights(self, scores, future):
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1)

    def mix(self, rows, valid):
        future = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool).triu(1)
        return self.weights(rows @ rows.mT / WIDTH**0.5, future) @ rows


class MaskAfterSoftmax(WeightsOfPast):
    """What is hidden still counts in the sum that weights are divided by."""

    def weights(self, scores, future):
        return scores.softmax(dim=-1).masked_fill(future, 0.0)


class WeakMask(WeightsOfPast):
    """A mask of -8 leaves a three-thousandth."""

    def weights(self, scores, future):
        return (scores - 8.0 * future).softmax(dim=-1)


class SoftmaxOverQueries(WeightsOfPast):
    """Weights are made to sum to 1 over the steps that read, later ones too."""

    def weights(self, scores, future):
        return scores.softmax(dim=-2).masked_fill(future, 0.0)


class DistanceInPlaceOfMask(WeightsOfPast):
    """Far steps count less, before and after, and no step is hidden."""

    def weights(self, scores, future):
        steps = torch.arange(len(future))
        return (scores - (steps - steps.unsqueeze(1)).abs()).softmax(dim=-1)


class DistanceAndMask(WeightsOfPast):
    def weights(self, scores, future):
        steps = torch.arange(len(future))
        return super().weights(scores - (steps - steps.unsqueeze(1)).abs(), future)


class HeadsOfPast(SmallModel):
    """One of two heads is given the mask."""

    masked = (True, True)

    def mix(self, rows, valid):
        future = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool).triu(1)
        heads = [half @ half.mT for half in rows.chunk(2, dim=2)]
        hidden = [head.masked_fill(future & used, -torch.inf) for head, used in zip(heads, self.masked, strict=True)]
        shares = [head.softmax(dim=-1) for head in hidden]
        return torch.cat([share @ half for share, half in zip(shares, rows.chunk(2, dim=2), strict=True)], dim=2)


class MaskForFirstHeadOnly(HeadsOfPast):
    masked = (True, False)


class WeightsAskedOfPast(SmallModel):
    """Can be asked for weights, as published models can; the mask is kept."""

    keeps = True

    def mix(self, rows, valid):
        future = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool).triu(1) & (self.keeps or not self.asked)
        return (rows @ rows.mT).masked_fill(future, -torch.inf).softmax(dim=-1) @ rows

    def forward(self, ids, valid=None, output_attentions=False):
        self.asked = output_attentions
        return super().forward(ids, valid)


class MaskLostForWeights(WeightsAskedOfPast):
    """The path that gives weights forgets the mask."""

    keeps = False


PLANTS = (
    Plant("no causal mask", "future", plain(WithoutMask), plain(Attending), "transformers #48745"),
    Plant("causal mask in the last layer only", "future", plain(MaskInLastLayerOnly), plain(Attending),
          "transformers #48748"),
    Plant("causal mask inverted", "future", plain(InvertedCausalMask), plain(Attending), "LLMs-from-scratch #1061"),
    Plant("causal mask shifted by one", "future", plain(MaskShiftedByOne), plain(Attending)),
    Plant("causal mask missing in training", "future", plain(MaskInEvaluationOnly), plain(Attending), "entrenar #310"),
    Plant("causal mask missing for one row", "future", plain(MaskForSeveralRowsOnly), plain(Attending),
          "torchtune #959"),
    Plant("causal mask lost with gradients", "future", plain(MaskWithoutGradientsOnly), plain(Attending),
          "pytorch #96941"),
    Plant("causal mask lost where weights are asked for", "future", plain(MaskLostForWeights),
          plain(WeightsAskedOfPast), "keras #23038"),
    Plant("causal mask too short", "future", plain(MaskForShortInputsOnly, time=12), plain(MaskForAllInputs, time=12)),
    Plant("causal mask for one head of two", "future", plain(MaskForFirstHeadOnly), plain(HeadsOfPast)),
    Plant("padding mask in place of the causal one", "future", padded(PaddingMaskAlone), padded(BothMasks),
          "OpenNMT-py PR #2525"),
    Plant("no mask without padding", "future", plain(NoMaskWithoutPadding), plain(BothMasks), "transformers #48748"),
    Plant("causal mask after the softmax", "future", plain(MaskAfterSoftmax), plain(WeightsOfPast)),
    Plant("causal mask of -8", "future", plain(WeakMask), plain(WeightsOfPast)),
    Plant("softmax over the wrong axis", "future", plain(SoftmaxOverQueries), plain(WeightsOfPast),
          "PyTorch-NLP #2"),
    Plant("distance in place of a mask", "future", plain(DistanceInPlaceOfMask), plain(DistanceAndMask)),
)  # fmt: skip
