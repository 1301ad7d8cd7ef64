"""Dropout: what is dropped follows the generator, the mean stays, evaluation is untouched."""

import copy

import pytest
import torch
from torch import nn

from clew.errors import ConfigError
from clew.layers.dropout import Dropout, share_dropout_generator


def test_equal_generator_states_drop_the_same_and_the_next_call_another() -> None:
    layer, rows = Dropout(0.4, torch.Generator().manual_seed(5)), torch.ones(3, 4, 5)
    first, second = layer(rows), layer(rows)
    layer.generator.manual_seed(5)
    torch.rand(100)  # the hidden generator of torch is not asked
    assert torch.equal(layer(rows), first)
    assert not torch.equal(first, second)


def test_the_given_fraction_is_dropped_and_the_mean_stays() -> None:
    dropped = Dropout(0.3)(torch.ones(200, 500))
    assert abs((dropped == 0).float().mean().item() - 0.3) < 0.01
    assert abs(dropped.mean().item() - 1) < 0.02
    torch.testing.assert_close(dropped[dropped != 0].unique(), torch.tensor([1 / 0.7]))


def test_the_gradient_passes_where_the_value_passed() -> None:
    rows = torch.ones(4, 5, requires_grad=True)
    output = Dropout(0.5)(rows)
    (gradient,) = torch.autograd.grad(output.sum(), [rows])
    assert torch.equal(gradient, output.detach())


@pytest.mark.parametrize("layer", [Dropout(0.5).eval(), Dropout(0.0)], ids=["evaluation", "zero"])
def test_an_idle_layer_returns_its_input_and_draws_nothing(layer: Dropout) -> None:
    rows, state = torch.ones(3, 4), layer.generator.get_state()
    assert layer(rows) is rows
    assert torch.equal(layer.generator.get_state(), state)


def test_single_and_double_precision_drop_the_same() -> None:
    single, double = Dropout(0.5)(torch.ones(9, 9)), Dropout(0.5)(torch.ones(9, 9, dtype=torch.float64))
    assert torch.equal(single.double(), double)


def test_a_shared_generator_stays_shared_in_a_copy() -> None:
    module = nn.Sequential(Dropout(0.5), Dropout(0.5))
    share_dropout_generator(module, torch.Generator().manual_seed(2))
    first, second = copy.deepcopy(module)
    assert first.generator is second.generator
    assert not torch.equal(first(torch.ones(5, 5)), second(torch.ones(5, 5)))


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 2.0])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with pytest.raises(ConfigError, match=rf"Dropout: fraction must be in \[0, 1\), got {fraction}"):
        Dropout(fraction)
