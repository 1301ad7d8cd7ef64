"""The affine map: torch.nn.Linear with an explicit generator."""

import pytest
import torch
from torch import nn

from clew.errors import ShapeError
from clew.layers.linear import Linear
from reference.weights import draw


@pytest.mark.parametrize("bias", [True, False])
def test_initial_weights_are_those_of_torch_for_an_equal_seed(bias: bool) -> None:
    layer = Linear(5, 3, bias=bias, generator=torch.Generator().manual_seed(4))
    with torch.random.fork_rng():
        torch.manual_seed(4)
        module = nn.Linear(5, 3, bias=bias)
    for weight, expected in zip(layer.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(weight, expected, rtol=0, atol=1e-7)


def test_it_maps_each_row() -> None:
    layer = Linear(5, 3).double()
    rows = draw(2, 4, 5)
    torch.testing.assert_close(layer(rows), rows @ layer.weight.T + layer.bias)
    assert torch.equal(Linear(5, 3).weight, Linear(5, 3).weight), "a new generator seeded 0 by default"


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ShapeError) as caught:
        Linear(5, 3)(torch.zeros(2, 4))
    assert str(caught.value) == "Linear: rows must be (..., inputs=5), got (2, 4). Build the layer as Linear(4, 3)."
