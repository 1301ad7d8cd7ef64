"""The worked example: "A journey of a thousand miles begins", its tables and weights, loaded into clew's layers.

Every number is stated once, here, as the text has it; what follows from them is computed by the layers. All weights
are illustrative and untrained, and everything is double precision. Start with `proverb_model`, the whole of it: nine
words, width five, two heads of three, an MLP of four, and a vocabulary head that the text leaves open.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from clew.errors import DataError, complain, did_you_mean
from clew.layers import Embedding, MultiHeadAttention, SinusoidalPositions
from clew.layers.linear import Linear
from clew.models.blocks import BLOCKS, TransformerBlock
from clew.models.heads import HEADS
from clew.models.inputs import TokenInput
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder

TEXT = "A journey of a thousand miles begins"
CONTINUATION = "with a single step."
WIDTH, HEAD_DIM, VALUE_DIM, MLP_HIDDEN = 5, 3, 3, 4
MAX_POSITIONS = 64
"""Sinusoids are defined for every position; the table needs an end, far behind the continuation."""

Matrix = tuple[tuple[float | int, ...], ...]
Numbers = Sequence[float | int]

EMBEDDINGS: dict[str, tuple[float, ...]] = {
    "a": (0.2, -0.1, 0.4, 0.0, -0.2),
    "journey": (0.5, 0.3, -0.2, 0.1, 0.4),
    "of": (-0.1, 0.2, 0.0, -0.3, 0.1),
    "thousand": (0.4, -0.4, 0.2, 0.5, -0.1),
    "miles": (0.1, 0.5, -0.3, 0.2, 0.3),
    "begins": (-0.3, 0.1, 0.5, -0.2, 0.2),
    "with": (0.0, -0.2, 0.1, 0.3, -0.4),
    "single": (0.3, 0.0, -0.1, 0.4, 0.2),
    "step": (-0.2, 0.4, 0.3, -0.1, 0.5),
}
"""A row for each word, in the order of the ids (Table 8)."""

VOCABULARY = tuple(EMBEDDINGS)


class HeadMaps(NamedTuple):
    """Stored maps of one head, each (3, 5): outputs by inputs."""

    query: Matrix
    key: Matrix
    value: Matrix


HEAD_ONE = HeadMaps(
    query=((1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0)),
    key=((0.5, 0, 0, 0.5, 0), (0, 1, 0, 0, 0), (0, 0, 0.5, 0, 0.5)),
    value=((1, 0, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0.5, 0.5)),
)
HEAD_TWO = HeadMaps(
    query=((0, 0, 0, 1, 0), (0, 0, 0, 0, 1), (0.5, 0.5, 0, 0, 0)),
    key=((0, 0, 0, 1, 0), (0, 0, 1, 0, 0), (0, 0.5, 0, 0, 0.5)),
    value=((0, 1, 0, 0, 0), (0, 0, 0, 1, 0), (0.5, 0, 0, 0, 0.5)),
)
OUTPUT_MAP: Matrix = (
    (1, 0, 0, 0.5, 0, 0),
    (0, 1, 0, 0, 0.5, 0),
    (0, 0, 1, 0, 0, 0.5),
    (0.5, 0, 0, 0, 1, 0),
    (0, 0.5, 0, 1, 0, 0),
)
MLP_HIDDEN_MAP: Matrix = ((1, 0, -0.5, 0, 0), (0, 1, 0, 0, -0.5), (0, 0, 1, 0.5, 0), (0.5, 0, 0, 0, 1))
MLP_HIDDEN_BIAS = (0.1, -0.2, 0.15, 0.05)
MLP_OUTPUT_MAP: Matrix = (
    (0.5, 0, 0.2, 0),
    (0, 0.5, 0, 0.2),
    (0.2, 0, 0.5, 0),
    (0, 0.2, 0, 0.5),
    (0.3, 0, 0, 0.3),
)
MLP_OUTPUT_BIAS = (0.05, -0.05, 0.0, 0.1, -0.1)


def words_of(text: str) -> tuple[str, ...]:
    """Lowercase, drop punctuation, split at spaces: one word is one token.

    >>> words_of("A journey, of a thousand miles ...")
    ('a', 'journey', 'of', 'a', 'thousand', 'miles')
    """
    kept = "".join(letter if letter.isalnum() else " " for letter in text.lower() if letter not in "'’")
    return tuple(kept.split())


def ids_of(words: Sequence[str]) -> Int[Tensor, "1 time"]:
    """Look the ids of words up; there is no id for an unknown word.

    Raises:
        DataError: If there are no words, or one is not among the nine.

    >>> ids_of(words_of(TEXT)).tolist()
    [[0, 1, 2, 0, 3, 4, 5]]
    """
    if not words:
        remedy = f"Known words: {', '.join(VOCABULARY)}."
        raise DataError(complain("proverb", "text", "at least one known word", "none", remedy))
    for place, word in enumerate(words):
        if word not in EMBEDDINGS:
            rule = "words of the worked example, which has no token for unknown ones"
            got = f"'{word}' at position {place}"
            raise DataError(complain("proverb", "text", rule, got, did_you_mean(word, VOCABULARY)))
    return torch.tensor([[VOCABULARY.index(word) for word in words]])


PREFIX = words_of(TEXT)
LABELS = tuple(f"{position}: {word}" for position, word in enumerate(PREFIX))
BEGINS, JOURNEY = PREFIX.index("begins"), PREFIX.index("journey")


def embedding() -> Embedding:
    """Make the table of nine rows and five features."""
    table = Embedding(len(VOCABULARY), WIDTH).double()
    load(table.weight, tuple(EMBEDDINGS.values()))
    return table


def positions() -> SinusoidalPositions:
    """Make the sinusoids of width five."""
    return SinusoidalPositions(WIDTH, MAX_POSITIONS)


def embedded_rows(words: Sequence[str] = PREFIX) -> Float[Tensor, "1 time width"]:
    """Look the embeddings of words up."""
    return embedding()(ids_of(words)).detach()


def positioned_rows(words: Sequence[str] = PREFIX) -> Float[Tensor, "1 time width"]:
    """Look the embeddings of words up and add their positions."""
    return positions()(embedded_rows(words))


def attention(heads: Sequence[HeadMaps] = (HEAD_ONE, HEAD_TWO)) -> MultiHeadAttention:
    """Make the attention layer of some heads, without biases; fewer heads leave their columns of the output map out."""
    layer = MultiHeadAttention(WIDTH, len(heads), HEAD_DIM, VALUE_DIM).double()
    load_attention(layer, heads)
    return layer


def block(norm: str = "pre") -> TransformerBlock:
    """Make the block: two heads, an MLP of four with ReLU, normalizations with scale one and shift zero."""
    layer = BLOCKS[norm](WIDTH, heads=2, mlp=MLP_HIDDEN, head_dim=HEAD_DIM, value_dim=VALUE_DIM).double()
    load_block(layer)
    return layer


def encoder(
    layers: int = 1, causal: bool = False, norm: str = "pre", positions: str | None = "sinusoidal"
) -> TransformerEncoder:
    """Make the encoder; of several blocks each has the same weights."""
    made = TransformerEncoder(
        WIDTH, 2, MLP_HIDDEN, layers, causal, norm, positions, MAX_POSITIONS, HEAD_DIM, VALUE_DIM
    ).double()
    for part in made.blocks:
        assert isinstance(part, TransformerBlock)
        load_block(part)
    return made.eval()


def proverb_model(causal: bool = False, layers: int = 1, head: str = "rows", head_seed: int = 0) -> SequenceModel:
    """Make the whole model, with a vocabulary head of nine outputs.

    The text gives no weights for the head, so they are drawn with `head_seed`: its predictions show the
    computation, and nothing that was learned.
    """
    inputs = TokenInput(len(VOCABULARY), WIDTH).double()
    inputs.embedding = embedding()
    readout = HEADS[head](WIDTH, len(VOCABULARY), generator=torch.Generator().manual_seed(head_seed)).double()
    return SequenceModel(inputs, encoder(layers, causal), readout).eval()


@torch.no_grad()
def load(parameter: nn.Parameter | None, values: Numbers | Sequence[Numbers] | Tensor) -> None:
    """Write values into a parameter of the same shape, in its precision."""
    assert parameter is not None
    stated = torch.as_tensor(values, dtype=parameter.dtype)
    assert stated.shape == parameter.shape, f"{tuple(stated.shape)} into {tuple(parameter.shape)}"
    parameter.copy_(stated)


def load_attention(layer: MultiHeadAttention, heads: Sequence[HeadMaps] = (HEAD_ONE, HEAD_TWO)) -> None:
    """Write the maps of some heads into a layer, in its order: all queries, all keys, all values."""
    stacked = [row for part in ("query", "key", "value") for head in heads for row in getattr(head, part)]
    load(layer.input_map.weight, stacked)
    load(layer.output_map.weight, [row[: len(heads) * VALUE_DIM] for row in OUTPUT_MAP])
    for linear in (layer.input_map, layer.output_map):
        load_bias(linear, 0.0)


def load_block(layer: TransformerBlock) -> None:
    """Write the weights of the text into a block; its normalizations start with scale one and shift zero already."""
    load_attention(layer.attention)
    load(layer.mlp.hidden_map.weight, MLP_HIDDEN_MAP)
    load(layer.mlp.hidden_map.bias, MLP_HIDDEN_BIAS)
    load(layer.mlp.output_map.weight, MLP_OUTPUT_MAP)
    load(layer.mlp.output_map.bias, MLP_OUTPUT_BIAS)


def load_bias(linear: Linear, value: float) -> None:
    """Fill the offset of a map with one value."""
    assert linear.bias is not None
    nn.init.constant_(linear.bias, value)
