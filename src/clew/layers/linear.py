"""The affine map of each row, `x @ W.T + b`, with its weights drawn from an explicit generator."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from clew.errors import ShapeError, complain
from clew.ledger import recording
from clew.ledger.description import Described


class Linear(nn.Module):
    """An affine map from `inputs` to `outputs` coordinates; parameters `weight` (outputs, inputs) and `bias`.

    Weights and bias start uniform in +-1/sqrt(inputs), the distribution that torch.nn.Linear has.

    Args:
        inputs: Width of the rows that come in.
        outputs: Width of the rows that go out.
        bias: False for a linear map without offset.
        generator: Draws the initial values; None for a new one seeded 0.

    >>> Linear(3, 2)(torch.zeros(5, 4, 3)).shape
    torch.Size([5, 4, 2])
    """

    described: ClassVar[Mapping[str, Described]] = {"output": Described(("...", "features"), "y = x W' + b")}

    def __init__(self, inputs: int, outputs: int, bias: bool = True, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound, generator=generator)) if bias else None

    def forward(self, rows: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """Map each row.

        Raises:
            ShapeError: If the rows are not as wide as `inputs`.
        """
        outputs, inputs = self.weight.shape
        if rows.shape[-1] != inputs:
            remedy = f"Build the layer as Linear({rows.shape[-1]}, {outputs})."
            raise ShapeError(complain("Linear", "rows", f"(..., inputs={inputs})", tuple(rows.shape), remedy))
        output = functional.linear(rows, self.weight, self.bias)
        if recording.is_on():
            recording.report(self, "", {"rows": rows}, {"output": output})
        return output

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a call to the ledger."""
        return {"output": functional.linear(inputs["rows"], self.weight, self.bias)}

    def extra_repr(self) -> str:
        outputs, inputs = self.weight.shape
        return f"inputs={inputs}, outputs={outputs}, bias={self.bias is not None}"
