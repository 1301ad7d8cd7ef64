"""Slopes against numpy, and the factors of a transition."""

import numpy
import pytest

from clew.walkthrough import activation_slopes
from walkthrough import recurrent_published as published


def test_slopes_are_those_of_the_table() -> None:
    rows = {row[0]: row[2:] for row in activation_slopes.activation_slopes().rows}
    z = numpy.array(activation_slopes.PREACTIVATIONS)
    sigmoid = 1 / (1 + numpy.exp(-z))
    assert rows["Identity"] == [1.0] * len(z)
    assert rows["Tanh"] == pytest.approx(list(1 - numpy.tanh(z) ** 2), abs=1e-15)
    assert rows["Logistic sigmoid"] == pytest.approx(list(sigmoid * (1 - sigmoid)), abs=1e-15)
    assert max(float(value or 0) for value in rows["Logistic sigmoid"]) == published.LARGEST_SIGMOID_SLOPE
    assert rows["ReLU"] == [float(value > 0) for value in z]


def test_transition_factors_are_weighted_slopes() -> None:
    slopes = activation_slopes.activation_slopes().rows
    for slope, factor in zip(slopes, activation_slopes.transition_factors().rows, strict=True):
        assert factor[1:] == pytest.approx([1.2 * float(value) for value in slope[2:] if value is not None], abs=1e-14)
