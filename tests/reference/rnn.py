"""One step of a simple tanh RNN in numpy, forward and backward; see `reference.through_time`."""

from typing import Any

import numpy as np

from reference.through_time import Array, Weights


def forward_step(x: Array, states: list[Array], weights: Weights) -> tuple[list[Array], Any]:
    after = np.tanh(weights.weight_ih @ x + weights.bias_ih + weights.weight_hh @ states[0] + weights.bias_hh)
    return [after], after


def backward_step(saved: Any, sensitivities: list[Array], weights: Weights) -> tuple[Array, list[Array], Array, Array]:
    at_preactivation = sensitivities[0] * (1 - saved**2)
    before = [at_preactivation @ weights.weight_hh]
    return at_preactivation @ weights.weight_ih, before, at_preactivation, at_preactivation
