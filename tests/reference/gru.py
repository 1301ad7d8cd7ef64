"""One step of a reset-after GRU in numpy, forward and backward; see `reference.through_time`."""

from typing import Any

import numpy as np

from reference.through_time import Array, Weights


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


def forward_step(x: Array, states: list[Array], weights: Weights) -> tuple[list[Array], Any]:
    (h,) = states
    w_r, w_u, w_n = np.split(weights.weight_ih, 3)
    v_r, v_u, v_n = np.split(weights.weight_hh, 3)
    b_r, b_u, b_n = np.split(weights.bias_ih, 3)
    c_r, c_u, c_n = np.split(weights.bias_hh, 3)
    r = sigmoid(w_r @ x + b_r + v_r @ h + c_r)
    u = sigmoid(w_u @ x + b_u + v_u @ h + c_u)
    q = v_n @ h + c_n
    n = np.tanh(w_n @ x + b_n + r * q)
    return [u * h + (1 - u) * n], (h, r, u, q, n)


def backward_step(saved: Any, sensitivities: list[Array], weights: Weights) -> tuple[Array, list[Array], Array, Array]:
    h, r, u, q, n = saved
    (after,) = sensitivities
    at_u = after * (h - n) * u * (1 - u)
    at_n = after * (1 - u) * (1 - n**2)
    at_r = at_n * q * r * (1 - r)
    at_input = np.concatenate([at_r, at_u, at_n])
    at_state = np.concatenate([at_r, at_u, at_n * r])
    return at_input @ weights.weight_ih, [after * u + at_state @ weights.weight_hh], at_input, at_state


def reset_before_step(x: Array, states: list[Array], weights: Weights) -> Array:
    """The other GRU, which resets the state before the recurrent product: a different function of the same weights."""
    (h,) = states
    _, (_, r, u, _, _) = forward_step(x, states, weights)
    w_n, v_n = np.split(weights.weight_ih, 3)[2], np.split(weights.weight_hh, 3)[2]
    b_n, c_n = np.split(weights.bias_ih, 3)[2], np.split(weights.bias_hh, 3)[2]
    n = np.tanh(w_n @ x + b_n + v_n @ (r * h) + c_n)
    return u * h + (1 - u) * n
