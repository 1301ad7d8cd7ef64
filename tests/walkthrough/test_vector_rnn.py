"""The vector model against numpy and torch.nn."""

import math

import numpy
import pytest
import torch
from torch import nn

from clew.walkthrough import vector_rnn


def test_coordinates_are_sums_of_their_four_terms() -> None:
    for row in vector_rnn.two_coordinates().rows:
        terms = [value for value in row[1:5] if isinstance(value, float)]
        assert sum(terms) == pytest.approx(row[5], abs=1e-15)
        assert row[6] == pytest.approx(math.tanh(sum(terms)), abs=1e-15)


def test_shapes_are_the_texts_with_the_letters_filled_in() -> None:
    letters = {"D": "2", "H": "3", "C": "4", "1": "1"}
    for row in vector_rnn.vector_shapes().rows:
        assert row[3] == " × ".join(letters[letter] for letter in str(row[2]).split(" × "))


def test_the_forward_pass_is_numpys() -> None:
    h = numpy.zeros(3)
    for x in vector_rnn.TWO_INPUTS:
        h = numpy.tanh(
            numpy.array(vector_rnn.THREE_INPUT_WEIGHTS) @ x
            + numpy.array(vector_rnn.THREE_RECURRENT_WEIGHTS) @ h
            + vector_rnn.CELL_BIAS
        )
    prediction = numpy.array(vector_rnn.FOUR_HEADS) @ h + vector_rnn.HEAD_BIAS
    rows = {row[0]: row[1:] for row in vector_rnn.general_forward_pass().rows}
    assert rows["ŷ"] == pytest.approx(list(prediction), abs=1e-14)
    assert rows["L"][0] == pytest.approx(0.5 * ((prediction - vector_rnn.FOUR_TARGETS) ** 2).sum(), abs=1e-14)


def test_a_step_of_the_backward_pass_adds_both_paths() -> None:
    for row in vector_rnn.general_backward_pass().rows:
        own, slope, inside, first, second, earlier = (float(value) for value in row[1:] if isinstance(value, float))
        assert own * slope == pytest.approx(inside, abs=1e-14)
        assert first + second == pytest.approx(earlier, abs=1e-14)


def test_outer_products_sum_to_torchs_gradients() -> None:
    twin = nn.RNN(2, 2, bias=False, batch_first=True).double()
    with torch.no_grad():
        twin.weight_ih_l0.copy_(torch.tensor(vector_rnn.TWO_INPUT_WEIGHTS, dtype=torch.float64))
        twin.weight_hh_l0.copy_(torch.tensor(vector_rnn.TWO_RECURRENT_WEIGHTS, dtype=torch.float64))
    states, _ = twin(torch.tensor([vector_rnn.TWO_INPUTS], dtype=torch.float64))
    prediction = states[0, -1] @ torch.tensor(vector_rnn.TWO_HEAD[0], dtype=torch.float64)
    (0.5 * (prediction - 0.5) ** 2).backward()
    rows = {row[0]: row[1:] for row in vector_rnn.outer_products().rows}
    for name, weight in (("W_x", twin.weight_ih_l0), ("W_h", twin.weight_hh_l0)):
        assert weight.grad is not None
        for label in ("sum", "shared weight's gradient"):
            assert rows[f"{name}, {label}"] == pytest.approx(weight.grad.flatten().tolist(), abs=1e-12)
