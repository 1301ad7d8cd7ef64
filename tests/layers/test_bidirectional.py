"""Two directions: each is the one-directional layer, joined forward first."""

import pytest
import torch
from torch import nn

from clew.errors import ConfigError
from clew.layers.bidirectional import BidirectionalLayer
from clew.layers.gru import GRULayer
from clew.layers.lstm import LSTMLayer
from clew.layers.rnn import RNNLayer
from reference.weights import draw, randomized

VALID = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]).bool()


@pytest.mark.parametrize("kind", [RNNLayer, GRULayer, LSTMLayer])
def test_each_direction_is_its_layer(kind: type) -> None:
    layer = randomized(BidirectionalLayer(kind(2, 3), kind(2, 3)))
    inputs = draw(3, 4, 2)
    initial = tuple(draw(3, 6, seed=3 + part) for part in range(len(layer.state_parts)))
    rows, final = layer(inputs, VALID, initial)
    for reverse, half, one in [(False, slice(0, 3), layer.forward_layer), (True, slice(3, 6), layer.backward_layer)]:
        expected, states = one(inputs, VALID, tuple(part[:, half] for part in initial), reverse=reverse)
        assert torch.equal(rows[..., half], expected)
        assert all(torch.equal(part[:, half], state) for part, state in zip(final, states, strict=True))
    assert layer.width == 6
    assert layer.multiply_adds(4) == 2 * layer.forward_layer.multiply_adds(4)


def test_the_backward_direction_starts_at_the_last_valid_step() -> None:
    layer = randomized(BidirectionalLayer(GRULayer(2, 3), GRULayer(2, 3)))
    inputs = draw(1, 3, 2)
    padded = nn.functional.pad(inputs, (0, 0, 0, 2))
    rows, final = layer(padded, torch.tensor([[True, True, True, False, False]]))
    expected, expected_final = layer(inputs)
    assert torch.equal(rows[:, :3], expected)
    assert torch.equal(final[0], expected_final[0])
    unaware, _ = layer(padded)
    assert (unaware[:, :3] - expected).abs().max() > 1e-3, "without valid the padding is read"


def test_quantities_are_named_by_direction() -> None:
    layer = randomized(BidirectionalLayer(GRULayer(2, 3), GRULayer(2, 3)))
    quantities = layer.quantities(draw(3, 4, 2), VALID)
    assert set(quantities) == {
        f"{direction}.{name}"
        for direction in ("forward_layer", "backward_layer")
        for name in ("reset_gate", "update_gate", "candidate", "state")
    }
    rows, _ = layer(draw(3, 4, 2), VALID)
    joined = torch.cat([quantities["forward_layer.state"], quantities["backward_layer.state"]], dim=-1)
    torch.testing.assert_close(joined, rows, rtol=0, atol=1e-12)


@pytest.mark.parametrize("other", [GRULayer(2, 4), GRULayer(3, 3), LSTMLayer(2, 3)])
def test_unequal_directions_are_refused(other: nn.Module) -> None:
    with pytest.raises(ConfigError, match="BidirectionalLayer: both layers must be of one class and size"):
        BidirectionalLayer(GRULayer(2, 3), other)
