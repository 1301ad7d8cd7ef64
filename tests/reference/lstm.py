"""One step of an LSTM in numpy, forward and backward; see `reference.through_time`."""

from typing import Any

import numpy as np

from reference.gru import sigmoid
from reference.through_time import Array, Weights


def forward_step(x: Array, states: list[Array], weights: Weights) -> tuple[list[Array], Any]:
    h, c = states
    z_i, z_f, z_g, z_o = np.split(weights.weight_ih @ x + weights.bias_ih + weights.weight_hh @ h + weights.bias_hh, 4)
    i, f, g, o = sigmoid(z_i), sigmoid(z_f), np.tanh(z_g), sigmoid(z_o)
    after = f * c + i * g
    return [o * np.tanh(after), after], (c, i, f, g, o, after)


def backward_step(saved: Any, sensitivities: list[Array], weights: Weights) -> tuple[Array, list[Array], Array, Array]:
    c, i, f, g, o, after = saved
    state, cell = sensitivities
    shown = np.tanh(after)
    cell = cell + state * o * (1 - shown**2)
    gates = [cell * g * i * (1 - i), cell * c * f * (1 - f), cell * i * (1 - g**2), state * shown * o * (1 - o)]
    at_gates = np.concatenate(gates)
    return at_gates @ weights.weight_ih, [at_gates @ weights.weight_hh, cell * f], at_gates, at_gates
