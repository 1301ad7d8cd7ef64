"""The whole model: inputs, encoder, head. Every architecture of the project is this one class with another encoder.

Start with `clew.models.build`, which names the usual combinations; build a `SequenceModel` by hand for an unusual one.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from clew.errors import ConfigError, complain
from clew.models.bert import BertInput
from clew.models.decoding import Cache, advance, context_limit, require_stepwise
from clew.models.heads import ClassTokenHead, Head, RowsHead
from clew.models.inputs import FeatureInput, TokenInput
from clew.models.mixed_input import MixedInput
from clew.models.patch_input import PatchInput
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder
from clew.shapes import resolve_documents, resolve_valid

Inputs = (
    Int[Tensor, "batch time"]
    | Float[Tensor, "batch time features"]
    | Float[Tensor, "batch channels image_height image_width"]
)


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
        inputs: TokenInput | FeatureInput | MixedInput | PatchInput | BertInput,
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
        inputs: Inputs,
        lengths: Int[Tensor, " batch"] | None = None,
        valid: Bool[Tensor, "batch time"] | None = None,
        visible: Shaped[Tensor, "*batch query source"] | None = None,
        documents: Shaped[Tensor, "batch time"] | None = None,
    ) -> ModelOutput:
        """Predict.

        Args:
            inputs: Token ids (batch, time), real-valued features (batch, time, features), for a model with categories
                their indices behind them; or images (batch, channels, height, width), whose patches are the steps.
            lengths: Real steps of each row that is padded on the right; at most one of `lengths` and `valid`.
            valid: True at real positions, where padding may stand anywhere.
            visible: True where a query may read a source; combined with padding and causality. Recurrent models
                refuse it.
            documents: Which document of its row a step belongs to, where several are packed into a row: whole numbers,
                negative at padding. Each document gets what it gets alone: it reads no other, its positions count from
                0, and a recurrent state starts anew. For predictions at every position only.

        Raises:
            ShapeError: If shapes, types or lengths do not fit.
            DataError: If a token id or a category index is out of range.
            ConfigError: If the model cannot do what is asked: documents with a prediction a sequence, a visibility
                with a recurrence.
        """
        batch, time = self._sizes(inputs)
        valid = resolve_valid("SequenceModel", batch, time, lengths=lengths, valid=valid)
        if documents is not None:
            documents, valid = self._resolve_documents(documents, batch, time, valid)
        rows = self.embed(inputs, valid)
        if documents is not None:
            rows = self.encoder(rows, valid=valid, visible=visible, documents=documents).rows
            return ModelOutput(self.head(rows, valid), rows)
        if isinstance(self.head, ClassTokenHead):
            return self._forward_with_class_token(self.head, rows, valid, visible)
        rows = self.encoder(rows, valid=valid, visible=visible).rows
        return ModelOutput(self.head(rows, valid), rows)

    def start_cache(self) -> Cache:
        """Give the cache of a model that has read nothing yet, for `step`.

        Raises:
            ConfigError: If the model cannot go on step by step: it reads in both directions, or does not predict at
                every position.
        """
        require_stepwise(self.encoder)
        if not isinstance(self.head, RowsHead) or isinstance(self.inputs, PatchInput):
            remedy = "Give it all steps at once, or build it with head='rows'."
            got = f"one with {type(self.head).__name__}"
            raise ConfigError(complain("step", "model", "one that predicts at every position", got, remedy))
        return Cache()

    def step(
        self,
        inputs: Inputs,
        cache: Cache | None = None,
        valid: Bool[Tensor, "batch time"] | None = None,
    ) -> tuple[ModelOutput, Cache]:
        """Read further steps, and predict at each of them; see `clew.models.decoding` for the rule at the limit.

        Chunks of any size give together what one full pass over all steps gives, to rounding. The cache that is given
        is not changed, so that one may go on from it twice.

        Args:
            inputs: The new steps, as for the full pass.
            cache: What the last call gave back, or `start_cache()`; None for the first steps.
            valid: True at real steps, where rows get unequal numbers of them; None if all are real.

        Returns:
            Predictions and rows of the new steps, and the cache to go on with.

        Raises:
            ConfigError: As for `start_cache`.
            ShapeError: If shapes or types do not fit, or the cache belongs to other rows.

        >>> from clew.models import build
        >>> model = build("gru", vocab=5, outputs=5, hidden=4).double()
        >>> first, cache = model.step(torch.tensor([[1, 2]]))
        >>> second, cache = model.step(torch.tensor([[3]]), cache)
        >>> torch.allclose(second.logits[:, 0], model(torch.tensor([[1, 2, 3]])).logits[:, -1])
        True
        """
        start = self.start_cache()
        valid = resolve_valid("SequenceModel", *self._sizes(inputs), valid=valid)
        rows, cache = advance(self.embed, self.encoder, inputs, valid, start if cache is None else cache)
        return ModelOutput(self.head(rows, valid), rows), cache

    @property
    def context_limit(self) -> int | None:
        """How many steps a prediction can read: a Transformer's positions; None without a limit."""
        return context_limit(self.encoder)

    def _sizes(self, inputs: Tensor) -> tuple[int, int]:
        """Give rows and steps of a batch; an image's steps are its patches."""
        return len(inputs), self.inputs.patches.count if isinstance(self.inputs, PatchInput) else inputs.shape[1]

    def _resolve_documents(
        self, documents: Tensor, batch: int, time: int, valid: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Check packed documents; None where no row holds two, so that nothing has to be told apart."""
        if not isinstance(self.head, RowsHead) or isinstance(self.inputs, PatchInput):
            remedy = "A prediction a sequence would mix the documents; give each a row of its own."
            got = f"with {type(self.head).__name__}"
            raise ConfigError(complain("SequenceModel", "documents", "left out, or head='rows'", got, remedy))
        documents, valid = resolve_documents("SequenceModel", documents, batch, time, valid)
        is_single = bool(((documents == documents.amax(dim=1, keepdim=True)) | ~valid).all())
        return None if is_single else documents, None if bool(valid.all()) else valid

    def embed(
        self,
        inputs: Inputs,
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
