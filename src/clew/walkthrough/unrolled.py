"""A recurrent layer taken step by step, with a copy of the layer for each use of its weights.

The copies hold equal weights, so the states are those of the layer; and the gradient of a copy is what its step
contributes to the shared weights. Every value is the layer's own step equation applied once, every derivative is
autograd's through it. Start with `half_squared_pass`.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from clew.layers import Linear, RecurrentLayer, RNNLayer

Numbers = Sequence[Any]  # numbers, or rows of numbers


def rows_of(*rows: float | Numbers) -> Float[Tensor, "..."]:
    """Make a float64 tensor of numbers that stand in the text, or were chosen."""
    return torch.tensor(rows, dtype=torch.float64)


def with_weights(layer: nn.Module, **values: Numbers) -> None:
    """Give a layer chosen parameters, in float64; those not named become zero and are held fixed.

    A number alone fills its parameter, whatever its shape.
    """
    layer.double()
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            is_chosen = name in values
            chosen = torch.tensor(values.pop(name, 0.0), dtype=torch.float64)
            parameter.copy_(chosen.expand_as(parameter)).requires_grad_(is_chosen)
    assert not values, f"{type(layer).__name__} has no {sorted(values)}"


def rnn_with(
    weight_ih: Numbers, weight_hh: Numbers, activation: str = "tanh", bias_hh: Numbers | None = None
) -> RNNLayer:
    """Make a simple recurrent layer of chosen weights; without `bias_hh` its biases are fixed at zero."""
    layer = RNNLayer(len(weight_ih[0]), len(weight_hh), activation)
    biases = {} if bias_hh is None else {"bias_hh": bias_hh}
    with_weights(layer, weight_ih=weight_ih, weight_hh=weight_hh, **biases)
    return layer


def head_with(weight: Numbers, bias: Numbers | None = None) -> Linear:
    """Make a prediction head of chosen weights, without an offset unless `bias` is given."""
    head = Linear(len(weight[0]), len(weight), bias=bias is not None)
    with_weights(head, weight=weight, **({} if bias is None else {"bias": bias}))
    return head


@dataclass(frozen=True)
class Unrolled:
    """The steps of a layer over one batch: its copies, the inputs and states that went in, the named quantities."""

    uses: Sequence[RecurrentLayer]
    inputs: Sequence[Float[Tensor, "batch features"]]
    initial: tuple[Tensor, ...]
    quantities: Sequence[Any]

    @property
    def states(self) -> list[Float[Tensor, "batch hidden"]]:
        """The state after each step."""
        return [step.state for step in self.quantities]

    def before(self, step: int) -> tuple[Tensor, ...]:
        """Give each part of the state that went into a step."""
        parts = self.uses[0].state_parts
        return self.initial if step == 0 else tuple(getattr(self.quantities[step - 1], part) for part in parts)


def unroll(
    layer: RecurrentLayer, inputs: Float[Tensor, "batch time features"], initial: tuple[Tensor, ...] | None = None
) -> Unrolled:
    """Apply a layer's step equations one step after the other; zeros go in first unless `initial` is given."""
    zeros = torch.zeros(len(inputs), layer.hidden, dtype=inputs.dtype)
    given = tuple(zeros for _ in layer.state_parts) if initial is None else initial
    first = tuple(part.detach().clone().requires_grad_() for part in given)
    uses = [deepcopy(layer) for _ in range(inputs.shape[1])]
    observed = [row.detach().clone().requires_grad_() for row in inputs.unbind(1)]
    taken: list[Any] = []
    for use, x in zip(uses, observed, strict=True):
        states = tuple(getattr(taken[-1], part) for part in layer.state_parts) if taken else first
        taken.append(use.step(use.project(x), states))
    return Unrolled(uses, observed, first, taken)


@dataclass(frozen=True)
class LearningPass:
    """A forward pass with its loss: the steps, the predictions by scored step, and whatever autograd says of them."""

    layer: RNNLayer
    head: Linear
    steps: Unrolled
    predictions: dict[int, Float[Tensor, "batch outputs"]]
    loss: Float[Tensor, ""]

    def sensitivity(self, value: Tensor) -> Tensor:
        """Give the derivative of the loss with respect to any value of the pass; zero where no path leads there."""
        return derivative(self.loss, value)

    def direct(self, step: int) -> Float[Tensor, "batch hidden"]:
        """Give what a step's own prediction sends to its state, zero where there is none."""
        state = self.steps.states[step]
        if step not in self.predictions:
            return torch.zeros_like(state)
        prediction = self.predictions[step]
        return derivative(prediction, state, self.sensitivity(prediction))

    def later(self, step: int) -> Float[Tensor, "batch hidden"]:
        """Give what the next step sends back to a simple RNN's state, zero after the last step."""
        state = self.steps.states[step]
        if step + 1 == len(self.steps.quantities):
            return torch.zeros_like(state)
        following = self.steps.quantities[step + 1].preactivation
        return derivative(following, state, self.sensitivity(following))

    def slopes(self, step: int) -> Float[Tensor, "batch hidden"]:
        """Give the activation's slope at a step's preactivation."""
        taken = self.steps.quantities[step]
        return self.layer.activation.slope(taken.preactivation, taken.state)

    def contribution(self, step: int, name: str) -> Tensor:
        """Give what one step adds to the gradient of a shared parameter."""
        return self.sensitivity(self.steps.uses[step].get_parameter(name))


def derivative(of: Tensor, by: Tensor, weights: Tensor | None = None) -> Tensor:
    """Give the derivative of a number, or of a vector weighted by `weights`; zeros where there is no path."""
    found = torch.autograd.grad(of, by, weights, retain_graph=True, allow_unused=True)[0]
    return torch.zeros_like(by) if found is None else found


def half_squared_error(
    prediction: Float[Tensor, "batch outputs"], target: Float[Tensor, "batch outputs"]
) -> Float[Tensor, ""]:
    """Sum half the squared errors over outputs and examples; no mean anywhere."""
    return 0.5 * functional.mse_loss(prediction, target, reduction="sum")


def half_squared_pass(
    layer: RNNLayer,
    head: Linear,
    inputs: Float[Tensor, "batch time features"],
    targets: dict[int, Float[Tensor, "batch outputs"]],
    share: float = 1.0,
) -> LearningPass:
    """Run a layer over its inputs, read a prediction at each step that has a target, and add up their losses.

    Args:
        layer: The simple recurrent layer.
        head: The map from a state to a prediction, shared by all steps.
        inputs: Observations.
        targets: The target of each scored step.
        share: What the sum of all losses is multiplied by, such as one over the number of steps for their mean.
    """
    steps = unroll(layer, inputs)
    predictions = {step: head(steps.states[step]) for step in targets}
    losses = [half_squared_error(predictions[step], target) for step, target in targets.items()]
    return LearningPass(layer, head, steps, predictions, share * torch.stack(losses).sum())
