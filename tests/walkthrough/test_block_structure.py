"""The block's route, its sums, and what its operations mix."""

import pytest

from clew.walkthrough import block_structure


def test_the_route_keeps_rows_and_width() -> None:
    shapes = {row[0]: row[1] for row in block_structure.encoder_route().rows}
    assert shapes.pop("weights of both heads") == "2 x 7 x 7"
    assert shapes.pop("MLP, hidden") == "7 x 4"
    assert shapes.pop("logits of the vocabulary head") == "7 x 9"
    assert set(shapes.values()) == {"7 x 5"} and len(shapes) == 9


def test_bypasses_carry_what_came_in_and_not_what_was_normalized() -> None:
    for _, carried, normalized in block_structure.two_bypasses().rows:
        assert carried < 1e-15 and normalized > 0.1


def test_only_attention_reaches_other_rows() -> None:
    rows = {row[0]: row[1:] for row in block_structure.mixing_axes().rows}
    assert rows["attention"] == [7, 5] and rows["block"] == [7, 5]
    assert rows["LayerNorm"] == [1, 5] and rows["MLP"][0] == 1


def test_only_the_activation_bends_the_mlp() -> None:
    straight, bent = (row[1] for row in block_structure.affine_without_activation().rows)
    assert straight == pytest.approx(0, abs=1e-14) and bent > 0.1
