"""Any recurrent cell over padded rows in numpy, forward and backward: one row and one step at a time, by the formulas.

A cell is a module with `forward_step(x, states, weights)` -> (states, saved) and `backward_step(saved, sensitivities,
weights)` -> (of x, of the states before, of x W_ih' + b_ih, of h W_hh' + b_hh). Nothing is shared with the package.
"""

from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Weights(NamedTuple):
    """The four parameters of a layer, or what belongs to each."""

    weight_ih: Array
    weight_hh: Array
    bias_ih: Array
    bias_hh: Array


class Outcome(NamedTuple):
    """Values, and gradients of `sum(rows * rows_sensitivity) + sum(final * final_sensitivity)`."""

    rows: Array
    final: list[Array]
    inputs_gradient: Array
    initial_gradient: list[Array]
    weights_gradient: Weights


def run(
    cell: ModuleType,
    inputs: Array,
    valid: NDArray[np.bool_],
    initial: list[Array],
    weights: Weights,
    rows_sensitivity: Array,
    final_sensitivity: list[Array],
    reverse: bool = False,
) -> Outcome:
    """Run a cell over the valid steps of each row, then back."""
    rows = np.zeros(rows_sensitivity.shape)
    final, initial_gradient = [part.copy() for part in initial], [np.zeros(part.shape) for part in initial]
    inputs_gradient = np.zeros(inputs.shape)
    gradient = Weights(*(np.zeros(weight.shape) for weight in weights))
    for row in range(len(inputs)):
        steps = [step for step in range(inputs.shape[1]) if valid[row, step]]
        steps = steps[::-1] if reverse else steps
        states = [part[row] for part in initial]
        befores, saves = [], []
        for step in steps:
            befores.append(states[0])
            states, saved = cell.forward_step(inputs[row, step], states, weights)
            saves.append(saved)
            rows[row, step] = states[0]
        sensitivities = [part[row].copy() for part in final_sensitivity]
        for step, before, saved in reversed(list(zip(steps, befores, saves, strict=True))):
            sensitivities[0] = sensitivities[0] + rows_sensitivity[row, step]
            to_input, sensitivities, at_input, at_state = cell.backward_step(saved, sensitivities, weights)
            inputs_gradient[row, step] = to_input
            gradient.weight_ih[:] += np.outer(at_input, inputs[row, step])
            gradient.weight_hh[:] += np.outer(at_state, before)
            gradient.bias_ih[:] += at_input
            gradient.bias_hh[:] += at_state
        for part in range(len(initial)):
            final[part][row] = states[part]
            initial_gradient[part][row] = sensitivities[part]
    return Outcome(rows, final, inputs_gradient, initial_gradient, gradient)
