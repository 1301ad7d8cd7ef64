"""Activations: values as in torch, slopes as autograd finds them."""

import pytest
import torch
from torch import nn

from clew.errors import ConfigError
from clew.layers.activations import ACTIVATIONS, activation_named

MODULES = {"identity": nn.Identity(), "tanh": nn.Tanh(), "relu": nn.ReLU(), "sigmoid": nn.Sigmoid(), "gelu": nn.GELU()}
POINTS = torch.tensor([-30.0, -2.0, -0.3, 0.0, 0.3, 2.0, 30.0], dtype=torch.float64)


def test_these_are_all() -> None:
    assert set(ACTIVATIONS) == set(MODULES)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_are_those_of_torch(name: str) -> None:
    assert torch.equal(activation_named(name).value(POINTS), MODULES[name](POINTS))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_are_those_of_autograd(name: str) -> None:
    points = POINTS.clone().requires_grad_()
    activation = activation_named(name)
    output = activation.value(points)
    (expected,) = torch.autograd.grad(output.sum(), points)
    torch.testing.assert_close(activation.slope(points, output), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["identity", "tanh", "relu", "sigmoid"])
def test_overwriting_gives_the_value_and_its_slope_follows_from_it(name: str) -> None:
    activation = activation_named(name)
    assert activation.overwrite is not None
    points = POINTS.clone()
    overwritten = activation.overwrite(points)
    assert overwritten.data_ptr() == points.data_ptr()
    assert torch.equal(overwritten, activation.value(POINTS))
    assert torch.equal(activation.slope(None, overwritten), activation.slope(POINTS, overwritten))


def test_the_relu_slope_is_zero_at_zero() -> None:
    assert activation_named("relu").slope(None, torch.zeros(1)).item() == 0


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        activation_named("tahn")
    expected = "activation_named: activation must be a known activation, got 'tahn'. Did you mean 'tanh'?"
    assert str(caught.value) == expected
