"""A layer taken step by step is the layer, and its copies' gradients add up to the layer's; padding plays no part."""

import pytest
import torch

from clew.layers import GRULayer, Linear, LSTMLayer, RecurrentLayer, RNNLayer
from clew.walkthrough.unrolled import derivative, half_squared_error, half_squared_pass, unroll
from reference.weights import draw, randomized


@pytest.mark.parametrize("layer", [RNNLayer(3, 2), RNNLayer(3, 2, "relu"), GRULayer(3, 2), LSTMLayer(3, 2)])
def test_the_steps_are_those_of_the_layer_and_the_copies_share_its_gradient(layer: RecurrentLayer) -> None:
    layer = randomized(layer)
    inputs, initial = draw(2, 4, 3), tuple(draw(2, 2, seed=seed) for seed in range(7, 7 + len(layer.state_parts)))
    steps, (rows, _) = unroll(layer, inputs, initial), layer(inputs, initial=initial)
    torch.testing.assert_close(torch.stack(steps.states, dim=1), rows, rtol=0, atol=1e-12)
    for name, parameter in layer.named_parameters():
        whole = derivative((rows * rows).sum(), parameter)
        uses = [
            derivative(sum(state.square().sum() for state in steps.states), use.get_parameter(name))
            for use in steps.uses
        ]
        torch.testing.assert_close(torch.stack(uses).sum(0), whole, rtol=0, atol=1e-12)


def test_a_pass_has_the_gradients_of_its_loss() -> None:
    layer, head = randomized(RNNLayer(3, 2)), Linear(2, 2).double()
    inputs, targets = draw(2, 4, 3), {1: draw(2, 2, seed=3), 3: draw(2, 2, seed=4)}
    model = half_squared_pass(layer, head, inputs, targets, share=0.25)
    predictions = head(layer(inputs)[0])
    loss = 0.25 * (
        half_squared_error(predictions[:, 1], targets[1]) + half_squared_error(predictions[:, 3], targets[3])
    )
    torch.testing.assert_close(model.loss, loss, rtol=0, atol=1e-14)
    for step, state in enumerate(model.steps.states):
        total = model.direct(step) + model.later(step)
        torch.testing.assert_close(total, model.sensitivity(state), rtol=0, atol=1e-14)
    torch.testing.assert_close(model.sensitivity(head.weight), derivative(loss, head.weight), rtol=0, atol=1e-14)
