"""What the derived backward of every recurrent cell shares; all arrays here are time-major.

Backpropagation through time has one sequential part, the sensitivities of states and gates from the last step to the
first, which each cell derives for itself. The rest is sums over all uses of a shared weight: one product each, below.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Steps = Float[Tensor, "time batch _"]


def project_all_steps(
    inputs: Float[Tensor, "time batch features"],
    weight: Float[Tensor, "gates_hidden features"],
    bias: Float[Tensor, " gates_hidden"],
) -> Float[Tensor, "time batch gates_hidden"]:
    """Give `x W' + b` of every step by one product, in memory of its own that the steps may overwrite."""
    time, batch, _ = inputs.shape
    projected = inputs.new_empty(time, batch, len(bias))
    torch.addmm(bias, inputs.flatten(0, 1), weight.t(), out=projected.flatten(0, 1))
    return projected


def states_before(
    initial: Float[Tensor, "batch hidden"], states: Float[Tensor, "time batch hidden"]
) -> Float[Tensor, "time batch hidden"]:
    """Give the state that went into each step."""
    return torch.cat([initial.unsqueeze(0), states[:-1]])


def step_by_step(*parts: Float[Tensor, "time batch ..."]) -> list[tuple[Tensor, ...]]:
    """Give the slices of each step side by side, as views."""
    return list(zip(*(part.unbind(0) for part in parts), strict=True))


def with_initial(direct: Float[Tensor, "time batch width"]) -> Float[Tensor, "time+1 batch width"]:
    """Put zeros for the initial state before the direct sensitivities; later steps add their part to each."""
    return torch.cat([torch.zeros_like(direct[:1]), direct])


class SharedGradients(NamedTuple):
    """Gradients of the arguments of a derived recurrence, in their order; the inputs' is None where nobody needs it."""

    inputs: Float[Tensor, "time batch features"] | None
    weight_ih: Float[Tensor, "gates_hidden features"]
    weight_hh: Float[Tensor, "gates_hidden hidden"]
    bias_ih: Float[Tensor, " gates_hidden"]
    bias_hh: Float[Tensor, " gates_hidden"]


def sum_over_uses(
    at_inputs: Float[Tensor, "time batch gates_hidden"],
    at_states: Float[Tensor, "time batch gates_hidden"],
    inputs: Float[Tensor, "time batch features"],
    before: Float[Tensor, "time batch hidden"],
    weight_ih: Float[Tensor, "gates_hidden features"],
    needs_inputs: bool,
) -> SharedGradients:
    """Sum what each step contributes to each shared weight.

        dL/dW_ih = sum_t a_t' x_t        dL/db_ih = sum_t a_t        dL/dx_t = a_t W_ih
        dL/dW_hh = sum_t s_t' h_{t-1}    dL/db_hh = sum_t s_t

    Args:
        at_inputs: a_t, sensitivities of `x_t W_ih' + b_ih`.
        at_states: s_t, sensitivities of `h_{t-1} W_hh' + b_hh`.
        inputs: x_t.
        before: h_{t-1}.
        weight_ih: W_ih.
        needs_inputs: False to leave out the product for the inputs.
    """
    flat_at_inputs = at_inputs.flatten(0, 1)
    flat_at_states = at_states.flatten(0, 1)
    bias_ih = flat_at_inputs.sum(0)
    return SharedGradients(
        (flat_at_inputs @ weight_ih).view(inputs.shape) if needs_inputs else None,
        flat_at_inputs.t() @ inputs.flatten(0, 1),
        flat_at_states.t() @ before.flatten(0, 1),
        bias_ih,
        bias_ih.clone() if at_states is at_inputs else flat_at_states.sum(0),
    )
