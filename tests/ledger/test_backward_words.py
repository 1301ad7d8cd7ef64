"""The arithmetic of a sensitivity: what is written, worked out, gives the sensitivity."""

import itertools
import math
import re

import pytest
import torch

import clew
from clew.data import Batch
from clew.ledger import Ledger
from clew.models import build
from clew.tasks import NextToken

BATCH = Batch(
    torch.tensor([[1, 0, 3, 2, 4], [2, 4, 1, 0, 0]]),
    torch.tensor([[True, True, True, True, True], [True, True, True, False, False]]),
)
OPTIONS = {
    "rnn": {},
    "gru": {"layers": 2, "bidirectional": True},
    "lstm": {"layers": 2},
    "transformer": {"heads": 2, "causal": True, "layers": 2, "value_dim": 3},
    "post": {"heads": 2, "norm": "post", "activation": "gelu", "mlp": 5},
}
WITHOUT_WORDS = (
    "inputs.embedding.output", "inputs.output", "encoder.input", "encoder.output", "encoder.positions.vectors",
    "norm.mean", "norm.variance", "_map.output", "norm.output", "loss.loss",
)  # fmt: skip
"""Ends of names that no rule knows: what is cut apart, hidden at padding, or read in several places of one layer."""
_FUNCTIONS = {"sqrt": math.sqrt, "tanh": math.tanh, "exp": math.exp}


def recorded(name: str) -> Ledger:
    model = build("transformer" if name == "post" else name, vocab=5, outputs=5, hidden=4, **OPTIONS[name]).double()
    for parameter in model.parameters():  # scale one and shift zero of a norm would hide mistakes
        torch.nn.init.normal_(parameter, std=0.7, generator=torch.Generator().manual_seed(parameter.numel()))
    with clew.record(model.eval()) as ledger:
        NextToken(5).loss(model, BATCH).backward()
    return ledger


def worked_out(words: str) -> float:
    """Work out the right side of the first line."""
    right = words.split("\n")[0].partition(" = ")[2] or words.split(":")[0].split(",")[0]
    return eval(re.sub(r"\[\d+ more terms: ([^]]*)\]", r"\1", right).replace("^", "**"), {}, _FUNCTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_written_gives_the_sensitivity(name: str) -> None:
    ledger = recorded(name)
    told: set[str] = set()
    for quantity in ledger.quantities():
        if not quantity.has_sensitivity:
            continue
        largest = quantity.sensitivity.abs().max().item()
        for index in list(itertools.product(*map(range, quantity.shape)))[::3]:
            words = ledger.explain_sensitivity(quantity.name, **dict(zip(quantity.axes, index, strict=True)))
            if words:
                told.add(quantity.name)
                expected = quantity.sensitivity[index].item()
                assert worked_out(words) == pytest.approx(expected, rel=0.03, abs=0.02 * largest), (
                    quantity.name,
                    words,
                )
    untold = {quantity.name for quantity in ledger.quantities() if quantity.has_sensitivity} - told
    assert [name for name in untold if not name.endswith(WITHOUT_WORDS)] == []


def test_without_a_backward_pass_and_at_hidden_cells_there_is_nothing_to_write() -> None:
    model = build("transformer", vocab=5, outputs=5, hidden=4, heads=2, causal=True).eval()
    with clew.record(model) as ledger:
        loss = NextToken(5).loss(model, BATCH)
    weights = "encoder.blocks.0.attention.weights"
    assert ledger.explain_sensitivity(weights, batch=0, head=1, query=2, source=1) == ""
    loss.backward()
    assert ledger.explain_sensitivity(weights, batch=0, head=1, query=2, source=1)
    assert ledger.explain_sensitivity(weights, batch=0, head=1, query=1, source=2) == ""
