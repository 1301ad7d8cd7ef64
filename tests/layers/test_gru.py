"""The GRU: its step, and that it is not one of the functions it is taken for."""

import numpy as np
import torch

from clew.layers.gru import GRULayer, gru_step
from reference import gru
from reference.through_time import Weights
from reference.weights import draw, randomized


def two_units() -> tuple[GRULayer, torch.Tensor, torch.Tensor]:
    return randomized(GRULayer(2, 2)), draw(1, 1, 2), draw(1, 2, seed=3)


def test_two_steps_follow_the_equations() -> None:
    layer, _, h = two_units()
    inputs = draw(1, 2, 2, seed=4)
    rows, (final,) = layer(inputs, initial=(h,))
    for step in range(2):
        quantities = gru_step(layer.project(inputs[:, step]), h, layer.weight_hh, layer.bias_hh)
        u, n = quantities.update_gate, quantities.candidate
        torch.testing.assert_close(quantities.state, u * h + (1 - u) * n)
        torch.testing.assert_close(rows[:, step], quantities.state, rtol=0, atol=1e-12)
        h = quantities.state
    assert torch.equal(final, rows[:, -1])


def test_resetting_before_the_recurrent_product_is_another_function() -> None:
    layer, x, h = two_units()
    weights = Weights(*(weight.detach().numpy() for weight in layer.weights))
    rows, _ = layer(x, initial=(h,))
    (after,), _ = gru.forward_step(x[0, 0].numpy(), [h[0].numpy()], weights)
    before = gru.reset_before_step(x[0, 0].numpy(), [h[0].numpy()], weights)
    np.testing.assert_allclose(rows[0, 0].detach(), after, rtol=0, atol=1e-12)
    assert np.abs(rows[0, 0].detach().numpy() - before).max() > 1e-2


def test_swapping_the_first_two_gates_is_another_function() -> None:
    layer, x, h = two_units()
    rows, _ = layer(x, initial=(h,))
    with torch.no_grad():
        for weight in layer.weights:
            weight.copy_(torch.cat([weight[2:4], weight[0:2], weight[4:6]]))
    swapped, _ = layer(x, initial=(h,))
    assert (rows - swapped).abs().max() > 1e-2


def test_an_update_gate_of_one_keeps_the_state_to_the_bit() -> None:
    layer, _, h = two_units()
    with torch.no_grad():
        layer.bias_ih[2:4] = 1e4
    rows, _ = layer(draw(1, 3, 2), initial=(h,), kernel="derived")
    assert torch.equal(rows, h.expand(1, 3, 2))
