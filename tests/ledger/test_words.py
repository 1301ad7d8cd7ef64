"""The arithmetic of a cell in words is the arithmetic that gives the cell."""

import itertools
import math
import re

import pytest
import torch

import clew
from clew.errors import LedgerError
from clew.ledger.arithmetic import digits, sum_words
from clew.walkthrough.proverb import PREFIX, ids_of, proverb_model
from ledger.recorded import PRESETS, recorded

FUNCTIONS = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
}


def computed(words: str) -> float:
    """Work a right-hand side out, as a reader would with a calculator."""
    formula = re.sub(r"\[\d+ more terms: (\S+)\]", r"\1", words.split("    ")[0]).replace("^", "**")
    return eval(formula, {"__builtins__": {}}, FUNCTIONS)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_equation_in_words_gives_the_number_on_its_left(preset: str) -> None:
    ledger, checked = recorded(preset), 0
    for name in ledger:
        quantity = ledger.quantity(name)
        places = {axis: min(1, size - 1) for axis, size in zip(quantity.axes, quantity.shape, strict=True)}
        places |= {"source": 0} if "source" in places else {}
        for line in ledger.explain(name, **places).split("\n"):
            left, sign, right = line.partition(" = ")
            if sign and not right.startswith("E["):
                # Three digits in, so a sum of a few terms can be off in the third digit of the largest of them.
                assert computed(right) == pytest.approx(float(left), rel=0.02, abs=0.03), (name, line)
                checked += 1
    assert checked >= {"rnn": 5, "gru": 9, "lstm": 11, "transformer": 30}[preset]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_number_on_the_left_is_the_recorded_one(preset: str) -> None:
    ledger = recorded(preset)
    for name in ledger:
        quantity = ledger.quantity(name)
        for index in itertools.islice(itertools.product(*(range(size) for size in quantity.shape)), 0, 60, 17):
            told = ledger.explain(name, **dict(zip(quantity.axes, index, strict=True)))
            value = float(quantity.value[index])
            is_words_only = told.startswith(("hidden by", "0: no target"))
            assert is_words_only or re.split(r" = |: |, ", told)[0] == digits(value), (name, index, told)


def test_a_context_of_the_worked_example_reads_like_the_text() -> None:
    model = proverb_model()
    with clew.record(model) as ledger, torch.no_grad():
        model(ids_of(PREFIX))
    told = ledger.explain("encoder.blocks.0.attention.weights", head=0, query=1, source=1)
    value, _, formula = told.partition(" = ")
    assert formula.startswith("exp(") and float(value) == pytest.approx(
        ledger.quantity("encoder.blocks.0.attention.weights").value[0, 0, 1, 1].item(), abs=5e-4
    )


def test_a_linear_map_is_a_sum_of_products_with_its_bias() -> None:
    layer = clew.layers.Linear(3, 1).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.6, 0.9, 0.1]]))
        layer.bias.fill_(-0.25)  # pyright: ignore[reportOptionalMemberAccess]
    with clew.record(layer) as ledger:
        layer(torch.tensor([[-0.57912, 1.0601, 0.65012]]).double())
    assert ledger.explain("output", features=0) == "0.422 = -0.579*0.6 + 1.06*0.9 + 0.650*0.1 - 0.25"


def test_hidden_cells_and_padding_are_said() -> None:
    ledger = recorded("transformer")
    name = "encoder.blocks.0.attention.weights"
    assert ledger.explain(name, row=0, head=1, query=1, source=3) == "hidden by causal"
    assert ledger.explain(name, row=1, head=1, query=2, source=5) == "hidden by padding and causal"
    assert ledger.explain("loss.per_position", row=1, step=5) == "0: no target is scored here"
    assert recorded("gru").explain("encoder.recurrent.0.state", row=1, step=5, hidden=0) == "0, at padding"


def test_long_sums_are_cut_and_say_what_is_left_out() -> None:
    words = sum_words([(float(place), 1.0) for place in range(1, 31)])
    assert words.startswith("1*1 + 2*1") and words.endswith("29*1 + 30*1")
    assert "[20 more terms: 310]" in words


def test_places_that_do_not_fit_are_one_line() -> None:
    ledger = recorded("gru")
    with pytest.raises(LedgerError, match=r"places must be given for each of batch, time, hidden, got none for hidden"):
        ledger.explain("encoder.recurrent.0.state", row=0, step=1)
    with pytest.raises(LedgerError, match=r"Did you mean 'encoder\.recurrent\.0\.state'"):
        ledger.explain("encoder.recurrent.0.stat", row=0, step=1, hidden=0)
    with pytest.raises(LedgerError, match="axis must be one of its own, got 'head'"):
        ledger.explain("encoder.recurrent.0.state", row=0, head=1, hidden=0)
