"""Depth, permutations, norm placement and the residual gradient."""

import pytest
import torch

from clew.walkthrough import stacks
from clew.walkthrough.proverb import BEGINS
from walkthrough.published import PUBLISHED, at_three_digits


def test_depth_keeps_the_shape_and_moves_the_rows() -> None:
    rows = stacks.depth().rows
    assert [row[1] for row in rows] == ["7 x 5"] * 3
    assert at_three_digits(rows[0][2:7]) == PUBLISHED["Table 31"][BEGINS][1:]
    assert rows[0][2:7] != rows[1][2:7] and all(row[7] > 0.1 for row in rows)


def test_attention_follows_a_permutation_on_both_axes_of_its_weights() -> None:
    both, queries_only, permuted, unmoved = (row[1] for row in stacks.permuted_attention().rows)
    assert max(both, permuted) < 1e-15
    assert min(queries_only, unmoved) > 0.01


def test_only_positions_or_a_mask_tell_the_encoder_of_order() -> None:
    distances = [row[2] for row in stacks.permuted_sequences().rows]
    assert max(distances[:2]) < 1e-13
    assert min(distances[2:]) > 0.1


def test_norm_placement_changes_every_stage() -> None:
    assert min(row[-1] for row in stacks.pre_and_post_norm().rows) > 0.1


def test_bypass_and_branch_add_up_to_the_gradient() -> None:
    for terms in stacks.residual_terms().values():
        torch.testing.assert_close(terms["bypass"] + terms["branch"], terms["total"], atol=1e-15, rtol=0)
        assert terms["branch"].abs().max() > 1e-3


def test_what_leaves_the_second_sum_is_the_bypass_term_of_the_first() -> None:
    rows = {row[0]: row[1:] for row in stacks.residual_gradient().rows}
    assert rows["second sum: total"] == rows["first sum: bypass"]
    assert rows["first sum: total"] != rows["first sum: bypass"]


def test_only_the_row_that_is_read_has_a_bypass_term() -> None:
    rows = stacks.residual_gradient_by_position().rows
    assert [row[1] for row in rows[:BEGINS]] == [0] * BEGINS
    assert all(row[2] > 0 and row[3] > 0 for row in rows)


def test_only_post_norm_normalizes_at_the_sum() -> None:
    rows = {row[0]: row[1:] for row in stacks.bypass_through_normalization().rows}
    assert rows["pre-norm: output of the block"] == rows["pre-norm: handed on by the bypass"]
    assert rows["post-norm: what the head reads"] == rows["post-norm: output of the block"]
    for name in ("pre-norm: output of the block", "post-norm: handed on by the bypass"):
        assert sum(rows[name]) == pytest.approx(0, abs=1e-12)  # behind a LayerNorm a gradient has no constant part
    assert abs(sum(rows["post-norm: what the head reads"])) > 0.1


def test_positions_add_up_to_the_gradient_of_a_shared_map() -> None:
    *parts, added, total = stacks.shared_map_gradient().rows
    assert added[1:] == pytest.approx(total[1:], abs=1e-15)
    assert sum(row[2] for row in parts) == pytest.approx(total[2], abs=1e-15)
    assert total[1] > 1e-3
