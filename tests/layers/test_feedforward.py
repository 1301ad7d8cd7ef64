"""The MLP against a numpy twin, its quantities, its dropout."""

from functools import partial

import pytest
import torch

from clew.errors import ConfigError
from clew.layers.feedforward import MLP
from reference.transformer import mlp
from reference.weights import arrays, draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_output_equals_the_numpy_twin_and_the_quantities(activation: str) -> None:
    layer, rows = randomized(MLP(5, 8, activation)), draw(3, 4, 5)
    output = layer(rows).detach()
    close(output, torch.from_numpy(mlp(rows.numpy(), arrays(layer), "", activation)))
    found = layer.quantities(rows)
    assert {name: value.shape[-1] for name, value in found.items()} == {"preactivation": 8, "hidden": 8, "output": 5}
    close(found["output"].detach(), output)
    close(found["hidden"], layer.activation.value(found["preactivation"]))


def test_maps_start_different_and_follow_the_generator() -> None:
    first, second = MLP(6, 6), MLP(6, 6)
    assert torch.equal(first.hidden_map.weight, second.hidden_map.weight)
    assert not torch.equal(first.hidden_map.weight, first.output_map.weight)
    other = MLP(6, 6, generator=torch.Generator().manual_seed(1))
    assert not torch.equal(first.hidden_map.weight, other.hidden_map.weight)


def test_dropout_is_for_training_only() -> None:
    layer, rows = randomized(MLP(5, 64, dropout=0.5)), draw(3, 4, 5)
    assert not torch.equal(layer(rows), layer(rows))
    layer.eval()
    close(layer(rows), layer.quantities(rows)["output"])


def test_work_is_counted_and_unknown_activations_are_refused() -> None:
    assert MLP(5, 8).multiply_adds(7) == 7 * (5 * 8 + 8 * 5)
    with pytest.raises(ConfigError, match="Did you mean 'gelu'"):
        MLP(5, 8, "gelo")
