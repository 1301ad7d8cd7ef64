"""Path products against closed forms, and exercise 2."""

import math

import pytest

from clew.walkthrough import path_sensitivity
from walkthrough import recurrent_published as published


def test_figure_three_is_powers_on_the_left_and_slopes_on_the_right() -> None:
    rows = path_sensitivity.sensitivity_curves().rows
    state, product = 0.0, 1.0
    for count, *values in rows:
        assert isinstance(count, int)
        powers = [factor**count for factor in (*published.FIXED_FACTORS, published.ZERO_INPUT_FACTOR)]
        assert values[:4] == pytest.approx(powers, rel=1e-12)
        state = math.tanh(1.0 + 1.2 * state)
        product = 1.0 if count == 0 else product * 1.2 * (1 - state**2)
        assert values[4] == pytest.approx(product, rel=1e-9)
    assert rows[0][1:] == [1.0] * 5


def test_a_saturated_trajectory_multiplies_its_factors() -> None:
    product = 1.0
    for row in path_sensitivity.tanh_trajectory().rows[1:]:
        assert row[4] == pytest.approx(1.2 * float(row[3] or 0), rel=1e-12)
        product *= float(row[4] or 0)
        assert row[5] == pytest.approx(product, rel=1e-9)


def test_exercise_two_is_minus_a_third() -> None:
    identity, quiet, driven = path_sensitivity.state_and_gradient_bounds().rows
    assert identity[5] == pytest.approx(published.FIVE_TRANSITIONS, abs=1e-15)
    assert identity[6:] == ["negative", pytest.approx(0.32768, abs=1e-15)]
    assert quiet[5] == pytest.approx(1.2**5)
    assert float(driven[7] or 0) < 1e-5
