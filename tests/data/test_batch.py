import pytest
import torch

from clew.data import Batch
from clew.errors import ShapeError


def make_batch() -> Batch:
    valid = torch.tensor([[True, True, False], [True, True, True]])
    return Batch(torch.tensor([[1, 2, 0], [3, 4, 5]]), valid, torch.tensor([7, 8]))


def test_select_takes_every_part_in_the_order_of_the_index() -> None:
    chosen = make_batch().select(torch.tensor([1, 0, 1]))
    assert len(chosen) == 3
    assert chosen.inputs[:, 0].tolist() == [3, 1, 3]
    assert chosen.valid is not None and chosen.valid[:, 2].tolist() == [True, False, True]
    assert chosen.targets is not None and chosen.targets.tolist() == [8, 7, 8]


def test_select_by_mask_and_absent_parts() -> None:
    chosen = Batch(torch.arange(6.0).reshape(3, 2)).select(torch.tensor([False, True, True]))
    assert chosen.inputs.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert chosen.valid is None and chosen.targets is None
    assert make_batch().to("cpu").fingerprint() == make_batch().fingerprint()


def test_fingerprint_sees_every_part_type_and_shape_but_not_the_memory_layout() -> None:
    batch = make_batch()
    others = [
        Batch(batch.inputs),
        Batch(batch.inputs, batch.valid),
        Batch(batch.inputs, targets=batch.targets),
        Batch(batch.inputs.int(), batch.valid, batch.targets),
        Batch(batch.inputs.reshape(1, 6)),
        Batch(batch.inputs.float()),
        Batch(batch.inputs.to(torch.bfloat16)),
        Batch(batch.inputs, ~batch.valid if batch.valid is not None else None, batch.targets),
    ]
    prints = [other.fingerprint() for other in (batch, *others)]
    assert len(set(prints)) == len(prints)
    transposed = Batch(batch.inputs.T.contiguous().T, batch.valid, batch.targets)
    assert transposed.fingerprint() == batch.fingerprint()


def test_parts_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ShapeError) as error:
        Batch(torch.zeros(2, 3), torch.ones(2, 4, dtype=torch.bool))
    assert str(error.value) == "Batch: valid must be of shape (batch, time) = (2, 3), got (2, 4)."
    with pytest.raises(ShapeError) as error:
        Batch(torch.zeros(2, 3), targets=torch.zeros(3))
    assert str(error.value) == "Batch: targets must be 2 rows, as inputs, got 3."
