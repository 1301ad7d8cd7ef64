"""The simple recurrent layer: an affine map of input and state, and an activation.

`rnn_step` states the equations. `_forward_through_time` computes the same in place and `_backward_through_time` is
derived from them; tests hold both against the equations, autograd, torch.nn and numpy.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from clew.errors import ConfigError, complain, did_you_mean
from clew.layers.activations import ACTIVATIONS, Activation
from clew.layers.recurrent import Bias, RecurrentLayer, Sequence, State, Weight, fused_options, last_states
from clew.layers.through_time import Steps, project_all_steps, states_before, step_by_step, sum_over_uses, with_initial
from clew.layers.valid_steps import ValidSteps
from clew.ledger.description import Described

# Those whose slope follows from the output, so that the derived backward needs no preactivation.
RNN_ACTIVATIONS = tuple(name for name, activation in ACTIVATIONS.items() if activation.overwrite is not None)
AXES = ("batch", "time", "hidden")
SOURCE = "Elman 1990"
FUSED_KERNELS = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}


class RNNQuantities(NamedTuple):
    """The named quantities of one step, each (..., hidden)."""

    preactivation: Float[Tensor, "*steps hidden"]
    state: Float[Tensor, "*steps hidden"]


def rnn_step(
    projected: Float[Tensor, "*steps hidden"],
    state: Float[Tensor, "*steps hidden"],
    weight_hh: Float[Tensor, "hidden hidden"],
    bias_hh: Float[Tensor, " hidden"],
    activation: Activation,
) -> RNNQuantities:
    """Advance a simple RNN by one step.

        z = x W_x' + b_x + h W_h' + b_h
        h' = phi(z)

    Args:
        projected: `x W_x' + b_x`.
        state: h, the state before the step.
        weight_hh: W_h.
        bias_hh: b_h.
        activation: phi.

    Source:
        Elman 1990, "Finding structure in time"; two biases as in torch.nn.RNN.
    """
    z = projected + functional.linear(state, weight_hh, bias_hh)
    return RNNQuantities(z, activation.value(z))


def _forward_through_time(
    inputs: Steps, initial: State, weight_ih: Weight, weight_hh: Weight, bias_ih: Bias, bias_hh: Bias, phi: Activation
) -> Steps:
    """Run all steps in place: each preactivation becomes its state."""
    states = project_all_steps(inputs, weight_ih, bias_ih + bias_hh)
    weight = weight_hh.t()
    overwrite = phi.overwrite
    assert overwrite is not None
    h = initial
    for z in states.unbind(0):
        h = overwrite(z.addmm_(h, weight))
    return states


def _backward_through_time(
    direct: Steps, states: Steps, weight_hh: Weight, phi: Activation
) -> tuple[Float[Tensor, "time+1 batch hidden"], Float[Tensor, "time batch hidden"]]:
    """Carry sensitivities from the last step to the first; g[v] is dL/dv.

        g[h'] = direct + what later steps send back
        g[z] = g[h'] * phi'(z)
        sent back: g[z] W_h

    The slopes of all steps are computed first, and become the sensitivities of the preactivations.

    Returns:
        The sensitivities of the states (the initial one first) and of the preactivations.
    """
    preactivations = phi.slope(None, states)
    total = with_initial(direct)
    for z, own, earlier in reversed(step_by_step(preactivations, total[1:], total[:-1])):
        earlier.addmm_(z.mul_(own), weight_hh)
    return total, preactivations


class _DerivedRNN(torch.autograd.Function):
    """The simple RNN over all steps, time-major, with the derived backward; differentiable once."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        initial: Tensor,
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Tensor,
        bias_hh: Tensor,
        phi: Activation,
    ) -> Tensor:
        states = _forward_through_time(inputs, initial, weight_ih, weight_hh, bias_ih, bias_hh, phi)
        ctx.save_for_backward(inputs, initial, weight_ih, weight_hh, states)
        ctx.phi = phi
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direct: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        inputs, initial, weight_ih, weight_hh, states = ctx.saved_tensors
        total, z = _backward_through_time(direct, states, weight_hh, ctx.phi)
        before = states_before(initial, states)
        shared = sum_over_uses(z, z, inputs, before, weight_ih, ctx.needs_input_grad[0])
        return shared.inputs, total[0], *shared[1:], None


class RNNLayer(RecurrentLayer):
    """One simple RNN layer in one direction; see `RecurrentLayer` for the arguments and `rnn_step` for the equations.

    Args:
        features: Width of the rows that come in.
        hidden: Width of the state.
        activation: "tanh", "relu", "identity" or "sigmoid".
        generator: Draws the initial weights; None for a new one seeded 0.

    Raises:
        ConfigError: If the activation is another one.

    >>> rows, (final,) = RNNLayer(features=3, hidden=4, activation="relu")(torch.zeros(2, 5, 3))
    >>> rows.shape, final.shape
    (torch.Size([2, 5, 4]), torch.Size([2, 4]))
    """

    gates = 1
    described: ClassVar[Mapping[str, Described]] = {
        "preactivation": Described(AXES, "z = x W_x' + b_x + h W_h' + b_h", SOURCE),
        "state": Described(AXES, "h' = phi(z)", SOURCE),
    }

    def __init__(
        self, features: int, hidden: int, activation: str = "tanh", generator: torch.Generator | None = None
    ) -> None:
        super().__init__(features, hidden, generator)
        if activation not in RNN_ACTIVATIONS:
            remedy = did_you_mean(str(activation), RNN_ACTIVATIONS)
            raise ConfigError(complain("RNNLayer", "activation", "one of an RNN's", f"'{activation}'", remedy))
        self.activation = ACTIVATIONS[activation]
        self.has_fused_kernel = activation in FUSED_KERNELS

    def step(self, projected: Float[Tensor, "*steps hidden"], states: tuple[Tensor, ...]) -> RNNQuantities:
        (state,) = states
        return rnn_step(projected, state, self.weight_hh, self.bias_hh, self.activation)

    def carry_back(
        self, direct: tuple[Tensor, ...], before: tuple[Tensor, ...], values: Mapping[str, Tensor]
    ) -> tuple[Tensor, ...]:
        states = values["state"].transpose(0, 1)
        total, _ = _backward_through_time(direct[0].transpose(0, 1), states, self.weight_hh, self.activation)
        return (total[1:].transpose(0, 1),)

    def _through_time(self, inputs: Steps, initial: tuple[State, ...]) -> tuple[Steps, ...]:
        (state,) = initial
        run = _DerivedRNN.apply if torch.is_grad_enabled() else _forward_through_time
        return (run(inputs, state, *self.weights, self.activation),)

    def _fused(
        self, inputs: Sequence, initial: tuple[State, ...], steps: ValidSteps | None
    ) -> tuple[Sequence, tuple[State, ...]]:
        run = FUSED_KERNELS[self.activation.name]
        rows, _ = run(inputs, initial[0].unsqueeze(0), self.weights, *fused_options())
        return rows, last_states((rows,), initial, steps)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, activation={self.activation.name}"
