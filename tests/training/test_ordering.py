"""The order of an epoch: every sequence once, the same for all models, neighbours of similar length."""

import torch

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.training import TrainConfig, draw_batches, steps_of_an_epoch


def ragged(count: int = 500) -> SequenceData:
    lengths = torch.randint(1, 80, (count,), generator=torch.Generator().manual_seed(3))
    return SequenceData(torch.zeros(int(lengths.sum()), 1), torch.cat([torch.zeros(1), lengths.cumsum(0)]).long())


def drawn(data, seed: int = 0, **settings):
    return draw_batches(data, TrainConfig(**({"batch_size": 8} | settings)), torch.Generator().manual_seed(seed))


def padding(data: SequenceData, batches) -> float:
    padded = sum(len(rows) * int(data.lengths[rows].max()) for rows in batches)
    return 1 - int(data.lengths.sum()) / padded


def test_every_sequence_is_in_one_batch():
    data = ragged(501)
    batches = drawn(data)
    assert sorted(torch.cat(batches).tolist()) == list(range(501))
    assert len(batches) == steps_of_an_epoch(data, TrainConfig(batch_size=8)) == 63
    assert sorted(map(len, batches)) == [5] + [8] * 62


def test_grouping_leaves_little_padding():
    data = ragged()
    assert padding(data, drawn(data)) < 0.1
    assert padding(data, drawn(data, group_by_length=False)) > 0.3


def test_batches_come_in_any_order_of_length_and_differ_between_epochs():
    data = ragged()
    generator = torch.Generator().manual_seed(0)
    first, second = (draw_batches(data, TrainConfig(batch_size=8), generator) for _ in range(2))
    lengths = [int(data.lengths[rows].max()) for rows in first]
    assert lengths != sorted(lengths)
    mates = [{frozenset(rows.tolist()) for rows in batches} for batches in (first, second)]
    assert len(mates[0] & mates[1]) < 5


def test_equal_seeds_give_equal_batches():
    data = ragged()
    assert all(torch.equal(one, other) for one, other in zip(drawn(data), drawn(data), strict=True))
    assert not all(torch.equal(one, other) for one, other in zip(drawn(data), drawn(data, 1), strict=True))


def test_sequences_of_one_length_are_shuffled_as_without_grouping():
    batch = Batch(torch.zeros(20, 5, 1))
    plain = torch.randperm(20, generator=torch.Generator().manual_seed(0)).split(8)
    assert all(torch.equal(one, other) for one, other in zip(drawn(batch), plain, strict=True))
