"""The embedding table: torch.nn.Embedding with an explicit generator and readable errors."""

import jaxtyping
import pytest
import torch
from torch import nn

from clew.errors import DataError, ShapeError
from clew.layers.embedding import Embedding


def test_initial_weights_are_those_of_torch_for_an_equal_seed() -> None:
    layer = Embedding(7, 4, generator=torch.Generator().manual_seed(3))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        assert torch.equal(layer.weight, nn.Embedding(7, 4).weight)


def test_each_id_gets_its_row_and_its_gradient() -> None:
    layer = Embedding(7, 4)
    ids = torch.tensor([[6, 0], [0, 2]])
    rows = layer(ids)
    assert torch.equal(rows[0, 0], layer.weight[6])
    rows.sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [2, 0, 1, 0, 0, 0, 1]
    assert layer(ids[:0]).shape == (0, 2, 4)


@pytest.mark.parametrize(("bad", "place"), [(7, (1, 0)), (-1, (1, 1))])
def test_the_first_id_out_of_range_is_named_with_its_place(bad: int, place: tuple[int, int]) -> None:
    ids = torch.tensor([[6, 0], [3, 2], [9, 9]])
    ids[place] = bad
    with pytest.raises(DataError) as caught:
        Embedding(7, 4)(ids)
    expected = f"Embedding: ids must be in [0, vocab=7), got {bad} at index {place}. Fix the ids or enlarge vocab."
    assert str(caught.value) == expected


def test_real_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ShapeError, match="Embedding: ids must be integers, got"):
        Embedding(7, 4)(torch.zeros(2, 3))
