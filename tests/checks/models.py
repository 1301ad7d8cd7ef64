"""Small models for the tests of the audit, each with one habit."""

import torch
from torch import Tensor, nn


class Recurrent(nn.Module):
    """Real values through a GRU: causal, and right in every other way."""

    def __init__(self, features: int = 4, width: int = 5) -> None:
        super().__init__()
        self.first = nn.Linear(features, width)
        self.recurrent = nn.GRU(width, width, batch_first=True)

    def forward(self, values: Tensor) -> Tensor:
        return self.recurrent(self.before(self.first(values)))[0]

    def before(self, rows: Tensor) -> Tensor:
        return rows


class TinyLeak(Recurrent):
    def before(self, rows: Tensor) -> Tensor:
        return rows + 1e-4 * rows.mean(dim=1, keepdim=True)


class RunningSum(Recurrent):
    """What came before, as the whole minus what comes: causal up to rounding."""

    def before(self, rows: Tensor) -> Tensor:
        return rows.sum(dim=1, keepdim=True) - rows.flip(1).cumsum(dim=1).flip(1) + rows


class FourierConvolution(Recurrent):
    """A causal convolution through a Fourier transform: causal up to rounding."""

    def before(self, rows: Tensor) -> Tensor:
        time = rows.shape[1]
        filter_ = torch.exp(-torch.arange(time, dtype=rows.dtype) / 3).unsqueeze(1)
        product = torch.fft.rfft(rows, 2 * time, dim=1) * torch.fft.rfft(filter_, 2 * time, dim=0)
        return torch.fft.irfft(product, 2 * time, dim=1)[:, :time]


class NarrowInside(Recurrent):
    def before(self, rows: Tensor) -> Tensor:
        return rows.to(torch.float32).to(rows.dtype)


class BatchNormed(Recurrent):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(5)

    def before(self, rows: Tensor) -> Tensor:
        return self.norm(rows.mT).mT


class Reused(nn.Module):
    """One layer called three times; the reading ahead comes between the second and the third call."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.ModuleDict({"inner": nn.Linear(4, 4)})

    def forward(self, values: Tensor) -> Tensor:
        inner = self.block["inner"]
        rows = inner(inner(values)).tanh()
        return inner(rows + rows.flip(1)).cumsum(dim=1).tanh() + rows.cumsum(dim=1)


class Keyword(nn.Module):
    """Ids, mask and labels by keyword; a result with `logits`, as published models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(9, 6)
        self.recurrent = nn.GRU(6, 9, batch_first=True)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        rows = self.tokens(input_ids) * attention_mask.unsqueeze(2)
        return {"loss": rows.mean(), "logits": self.recurrent(rows)[0]}
