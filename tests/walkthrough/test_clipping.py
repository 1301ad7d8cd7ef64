"""Clipping: long, short and zero gradients, and shares that stay."""

import pytest

from clew.walkthrough import clipping


def test_clipping_shortens_the_long_keeps_the_short_and_leaves_zero() -> None:
    long, short, zero = clipping.norm_clipping().rows
    assert long[8] == pytest.approx(1.0, abs=1e-6)  # torch divides by the length plus 1e-6
    assert long[9] == pytest.approx(1.0, abs=1e-12)
    assert short[1:4] == pytest.approx(short[4:7])
    assert zero[1:9] == [0.0] * 8
    assert float(long[10] or 0) <= 0.1


def test_clipping_changes_no_share() -> None:
    *uses, whole = clipping.clipping_restores_nothing().rows
    assert sum(float(use[2] or 0) for use in uses) == pytest.approx(float(whole[2] or 0))
    for use in uses:
        assert float(use[2] or 0) / float(whole[2] or 0) == pytest.approx(float(use[3] or 0), rel=1e-9)
    assert float(uses[0][3] or 0) < 1e-9
