"""LayerNorm and its backward, MLP, sinusoids, blocks and encoder in numpy, nothing shared with the package."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reference.attention import Mask, attention, weights_of

Array = NDArray[np.float64]
State = Mapping[str, Array]


def layer_norm(rows: Array, gamma: Array, beta: Array, epsilon: float = 1e-5) -> Array:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    return gamma * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon) + beta


def layer_norm_backward(
    rows: Array, gamma: Array, sensitivity: Array, epsilon: float = 1e-5
) -> tuple[Array, Array, Array]:
    """Derivatives of sum(sensitivity * output) for rows, gamma and beta, with each row's Jacobian written out."""
    width = rows.shape[-1]
    flat, g = rows.reshape(-1, width), sensitivity.reshape(-1, width)
    g_rows, g_gamma = np.zeros_like(flat), np.zeros(width)
    for index, row in enumerate(flat):
        centred = row - row.mean()
        root = math.sqrt((centred**2).mean() + epsilon)
        normalized = centred / root
        jacobian = (np.eye(width) - 1 / width - np.outer(normalized, normalized) / width) / root
        g_rows[index] = jacobian.T @ (gamma * g[index])
        g_gamma += g[index] * normalized
    return g_rows.reshape(rows.shape), g_gamma, g.sum(axis=0)


def activate(name: str, values: Array) -> Array:
    if name == "relu":
        return np.maximum(values, 0)
    return values * (1 + np.vectorize(math.erf)(values / math.sqrt(2))) / 2


def mlp(rows: Array, state: State, prefix: str, activation: str) -> Array:
    hidden = activate(activation, rows @ state[f"{prefix}hidden_map.weight"].T + state[f"{prefix}hidden_map.bias"])
    return hidden @ state[f"{prefix}output_map.weight"].T + state[f"{prefix}output_map.bias"]


def sinusoids(positions: int, width: int) -> Array:
    table = np.zeros((positions, width))
    for t in range(positions):
        for j in range(width):
            angle = t / 10000 ** (2 * (j // 2) / width)
            table[t, j] = math.cos(angle) if j % 2 else math.sin(angle)
    return table


def block(
    rows: Array, visible: Mask, state: State, prefix: str, norm: str, heads: int, head_dim: int, activation: str
) -> Array:
    """One block whose weights have the names that the package gives them."""
    names = ("input_map.weight", "input_map.bias", "output_map.weight", "output_map.bias")
    maps = weights_of(*(state[f"{prefix}attention.{name}"] for name in names), heads, head_dim)

    def normalize(name: str, values: Array) -> Array:
        return layer_norm(values, state[f"{prefix}{name}.weight"], state[f"{prefix}{name}.bias"])

    if norm == "pre":
        rows = rows + attention(normalize("attention_norm", rows), visible, maps)[0]
        return rows + mlp(normalize("mlp_norm", rows), state, f"{prefix}mlp.", activation)
    rows = normalize("attention_norm", rows + attention(rows, visible, maps)[0])
    return normalize("mlp_norm", rows + mlp(rows, state, f"{prefix}mlp.", activation))


def encoder(
    rows: Array, valid: Mask, state: State, norm: str, heads: int, head_dim: int, activation: str, causal: bool
) -> Array:
    """A stack of blocks behind learned positions, padding left out step by step."""
    batch, time, _ = rows.shape
    rows = np.where(valid[..., None], rows, 0)
    visible = np.zeros((batch, time, time), dtype=bool)
    for b in range(batch):
        seen = 0
        for t in range(time):
            visible[b, t] = [bool(valid[b, s]) and (s <= t or not causal) for s in range(time)]
            if valid[b, t]:
                rows[b, t] += state["positions.weight"][seen]
                seen += 1
    layers = sum(name.endswith("attention_norm.weight") for name in state)
    for index in range(layers):
        rows = block(rows, visible, state, f"blocks.{index}.", norm, heads, head_dim, activation)
    if norm == "pre":
        rows = layer_norm(rows, state["final_norm.weight"], state["final_norm.bias"])
    return np.where(valid[..., None], rows, 0)
