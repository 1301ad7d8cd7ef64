"""Positions: values of the worked example, any width, and counting that padding cannot move."""

from functools import partial

import pytest
import torch
from torch import Tensor

from clew.errors import ConfigError, ShapeError
from clew.layers.positions import LearnedPositions, Positions, SinusoidalPositions, count_positions, sinusoids
from reference import transformer
from reference.weights import draw, randomized

close = partial(torch.testing.assert_close, rtol=0, atol=1e-10)


def both(max_positions: int = 6, width: int = 5) -> list[Positions]:
    return [randomized(LearnedPositions(max_positions, width)), SinusoidalPositions(width, max_positions)]


@pytest.mark.parametrize("width", [1, 2, 5, 6, 12])
def test_sinusoids_equal_the_numpy_twin(width: int) -> None:
    close(sinusoids(torch.arange(40), width), torch.from_numpy(transformer.sinusoids(40, width)))


def test_sinusoids_of_the_worked_example() -> None:
    table = sinusoids(torch.arange(7), 5)
    assert table[0].tolist() == [0, 1, 0, 1, 0]
    worked = torch.tensor([0.141, -0.990, 0.0753, 0.997, 0.00189], dtype=torch.float64)
    torch.testing.assert_close(table[3], worked, rtol=5e-3, atol=0)


def test_a_pair_at_a_distance_is_a_rotation_of_the_pair() -> None:
    table, step = sinusoids(torch.arange(30), 6), 4
    for first in (0, 2, 4):
        angle = torch.tensor(step * 10000 ** (-first / 6), dtype=torch.float64)
        rotation = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()]).view(2, 2)
        close(table[step:, first : first + 2], table[:-step, first : first + 2] @ rotation.T)


@pytest.mark.parametrize("layer", both(), ids=["learned", "sinusoidal"])
def test_valid_steps_are_counted_and_padding_is_not(layer: Positions) -> None:
    rows = draw(2, 6, 5)
    valid = torch.tensor([[False, False, True, True, False, True], [True, True, True, False, False, False]])
    added = layer(rows, valid) - rows
    table = layer(torch.zeros(1, 6, 5, dtype=torch.float64))[0]
    close(added[0, [2, 3, 5]], table[:3])
    close(added[1, :3], table[:3])
    assert count_positions(valid).tolist() == [[0, 0, 0, 1, 0, 2], [0, 1, 2, 0, 0, 0]]


@pytest.mark.parametrize("layer", both(), ids=["learned", "sinusoidal"])
def test_all_valid_is_the_same_as_no_padding(layer: Positions) -> None:
    rows = draw(3, 6, 5)
    assert torch.equal(layer(rows), layer(rows, torch.ones(3, 6, dtype=torch.bool)))


def test_only_valid_positions_get_a_gradient() -> None:
    layer, valid = LearnedPositions(6, 5), torch.tensor([[False, True, True, False]])
    output = layer(torch.zeros(1, 4, 5), valid)
    (gradient,) = torch.autograd.grad(output.masked_fill(~valid.unsqueeze(-1), 0).sum(), [layer.weight])
    assert torch.equal(gradient, (torch.arange(6) < 2).float().unsqueeze(1).expand(6, 5))


@pytest.mark.parametrize("layer", both(), ids=["learned", "sinusoidal"])
def test_a_position_past_the_table_is_refused_with_the_remedy(layer: Positions) -> None:
    name = type(layer).__name__
    with pytest.raises(ShapeError) as refusal:
        layer(draw(2, 7, 5))
    remedy = "Build it with max_positions=7, or cut the sequences."
    assert str(refusal.value) == f"{name}: steps must be at most max_positions=6, got 7. {remedy}"
    valid = torch.ones(2, 7, dtype=torch.bool)
    valid[0, 0] = False
    with pytest.raises(ShapeError) as refusal:
        layer(draw(2, 7, 5), valid)
    assert str(refusal.value) == f"{name}: steps must be at most max_positions=6, got 7 at row 1. {remedy}"


@pytest.mark.parametrize("layer", both(), ids=["learned", "sinusoidal"])
def test_padding_past_the_table_is_no_position(layer: Positions) -> None:
    valid = torch.ones(2, 9, dtype=torch.bool)
    valid[:, 6:] = False
    rows = draw(2, 9, 5)
    close(layer(rows, valid)[:, :6], layer(rows[:, :6]))


def test_sinusoids_follow_type_and_are_not_saved() -> None:
    layer = SinusoidalPositions(5, 6)
    table = transformer.sinusoids(6, 5)
    assert not layer.state_dict()
    for kind, tolerance in ((torch.float32, 1e-7), (torch.float64, 1e-15), (torch.float32, 1e-7)):
        added: Tensor = layer.to(kind)(torch.zeros(1, 6, 5, dtype=kind))[0]
        torch.testing.assert_close(added, torch.from_numpy(table).to(kind), rtol=0, atol=tolerance)


def test_learned_positions_start_as_torch_embeddings_do() -> None:
    weight = LearnedPositions(200, 50, generator=torch.Generator().manual_seed(4)).weight
    assert abs(weight.mean().item()) < 0.03
    assert abs(weight.std().item() - 1) < 0.03
    assert torch.equal(weight, LearnedPositions(200, 50, generator=torch.Generator().manual_seed(4)).weight)


def test_empty_tables_are_refused() -> None:
    with pytest.raises(ConfigError, match="LearnedPositions: sizes must be at least 1, got width=5, max_positions=0"):
        LearnedPositions(0, 5)
