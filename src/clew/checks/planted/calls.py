"""Planted faults between calls, and of what a call does to its input: state, chance, writing in place."""

import torch
from torch import nn
from torch.nn.functional import dropout, scaled_dot_product_attention

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, padded, plain


class FreshState(SmallModel):
    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.state = None

    def start(self, rows):
        return None

    def mix(self, rows, valid):
        mixed, state = self.recurrent(rows, self.start(rows))
        self.state = state.detach()
        return mixed


class KeptState(FreshState):
    def start(self, rows):
        return self.state if self.state is not None and self.state.shape[1] == len(rows) else None


class KeptStateInTraining(KeptState):
    def start(self, rows):
        return super().start(rows) if self.training else None


class GrowingMemory(SmallModel):
    """Keeps what it has seen in a list and reads it."""

    def extra(self) -> None:
        self.memory: list[torch.Tensor] = []

    def mix(self, rows, valid):
        self.memory.append(rows.detach().mean())
        return super().mix(rows, valid) + self.memory[0] - self.memory[-1]


class RunningMean(SmallModel):
    """Updates a running mean in evaluation too."""

    def extra(self) -> None:
        self.register_buffer("mean", torch.zeros(()))

    def mix(self, rows, valid):
        out = super().mix(rows, valid) - self.mean
        self.mean = 0.9 * self.mean + 0.1 * rows.detach().mean()
        return out


class AnswerKept(SmallModel):
    """Keeps the last row means of the first call, and gives them to every call of that size."""

    def extra(self) -> None:
        self.known: dict[torch.Size, torch.Tensor] = {}

    def kept(self, size, mixed):
        return self.known.setdefault(size, mixed.detach())

    def mix(self, rows, valid):
        mixed = super().mix(rows, valid)
        return mixed + self.kept(rows.shape, mixed)


class NothingKept(AnswerKept):
    def kept(self, size, mixed):
        return mixed.detach()


class DropoutInEvaluation(SmallModel):
    def mix(self, rows, valid):
        return dropout(super().mix(rows, valid), 0.3)


class DropoutInTraining(SmallModel):
    def mix(self, rows, valid):
        return dropout(super().mix(rows, valid), 0.3, training=self.training)


class NoisyRows(SmallModel):
    def mix(self, rows, valid):
        return super().mix(rows, valid) + 0.01 * torch.randn(rows.shape[-1], dtype=rows.dtype)


class AttentionDropout(SmallModel):
    """Attention by the function; dropout follows the mode."""

    def rate(self):
        return 0.3 if self.training else 0.0

    def mix(self, rows, valid):
        return scaled_dot_product_attention(rows, rows, rows, is_causal=True, dropout_p=self.rate())


class AttentionDropoutAlways(AttentionDropout):
    """The function knows no mode: it drops at the rate that it is given."""

    def rate(self):
        return 0.3


class SampledRouting(SmallModel):
    """Noise in the choice of experts, in training and evaluation."""

    def extra(self) -> None:
        self.router = nn.Linear(WIDTH, 2)

    def noise(self, scores):
        return torch.randn_like(scores)

    def mix(self, rows, valid):
        scores = self.router(rows)
        shares = (scores + self.noise(scores)).softmax(dim=-1)
        return super().mix(rows, valid) * shares[..., :1]


class CertainRouting(SampledRouting):
    def noise(self, scores):
        return torch.zeros_like(scores)


class WritesIntoInput(SmallModel):
    def forward(self, ids, valid=None):
        ids[:, 0] = 0
        return super().forward(ids)


class CopiesInput(SmallModel):
    def forward(self, ids, valid=None):
        ids = ids.clone()
        ids[:, 0] = ids[:, 0] % 4
        return super().forward(ids)


class FillsPadding(SmallModel):
    """Puts another id at padding, in the caller's tensor."""

    def filled(self, ids, valid):
        return ids.masked_fill_(~valid, 1)

    def forward(self, ids, valid=None):
        return super().forward(ids if valid is None else self.filled(ids, valid), valid)


class FillsCopy(FillsPadding):
    def filled(self, ids, valid):
        return ids.masked_fill(~valid, 1)


PLANTS = (
    Plant("state kept", "state_carry", plain(KeptState), plain(FreshState), "cudnn.torch #348"),
    Plant("state kept in training", "state_carry", plain(KeptStateInTraining), plain(FreshState), "char-rnn #78"),
    Plant("memory that grows", "state_carry", plain(GrowingMemory), plain(SmallModel)),
    Plant("running mean in evaluation", "state_carry", plain(RunningMean), plain(SmallModel)),
    Plant("answer of the first call", "state_carry", plain(AnswerKept), plain(NothingKept)),
    Plant("dropout in evaluation", "determinism", plain(DropoutInEvaluation), plain(DropoutInTraining)),
    Plant("attention dropout in evaluation", "determinism", plain(AttentionDropoutAlways), plain(AttentionDropout),
          "pytorch #124464"),
    Plant("noise in evaluation", "determinism", plain(NoisyRows), plain(SmallModel)),
    Plant("routing by chance", "determinism", plain(SampledRouting), plain(CertainRouting)),
    Plant("writes into its input", "input_changed", plain(WritesIntoInput), plain(CopiesInput)),
    Plant("fills padding in place", "input_changed", padded(FillsPadding), padded(FillsCopy)),
)  # fmt: skip
