"""Figure 17: six by six pixels become five rows."""

import pytest

from clew.walkthrough import images


def test_patches_hold_the_pixels_of_their_quarters() -> None:
    rows = images.image_patches().rows
    assert [len(row) - 1 for row in rows] == [9] * 4
    top_right = [pixel / 35 for pixel in (3, 4, 5, 9, 10, 11, 15, 16, 17)]
    assert rows[1][1:] == pytest.approx(top_right, abs=1e-15)


def test_shapes_are_those_of_the_figure() -> None:
    shapes = [row[1] for row in images.patch_shapes().rows]
    assert shapes == ["1 x 6 x 6", "4 x 9", "4 x 4", "5 x 4", "5 x 4", "6 x 9", "196 x 768"]
    assert [len(images.projected_patches().rows), len(images.patch_tokens().rows)] == [4, 5]


def test_the_class_row_reads_the_patches() -> None:
    item = images.class_token_prediction()
    first, mirrored = item.rows
    assert first[5] + first[6] == pytest.approx(1, abs=1e-14)
    assert max(abs(a - b) for a, b in zip(first[1:5], mirrored[1:5], strict=True)) > 1e-3
