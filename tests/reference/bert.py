"""BERT's encoder in numpy for one sequence without padding, from weights with their published names."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reference.transformer import activate, layer_norm

Array = NDArray[np.float64]
Published = Mapping[str, Array]


def affine(rows: Array, published: Published, name: str) -> Array:
    return rows @ published[f"{name}.weight"].T + published[f"{name}.bias"]


def normalize(rows: Array, published: Published, name: str) -> Array:
    return layer_norm(rows, published[f"{name}.weight"], published[f"{name}.bias"], epsilon=1e-12)


def attend(rows: Array, published: Published, name: str, heads: int) -> Array:
    query, key, value = (affine(rows, published, f"{name}.self.{part}") for part in ("query", "key", "value"))
    head_dim = rows.shape[1] // heads
    mixed = np.zeros_like(rows)
    for head in range(heads):
        part = slice(head * head_dim, (head + 1) * head_dim)
        powers = np.exp(query[:, part] @ key[:, part].T / np.sqrt(head_dim))
        mixed[:, part] = powers / powers.sum(axis=1, keepdims=True) @ value[:, part]
    return affine(mixed, published, f"{name}.output.dense")


def encode(
    ids: Sequence[int], types: Sequence[int], published: Published, layers: int, heads: int, first_position: int = 0
) -> Array:
    """Rows of the tokens, (time, width)."""
    positions = published["embeddings.position_embeddings.weight"][first_position:]
    rows = np.stack(
        [
            published["embeddings.word_embeddings.weight"][word]
            + published["embeddings.token_type_embeddings.weight"][segment]
            + positions[place]
            for place, (word, segment) in enumerate(zip(ids, types, strict=True))
        ]
    )
    rows = normalize(rows, published, "embeddings.LayerNorm")
    for index in range(layers):
        name = f"encoder.layer.{index}"
        attended = rows + attend(rows, published, f"{name}.attention", heads)
        rows = normalize(attended, published, f"{name}.attention.output.LayerNorm")
        hidden = activate("gelu", affine(rows, published, f"{name}.intermediate.dense"))
        rows = normalize(
            rows + affine(hidden, published, f"{name}.output.dense"), published, f"{name}.output.LayerNorm"
        )
    return rows
