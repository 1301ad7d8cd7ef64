import pytest
import torch

from clew.data import Batch
from clew.errors import ShapeError
from clew.tasks import Classification, order_control, shuffled_order
from tasks.members import Function, one_hot


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_shuffling_moves_real_steps_only_and_keeps_them_all() -> None:
    inputs = torch.arange(1.0, 41.0).reshape(2, 10, 2)
    valid = torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]]).bool()
    batch = shuffled_order(Batch(inputs, valid, torch.tensor([0, 1])), seeded())
    assert torch.equal(batch.inputs[~valid], inputs[~valid])
    for row in range(2):
        before, after = inputs[row][valid[row]], batch.inputs[row][valid[row]]
        assert not torch.equal(before, after)
        assert torch.equal(before, after[after[:, 0].argsort()])
    assert torch.equal(batch.inputs, shuffled_order(Batch(inputs, valid), seeded()).inputs)
    assert not torch.equal(batch.inputs, shuffled_order(Batch(inputs, valid), seeded(1)).inputs)
    ids = torch.arange(12).reshape(2, 6)
    assert torch.equal(shuffled_order(Batch(ids), seeded()).inputs.sort(dim=1).values, ids)


def test_every_place_is_equally_likely() -> None:
    ids = torch.arange(4).repeat(4000, 1)
    valid = torch.ones(4000, 4, dtype=torch.bool)
    shares = [(shuffled_order(Batch(ids, valid), seeded()).inputs[:, 0] == step).double().mean() for step in range(4)]
    assert shares == pytest.approx([0.25] * 4, abs=0.03)


def test_a_model_that_reads_order_loses_it_and_one_that_does_not_keeps_all() -> None:
    """The class is the first step; its number of occurrences says nothing."""
    ids = torch.stack([torch.randperm(4, generator=seeded(row)) for row in range(60)])
    data = Batch(ids, None, ids[:, 0])
    task = Classification(4)
    reads = order_control(task, Function(lambda x, valid: one_hot(x[:, 0], 4)), data, seeded())
    assert reads.accuracy == 1.0 and reads.shuffled_accuracy < 0.5 and reads.order_used
    assert reads.gained == 0 and reads.lost == round(60 * (1 - reads.shuffled_accuracy))
    blind = order_control(task, Function(lambda x, valid: one_hot(x.sum(dim=1) - 6, 4)), data, seeded())
    assert blind.accuracy == blind.shuffled_accuracy and not blind.order_used and blind.p == 1.0
    assert blind.words.startswith("no use of order was shown: accuracy 0.") and "order was used" in reads.words


def test_images_have_no_order_of_steps() -> None:
    with pytest.raises(ShapeError, match="Cut images to rows"):
        shuffled_order(Batch(torch.zeros(2, 1, 3, 3)), seeded())
