"""The simple RNN: its activations, and a padded example worked out by hand."""

import pytest
import torch
from torch import Tensor

from clew.errors import ConfigError
from clew.layers.activations import activation_named
from clew.layers.recurrent import KERNELS
from clew.layers.rnn import RNN_ACTIVATIONS, RNNLayer, rnn_step
from reference.weights import draw, randomized

VALID = torch.tensor([[True, True, True, True], [False, True, False, True], [False, False, False, False]])


def outcome(layer: RNNLayer, kernel: str) -> list[Tensor]:
    inputs, initial = draw(3, 4, 2).requires_grad_(), draw(3, 3, seed=3).requires_grad_()
    rows, (final,) = layer(inputs, VALID, (initial,), kernel=kernel)
    loss = (rows * draw(3, 4, 3, seed=4)).sum() + (final * draw(3, 3, seed=5)).sum()
    return [rows, final, *torch.autograd.grad(loss, [inputs, initial, *layer.parameters()])]


@pytest.mark.parametrize("activation", RNN_ACTIVATIONS)
def test_every_activation_has_the_same_values_and_gradients_in_every_kernel(activation: str) -> None:
    layer = randomized(RNNLayer(2, 3, activation))
    expected = outcome(layer, "explicit")
    for kernel in KERNELS if layer.has_fused_kernel else ("derived",):
        for value, other in zip(outcome(layer, kernel), expected, strict=True):
            torch.testing.assert_close(value, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("activation", RNN_ACTIVATIONS)
def test_the_derived_backward_of_every_activation_passes_gradcheck(activation: str) -> None:
    layer = randomized(RNNLayer(2, 3, activation))
    arguments = (draw(3, 4, 2).requires_grad_(), draw(3, 3, seed=3).requires_grad_())
    assert torch.autograd.gradcheck(lambda rows, state: layer(rows, VALID, (state,), kernel="derived")[0], arguments)


def test_one_step_is_the_activated_affine_map() -> None:
    layer = randomized(RNNLayer(2, 3, "relu"))
    x, h = draw(5, 2), draw(5, 3, seed=3)
    step = rnn_step(layer.project(x), h, layer.weight_hh, layer.bias_hh, activation_named("relu"))
    expected = x @ layer.weight_ih.T + layer.bias_ih + h @ layer.weight_hh.T + layer.bias_hh
    torch.testing.assert_close(step.preactivation, expected)
    torch.testing.assert_close(step.state, expected.clamp(min=0))


@pytest.mark.parametrize("kernel", KERNELS)
def test_padding_is_read_by_neither_direction(kernel: str) -> None:
    """One unit, all parameters 0.5, inputs 1, 2, two padded steps; reversing the padded row would give .9635, .9849."""
    layer = RNNLayer(1, 1)
    for parameter in layer.parameters():
        torch.nn.init.constant_(parameter, 0.5)
    inputs, valid = torch.tensor([[[1.0], [2.0], [0.0], [0.0]]]), torch.tensor([[True, True, False, False]])
    rows, (final,) = layer(inputs, valid, kernel=kernel)
    torch.testing.assert_close(rows.flatten(), torch.tensor([0.9051, 0.9853, 0, 0]), rtol=0, atol=5e-5)
    assert final.item() == rows[0, 1].item()
    rows, (final,) = layer(inputs, valid, reverse=True, kernel=kernel)
    torch.testing.assert_close(rows.flatten(), torch.tensor([0.9627, 0.9640, 0, 0]), rtol=0, atol=5e-5)
    assert final.item() == rows[0, 0].item()


def test_an_activation_without_a_fused_kernel_refuses_it() -> None:
    layer = RNNLayer(2, 3, "sigmoid")
    with pytest.raises(ConfigError) as caught:
        layer(torch.zeros(1, 2, 2), kernel="fused")
    expected = (
        "RNNLayer: kernel must be 'derived' or 'explicit', got 'fused'. torch has no fused kernel for this activation."
    )
    assert str(caught.value) == expected


@pytest.mark.parametrize("activation", ["tnh", "gelu"])
def test_other_activations_are_refused(activation: str) -> None:
    with pytest.raises(ConfigError, match=f"RNNLayer: activation must be .*, got '{activation}'"):
        RNNLayer(2, 3, activation)
