import time
from math import log

import numpy as np
import pytest
import torch

from clew.data import Batch
from clew.errors import ConfigError, DataError
from clew.tasks import NextToken, NGram
from reference.witten_bell import WittenBell


def flat(sequences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([token for tokens in sequences for token in tokens], dtype=np.int64), np.cumsum(
        [0, *map(len, sequences)]
    )


def drawn(generator: np.random.Generator, lengths: list[int], vocab: int) -> list[list[int]]:
    return [generator.integers(0, vocab, length).tolist() for length in lengths]


@pytest.mark.parametrize("order", [1, 2, 5])
def test_probabilities_equal_those_of_a_plain_twin(order: int) -> None:
    generator = np.random.default_rng(0)
    train, test = drawn(generator, [40, 1, 17, 5], 4), drawn(generator, [20, 1, 9], 5)
    model, twin = NGram(*flat(train), 5, order), WittenBell(train, 5, order)
    expected = [twin.probability(tokens[:place], tokens[place]) for tokens in test for place in range(len(tokens))]
    np.testing.assert_allclose(model.probabilities(*flat(test)), expected, atol=1e-14)
    best = [
        int(np.argmax([round(twin.probability(tokens[:place], token), 12) for token in range(5)]))
        for tokens in test
        for place in range(len(tokens))
    ]
    assert model.most_probable(*flat(test)).tolist() == best


def test_probabilities_of_all_tokens_sum_to_one() -> None:
    generator = np.random.default_rng(1)
    model = NGram(*flat(drawn(generator, [200], 6)), 7, 4)
    before = generator.integers(0, 7, 6).tolist()
    total = sum(model.probabilities(*flat([[*before, token]]))[-1] for token in range(7))
    assert total == pytest.approx(1.0)


def test_references_score_the_targets_that_the_task_scores() -> None:
    ids = torch.tensor([[0, 1, 2, 0, 1, 2], [1, 2, 0, 1, 2, 9], [2, 9, 9, 9, 9, 9]])
    valid = torch.tensor([[1] * 6, [1] * 5 + [0], [1] + [0] * 5]).bool()
    train = [[0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 1, 2, 0, 1]]
    rows = NextToken(3, token_bytes=[1, 2, 3]).references(Batch(torch.tensor(train)), Batch(ids, valid))
    test = [row[keep].tolist() for row, keep in zip(ids, valid, strict=True)]
    size = sum(token + 1 for tokens in test for token in tokens[1:])
    for row, order in zip(rows[1:], (1, 5), strict=True):
        twin = WittenBell(train, 3, order)
        losses = [-log(twin.probability(tokens[:i], tokens[i])) for tokens in test for i in range(1, len(tokens))]
        assert len(losses) == 9
        assert row["loss_nats"] == pytest.approx(sum(losses) / 9)
        assert row["bits_per_byte"] == pytest.approx(sum(losses) / log(2) / size)
    assert [row["name"] for row in rows] == ["uniform", "unigram", "5-gram"]
    assert rows[0]["loss_nats"] == pytest.approx(log(3)) and rows[0]["accuracy"] == pytest.approx(1 / 3)
    assert rows[2]["accuracy"] == 1.0


def test_packed_documents_begin_without_a_context() -> None:
    ids, documents = torch.tensor([[0, 1, 0, 1, 1, 0]]), torch.tensor([[0, 0, 0, 1, 1, 1]])
    task = NextToken(2)
    packed = task.references(Batch(ids, documents=documents), Batch(ids, documents=documents))
    apart = Batch(torch.tensor([[0, 1, 0], [1, 1, 0]]))
    assert packed == task.references(apart, apart)
    aligned = task.align(Batch(ids, documents=documents))
    assert aligned.scored.tolist() == [[True, True, False, True, True]]


def test_wrong_arguments_are_errors() -> None:
    ids, offsets = flat([[0, 1, 2]])
    with pytest.raises(ConfigError, match="order must be at least 1, got 0"):
        NGram(ids, offsets, 3, 0)
    with pytest.raises(DataError, match=r"ids must be in \[0, vocab=2\), got 0 to 2"):
        NGram(ids, offsets, 2)
    with pytest.raises(DataError):
        NGram(ids, offsets, 3).probabilities(np.array([3]), np.array([0, 1]))
    with pytest.raises(DataError):
        NextToken(3).references(Batch(torch.tensor([[0, 1]])), Batch(torch.tensor([[0]])))


@pytest.mark.slow
def test_four_million_characters_are_counted_in_a_minute() -> None:
    generator = np.random.default_rng(0)
    ids = np.minimum(generator.geometric(0.07, 4_000_000), 79)
    begin = time.monotonic()
    model = NGram(ids, np.arange(0, 4_000_001, 250), 80)
    model.probabilities(ids[:400_000], np.arange(0, 400_001, 250))
    assert time.monotonic() - begin < 60
