"""Jacobians, their products and the bounds on them."""

import math

import pytest

from clew.walkthrough import matrix_paths


def test_jacobians_factor_and_their_product_carries_the_sensitivity() -> None:
    assert all(float(row[-1] or 0) < 1e-14 for row in matrix_paths.transition_jacobians().rows)
    start, arrived, product, wrong, bound = matrix_paths.jacobian_products().rows
    assert product[1:] == pytest.approx(arrived[1:], abs=1e-14)
    assert wrong[1] != pytest.approx(product[1], abs=1e-3)
    assert float(arrived[3] or 0) <= float(bound[3] or 0)
    assert start[3] == pytest.approx(math.hypot(float(start[1] or 0), float(start[2] or 0)))


def test_an_entry_above_one_vanishes_while_its_bound_grows() -> None:
    rows = matrix_paths.entry_above_one().rows
    for row in rows:
        assert float(row[2] or 0) <= float(row[3] or 0) * (1 + 1e-12)
    assert float(rows[-1][2] or 0) < 0.01
    assert float(rows[-1][3] or 0) > 1e6
