"""Layer normalization: each row by its own mean and variance over the features.

It mixes neither positions nor examples and does the same in training and evaluation.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from clew.ledger import recording
from clew.ledger.description import Described

SOURCE = "Ba et al. 2016, arXiv:1607.06450"
VARIANT = "population variance, epsilon inside the root"


class LayerNormStep(NamedTuple):
    """Named quantities of a layer normalization."""

    mean: Float[Tensor, "*rows 1"]
    variance: Float[Tensor, "*rows 1"]
    normalized: Float[Tensor, "*rows width"]
    output: Float[Tensor, "*rows width"]


def layer_norm_step(
    x: Float[Tensor, "*rows width"], gamma: Float[Tensor, " width"], beta: Float[Tensor, " width"], epsilon: float
) -> LayerNormStep:
    """Normalize each row over its features.

        mu = sum_c x_c / width
        sigma^2 = sum_c (x_c - mu)^2 / width
        n = (x - mu) / sqrt(sigma^2 + epsilon)
        y = gamma * n + beta

    Source:
        Ba et al. 2016, arXiv:1607.06450; population variance and epsilon inside the root, as torch.nn.LayerNorm.
    """
    mu = x.mean(dim=-1, keepdim=True)
    variance = (x - mu).square().mean(dim=-1, keepdim=True)
    n = (x - mu) / torch.sqrt(variance + epsilon)
    return LayerNormStep(mu, variance, n, gamma * n + beta)


class LayerNorm(nn.Module):
    """Layer normalization over the last axis, with a learned scale and shift of each feature.

    Attributes:
        weight: Scale, (width,); ones at first.
        bias: Shift, (width,); zeros at first. A constant row gives this.
        epsilon: What is added to the variance, in squared units of the rows.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "mean": Described(("...", "one"), "mu = sum_c x_c / width", SOURCE, VARIANT),
        "variance": Described(("...", "one"), "sigma^2 = sum_c (x_c - mu)^2 / width", SOURCE, VARIANT),
        "normalized": Described(("...", "features"), "n = (x - mu) / sqrt(sigma^2 + epsilon)", SOURCE, VARIANT),
        "output": Described(("...", "features"), "y = gamma * n + beta", SOURCE, VARIANT),
    }

    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.width = width
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, rows: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        """Normalize with torch's fused kernel; the equations are in `layer_norm_step`."""
        output = layer_norm(rows, (self.width,), self.weight, self.bias, self.epsilon)
        if recording.is_on():
            recording.report(self, "", {"rows": rows}, {"output": output})
        return output

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a call to the ledger."""
        return dict(self.quantities(inputs["rows"]))

    def quantities(self, rows: Float[Tensor, "*rows width"]) -> dict[str, Float[Tensor, "*rows features"]]:
        """Compute mean, variance (*rows, 1), normalized and output (*rows, width)."""
        return layer_norm_step(rows, self.weight, self.bias, self.epsilon)._asdict()

    def extra_repr(self) -> str:
        return f"width={self.width}, epsilon={self.epsilon}"
