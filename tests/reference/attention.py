"""Attention and its backward in numpy: one row, one head, one query at a time, nothing shared with the package."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Weights(NamedTuple):
    """Maps of a multi-head attention; the first three are lists with a (weight, bias) for each head."""

    query: list[tuple[Array, Array]]
    key: list[tuple[Array, Array]]
    value: list[tuple[Array, Array]]
    output: tuple[Array, Array]


class Gradients(NamedTuple):
    rows: Array
    weights: Weights


def weights_of(
    weight: Array, bias: Array, output_weight: Array, output_bias: Array, heads: int, head_dim: int
) -> Weights:
    """Cut the stacked input map into maps of the heads: all queries, then all keys, then all values."""
    value_dim = output_weight.shape[1] // heads
    ends = np.cumsum([head_dim] * (2 * heads) + [value_dim] * heads)[:-1]
    maps = list(zip(np.split(weight, ends), np.split(bias, ends), strict=True))
    return Weights(maps[:heads], maps[heads : 2 * heads], maps[2 * heads :], (output_weight, output_bias))


def softmax_over(scores: Array, is_visible: Mask) -> Array:
    """Weights of one query; zeros where nothing is visible."""
    weights = np.zeros_like(scores)
    if is_visible.any():
        powers = np.exp(scores[is_visible] - scores[is_visible].max())
        weights[is_visible] = powers / powers.sum()
    return weights


def attention(rows: Array, visible: Mask, weights: Weights) -> tuple[Array, Array]:
    """Output (batch, time, width) and attention weights (batch, heads, query, source); `visible` has a batch axis."""
    batch, time, width = rows.shape
    heads = len(weights.query)
    output = np.zeros((batch, time, width))
    mixing = np.zeros((batch, heads, time, time))
    for b in range(batch):
        for t in range(time):
            joined = []
            for h in range(heads):
                q = weights.query[h][0] @ rows[b, t] + weights.query[h][1]
                keys = [weights.key[h][0] @ row + weights.key[h][1] for row in rows[b]]
                values = [weights.value[h][0] @ row + weights.value[h][1] for row in rows[b]]
                scores = np.array([q @ k for k in keys]) / np.sqrt(len(q))
                mixing[b, h, t] = softmax_over(scores, visible[b, t])
                joined.append(sum(a * v for a, v in zip(mixing[b, h, t], values, strict=True)))
            if visible[b, t].any():
                output[b, t] = weights.output[0] @ np.concatenate(joined) + weights.output[1]
    return output, mixing


def attention_backward(rows: Array, visible: Mask, weights: Weights, sensitivity: Array) -> Gradients:
    """Derivatives of sum(sensitivity * output) for the rows and for every map."""
    heads = len(weights.query)
    _, mixing = attention(rows, visible, weights)
    sensitivity = sensitivity * visible.any(axis=-1, keepdims=True)
    output_weight, value_dim = weights.output[0], weights.output[0].shape[1] // heads
    g_rows = np.zeros_like(rows)
    g_output_weight = np.zeros_like(output_weight)
    g_maps: dict[str, list[tuple[Array, Array]]] = {"query": [], "key": [], "value": []}
    for h in range(heads):
        maps = (weights.query[h], weights.key[h], weights.value[h])
        q, k, v = ([row @ w.T + c for row in rows] for w, c in maps)
        part = slice(h * value_dim, (h + 1) * value_dim)
        sensitivities: dict[str, list[Array]] = {"query": [], "key": [], "value": []}
        for b in range(len(rows)):
            a = mixing[b, h]
            g_output_weight[:, part] += sensitivity[b].T @ (a @ v[b])
            g_context = sensitivity[b] @ output_weight[:, part]
            g_a = g_context @ v[b].T
            g_scores = np.stack([(np.diag(row) - np.outer(row, row)) @ g for row, g in zip(a, g_a, strict=True)])
            g_scores /= np.sqrt(q[b].shape[1])
            sensitivities["query"].append(g_scores @ k[b])
            sensitivities["key"].append(g_scores.T @ q[b])
            sensitivities["value"].append(a.T @ g_context)
        for name, (w, _) in zip(g_maps, maps, strict=True):
            g = np.stack(sensitivities[name])
            g_rows += g @ w
            g_maps[name].append((np.einsum("bto,bti->oi", g, rows), g.sum(axis=(0, 1))))
    g_output = (g_output_weight, sensitivity.sum(axis=(0, 1)))
    return Gradients(g_rows, Weights(g_maps["query"], g_maps["key"], g_maps["value"], g_output))


def stacked(weights: Weights) -> tuple[Array, Array, Array, Array]:
    """Undo `weights_of`."""
    maps = [*weights.query, *weights.key, *weights.value]
    return np.concatenate([w for w, _ in maps]), np.concatenate([b for _, b in maps]), *weights.output
