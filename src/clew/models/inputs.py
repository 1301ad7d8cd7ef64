"""How raw inputs become the encoder's rows: a table lookup for token ids, a linear map or nothing for real values.

Padding stops here: a padded id is never used as an index and a padded value never enters a product, so that NaN or an
illegal id at padding is harmless. Positions belong to the encoder, not to this room.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from clew.errors import ShapeError, complain
from clew.layers.embedding import Embedding
from clew.layers.linear import Linear
from clew.ledger import recording
from clew.ledger.description import Described

PADDED: Mapping[str, Described] = {"output": Described(("batch", "time", "features"), "rows, 0 at padding")}


class TokenInput(nn.Module):
    """Look token ids up in one embedding table."""

    described: ClassVar[Mapping[str, Described]] = PADDED

    def __init__(self, vocab: int, width: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.vocab = vocab
        self.width = width
        self.embedding = Embedding(vocab, width, generator=generator)

    def multiply_adds(self, time: int) -> int:
        """Zero: a lookup multiplies nothing."""
        return 0

    def forward(
        self, inputs: Shaped[Tensor, "batch time *features"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """Give each id its row; rows at padding are zero and receive no gradient.

        Raises:
            ShapeError: If the inputs are not integers of shape (batch, time).
            DataError: If an id at a real position is outside the vocabulary.
        """
        if inputs.ndim != 2 or inputs.is_floating_point() or inputs.dtype == torch.bool:
            got = f"{tuple(inputs.shape)} of {inputs.dtype}"
            remedy = "Build the model with features=... for real-valued inputs."
            raise ShapeError(complain("TokenInput", "inputs", "integer ids of shape (batch, time)", got, remedy))
        if valid is None:
            return self.embedding(inputs)
        rows = self.embedding(torch.where(valid, inputs, torch.zeros_like(inputs)))
        return zero_padding(self, rows, valid)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger that padding was replaced by zeros."""
        return {"output": zeroed(inputs["rows"], facts["valid"])}


class FeatureInput(nn.Module):
    """Take real-valued features as they are, or map them linearly to the model's width."""

    described: ClassVar[Mapping[str, Described]] = PADDED

    def __init__(self, features: int, width: int | None = None, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.features = features
        self.width = width or features
        self.projection = None if width is None else Linear(features, width, generator=generator)

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the linear map for one sequence."""
        return 0 if self.projection is None else time * self.features * self.width

    def forward(
        self, inputs: Shaped[Tensor, "batch time *features"], valid: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """Map each row; rows at padding are zero and receive no gradient.

        Raises:
            ShapeError: If the inputs are not floats of shape (batch, time, features).
        """
        if inputs.ndim != 3 or inputs.shape[-1] != self.features or not inputs.is_floating_point():
            rule = f"floats of shape (batch, time, features={self.features})"
            got = f"{tuple(inputs.shape)} of {inputs.dtype}"
            remedy = "Build the model with vocab=... for token ids." if inputs.ndim == 2 else ""
            raise ShapeError(complain("FeatureInput", "inputs", rule, got, remedy))
        if valid is not None:
            inputs = torch.where(valid.unsqueeze(-1), inputs, torch.zeros_like(inputs))
        rows = inputs if self.projection is None else self.projection(inputs)
        if valid is None or self.projection is None:
            return rows
        return zero_padding(self, rows, valid)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger that padding was replaced by zeros."""
        return {"output": zeroed(inputs["rows"], facts["valid"])}


def zero_padding(
    layer: nn.Module, rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch time width"]:
    """Replace what stands at padding by zero, on behalf of a layer."""
    output = zeroed(rows, valid)
    if recording.is_on():
        recording.report(layer, "", {"rows": rows}, {"output": output}, valid=valid)
    return output


def zeroed(
    rows: Float[Tensor, "batch time width"], valid: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch time width"]:
    """Give zeros at padding, whatever stands there, NaN too."""
    return torch.where(valid.unsqueeze(-1), rows, torch.zeros_like(rows))
