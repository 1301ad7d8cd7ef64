"""Small recorded passes that the tests of tables, words and files look at."""

from functools import cache

import torch

import clew
from clew.data import Batch
from clew.ledger import Ledger
from clew.models import SequenceModel, build
from clew.tasks import NextToken

IDS = torch.tensor([[0, 1, 2, 0, 3, 4, 5], [1, 2, 3, 4, 5, 0, 0]])
VALID = torch.tensor([[True] * 7, [True] * 5 + [False] * 2])
SIZES = {
    "rnn": {"hidden": 4, "embedding": 3},
    "gru": {"hidden": 4, "embedding": 3},
    "lstm": {"hidden": 4, "embedding": 3},
    "transformer": {"hidden": 6, "heads": 2, "head_dim": 4, "value_dim": 2, "mlp": 5, "causal": True},
}
PRESETS = tuple(SIZES)


def small_model(preset: str, seed: int = 0) -> SequenceModel:
    generator = torch.Generator().manual_seed(seed)
    return build(preset, vocab=7, outputs=7, generator=generator, **SIZES[preset]).double()


@cache
def recorded(preset: str, backward: bool = True) -> Ledger:
    """Record a pass once for all tests that only look at it."""
    return record_pass(small_model(preset), backward)


def record_pass(model: SequenceModel, backward: bool = True) -> Ledger:
    with clew.record(model) as ledger:
        loss = NextToken(7).loss(model, Batch(IDS, VALID))
        if backward:
            loss.backward()
    return ledger
