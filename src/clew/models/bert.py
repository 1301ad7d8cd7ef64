"""Encoders of the BERT family: words, positions and segments in one normalized sum, then post-norm blocks.

`BertModel` gives a row for each token and, by the mean of the valid rows, a vector for each sequence. Published weights
come in through `clew.models.interchange.bert_from_folder`. Not here: tokenizers, and heads; a `SequenceModel` of
`model.inputs`, `model.encoder` and a head is a model to fine-tune.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from clew.errors import ShapeError, complain
from clew.layers.embedding import Embedding
from clew.ledger import recording
from clew.ledger.description import Described
from clew.models.pooling import masked_mean, unit_vectors
from clew.models.transformer_encoder import TransformerEncoder
from clew.shapes import INTEGERS, describe, resolve_valid


class BertInput(nn.Module):
    """Look token ids up in one table and the segment that each belongs to in another, and add the two rows.

    Attributes:
        embedding: The table of tokens, (vocab, width).
        token_types: The table of segments, (types, width).
    """

    described: ClassVar[Mapping[str, Described]] = {
        "output": Described(("batch", "time", "features"), "word[id] + segment[type], 0 at padding"),
    }

    def __init__(self, vocab: int, width: int, types: int = 2, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.vocab = vocab
        self.width = width
        self.embedding = Embedding(vocab, width, generator=generator)
        self.token_types = Embedding(types, width, generator=generator)

    def multiply_adds(self, time: int) -> int:
        """Zero: a lookup multiplies nothing."""
        return 0

    def forward(
        self,
        inputs: Shaped[Tensor, "batch time *features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        token_types: Shaped[Tensor, "_ _"] | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Give each id its row; rows at padding are zero and receive no gradient.

        Args:
            inputs: Token ids.
            valid: True at real positions; None if all are.
            token_types: Segment of each token, (batch, time): 0 in a first sentence, 1 in a second; None if all are 0.

        Raises:
            ShapeError: If ids or segments are not integers of shape (batch, time).
            DataError: If one at a real position is outside its table.
        """
        _require_ids("inputs", inputs)
        token_types = torch.zeros_like(inputs) if token_types is None else token_types
        _require_ids("token_types", token_types, tuple(inputs.shape))
        if valid is not None:
            inputs, token_types = (ids.masked_fill(~valid, 0) for ids in (inputs, token_types))
        words, segments = self.embedding(inputs), self.token_types(token_types)
        output = _sum_at_valid(words, segments, valid)
        if recording.is_on():
            recording.report(self, "", {"words": words, "segments": segments}, {"output": output}, valid=valid)
        return output

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain the sum to the ledger; the two tables explain themselves."""
        return {"output": _sum_at_valid(inputs["words"], inputs["segments"], facts["valid"])}


class BertModel(nn.Module):
    """Tokens to rows, as BERT's encoder does it.

        e = word[id] + segment[type] + position[number of valid tokens before]
        H_0 = LN(e)
        H_i = post-norm block i of H_(i-1), with GELU in the MLP
        rows = H_last

    Source:
        Devlin et al. 2019, arXiv:1810.04805.

    Attributes:
        inputs: Words and segments.
        encoder: Positions, entry normalization, blocks.
        config: The resolved arguments, from which the same model can be built again.

    >>> model = BertModel(vocab=11, width=8, heads=2, mlp=16, layers=2).eval()
    >>> model(torch.tensor([[5, 2, 7], [1, 3, 0]]), lengths=torch.tensor([3, 2])).shape
    torch.Size([2, 3, 8])
    """

    def __init__(
        self,
        vocab: int,
        width: int,
        heads: int,
        mlp: int,
        layers: int,
        max_positions: int = 512,
        types: int = 2,
        activation: str = "gelu",
        epsilon: float = 1e-12,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        """Make the model.

        Args:
            vocab: Number of token ids.
            width: Features of a row.
            heads: Attention heads, a divisor of `width`.
            mlp: Hidden features of each block's MLP.
            layers: Number of blocks.
            max_positions: Size of the position table.
            types: Number of segments.
            activation: Activation of the MLPs.
            epsilon: Added to the variance in every normalization.
            dropout: Fraction dropped while training; see `clew.models.blocks.TransformerBlock`.
            generator: Draws the initial weights; by default a new one seeded with 0.

        Raises:
            ConfigError: If a name is unknown or a size out of range.
        """
        super().__init__()
        self.config: dict[str, Any] = {
            "vocab": vocab,
            "width": width,
            "heads": heads,
            "mlp": mlp,
            "layers": layers,
            "max_positions": max_positions,
            "types": types,
            "activation": activation,
            "epsilon": epsilon,
            "dropout": dropout,
        }
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.inputs = BertInput(vocab, width, types, generator)
        self.encoder = TransformerEncoder(
            width,
            heads,
            mlp,
            layers,
            norm="post",
            max_positions=max_positions,
            activation=activation,
            dropout=dropout,
            generator=generator,
            normalize_entry=True,
            epsilon=epsilon,
        )

    def forward(
        self,
        inputs: Int[Tensor, "batch time"],
        lengths: Int[Tensor, " batch"] | None = None,
        valid: Bool[Tensor, "batch time"] | None = None,
        visible: Shaped[Tensor, "*batch query source"] | None = None,
        token_types: Shaped[Tensor, "_ _"] | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Give the row of each token, zero at padding.

        Args:
            inputs: Token ids; what stands at padding is never read.
            lengths: Real tokens of each row that is padded on the right; at most one of `lengths` and `valid`.
            valid: True at real tokens, where padding may stand anywhere; `clew.visibility.from_attention_mask` makes
                it of a tokenizer's 0/1 mask. Positions count valid tokens, so that the side of padding moves nothing.
            visible: True where a query may read a source; combined with padding.
            token_types: Segment of each token, (batch, time); None if all are 0.

        Raises:
            ShapeError: If shapes, types or lengths do not fit, or a row has more tokens than there are positions.
            DataError: If an id at a real token is outside its table.
        """
        batch, time = inputs.shape
        valid = resolve_valid("BertModel", batch, time, lengths=lengths, valid=valid)
        return self.encoder(self.inputs(inputs, valid, token_types), valid=valid, visible=visible).rows

    def sequence_vectors(
        self,
        inputs: Int[Tensor, "batch time"],
        lengths: Int[Tensor, " batch"] | None = None,
        valid: Bool[Tensor, "batch time"] | None = None,
        unit_length: bool = True,
    ) -> Float[Tensor, "batch width"]:
        """Give the mean of the valid rows of each sequence, by default divided by its Euclidean length.

        Arguments and errors as for the call. Models that were trained for cosine similarity, such as the MiniLM
        sentence encoders, want the division.
        """
        batch, time = inputs.shape
        valid = resolve_valid("BertModel", batch, time, lengths=lengths, valid=valid)
        pooled = masked_mean(self(inputs, valid=valid), valid)
        return unit_vectors(pooled) if unit_length else pooled

    def parameter_count(self) -> int:
        """Number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def state_size(self, time: int) -> int:
        """Floats of the keys and values of `time` tokens of one sequence in all blocks."""
        return self.encoder.state_size(time)

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of one forward pass over one sequence of `time` tokens, from the shapes."""
        return self.encoder.multiply_adds(time)


def _sum_at_valid(words: Tensor, segments: Tensor, valid: Tensor | None) -> Tensor:
    rows = words + segments
    return rows if valid is None else rows.masked_fill(~valid.unsqueeze(-1), 0)


def _require_ids(what: str, ids: Tensor, shape: tuple[int, ...] | None = None) -> None:
    if ids.ndim != 2 or ids.dtype not in INTEGERS or tuple(ids.shape) != (shape or tuple(ids.shape)):
        rule = "integer ids of shape " + (str(shape) if shape else "(batch, time)")
        raise ShapeError(complain("BertInput", what, rule, describe(ids)))
