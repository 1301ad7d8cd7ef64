"""The whole model: inputs, encoder, head. Every architecture of the project is this one class with another encoder.

Start with `clew.models.build`, which names the usual combinations; build a `SequenceModel` by hand for an unusual one.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from clew.models.bert import BertInput
from clew.models.heads import ClassTokenHead, Head
from clew.models.inputs import FeatureInput, TokenInput
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder
from clew.shapes import resolve_valid


@dataclass(frozen=True)
class ModelOutput:
    """What a model gives back.

    Attributes:
        logits: Scores or values: (batch, time, outputs) for the head "rows", else (batch, outputs).
        rows: The encoder's representation of each position, (batch, time, width); zero at padding.
    """

    logits: Float[Tensor, "batch *time outputs"]
    rows: Float[Tensor, "batch time width"]


class SequenceModel(nn.Module):
    """Inputs to rows, rows through the encoder, rows to predictions.

    Attributes:
        config: The resolved arguments of `clew.models.build`, from which the same model can be built again; None for
            a model that was put together by hand.
    """

    def __init__(
        self,
        inputs: TokenInput | FeatureInput | BertInput,
        encoder: RecurrentEncoder | TransformerEncoder,
        head: Head,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.encoder = encoder
        self.head = head
        self.config = config

    def forward(
        self,
        inputs: Int[Tensor, "batch time"] | Float[Tensor, "batch time features"],
        lengths: Int[Tensor, " batch"] | None = None,
        valid: Bool[Tensor, "batch time"] | None = None,
        visible: Shaped[Tensor, "*batch query source"] | None = None,
    ) -> ModelOutput:
        """Predict.

        Args:
            inputs: Token ids, or real-valued features.
            lengths: Real steps of each row that is padded on the right; at most one of `lengths` and `valid`.
            valid: True at real positions, where padding may stand anywhere.
            visible: True where a query may read a source; combined with padding and causality. Recurrent models
                refuse it.

        Raises:
            ShapeError: If shapes, types or lengths do not fit.
            DataError: If a token id is outside the vocabulary.
        """
        batch, time = inputs.shape[:2]
        valid = resolve_valid("SequenceModel", batch, time, lengths=lengths, valid=valid)
        rows = self.embed(inputs, valid)
        if isinstance(self.head, ClassTokenHead):
            return self._forward_with_class_token(self.head, rows, valid, visible)
        rows = self.encoder(rows, valid=valid, visible=visible).rows
        return ModelOutput(self.head(rows, valid), rows)

    def embed(
        self,
        inputs: Int[Tensor, "batch time"] | Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Give the rows that enter the encoder, before positions."""
        return self.inputs(inputs, valid)

    def _forward_with_class_token(
        self,
        head: ClassTokenHead,
        rows: Float[Tensor, "batch time width"],
        valid: Bool[Tensor, "batch time"] | None,
        visible: Shaped[Tensor, "*batch query source"] | None,
    ) -> ModelOutput:
        batch, time, _ = rows.shape
        rows = head.prepend(rows)
        if valid is not None:
            valid = torch.cat([valid.new_ones(batch, 1), valid], dim=1)
        if visible is not None:
            # The class token reads everything and is read by no one else, so that it cannot carry information
            # around the mask that the caller gave.
            widened = visible.new_zeros(*visible.shape[:-2], time + 1, time + 1)
            widened[..., 1:, 1:] = visible
            widened[..., 0, :] = True
            visible = widened
        class_row, others = head.split(self.encoder(rows, valid=valid, visible=visible).rows)
        return ModelOutput(head(class_row), others)

    def parameter_count(self) -> int:
        """Number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def state_size(self, time: int) -> int:
        """Floats kept for one sequence to go on after `time` steps: recurrent states, or keys and values."""
        return self.encoder.state_size(time)

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of one forward pass over one sequence of `time` steps, from the shapes."""
        rows = time + isinstance(self.head, ClassTokenHead)
        return self.inputs.multiply_adds(time) + self.encoder.multiply_adds(rows) + self.head.multiply_adds(time)
