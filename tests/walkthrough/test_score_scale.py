"""The variance of dot products, and softmax that does not overflow."""

import math

import pytest

from clew.walkthrough import score_scale
from walkthrough.published import IN_TEXT, at_three_digits


def test_variance_grows_with_the_head_width_until_it_is_scaled() -> None:
    rows = score_scale.dot_product_variance().rows
    for head_dim, raw, scaled, *_ in rows:
        assert raw == pytest.approx(head_dim, rel=0.06)
        assert scaled == pytest.approx(1, rel=0.06)


def test_unscaled_softmax_sharpens_and_scaled_does_not() -> None:
    rows = score_scale.dot_product_variance().rows
    unscaled, scaled = [row[3] for row in rows], [row[4] for row in rows]
    assert unscaled == sorted(unscaled) and unscaled[-1] > 0.85
    assert max(scaled) < 0.2


def test_plain_softmax_overflows_and_the_layers_does_not() -> None:
    rows = score_scale.stable_softmax().rows
    assert all(math.isinf(row[2]) and math.isnan(row[3]) for row in rows)
    assert max(row[4] for row in rows) == 1
    assert at_three_digits([row[5] for row in rows]) == IN_TEXT["A_6"]
    assert all(row[5] == pytest.approx(row[6], abs=1e-12) for row in rows)
