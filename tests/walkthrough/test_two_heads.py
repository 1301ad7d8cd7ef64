"""Tables 17 to 21."""

import pytest

from clew.walkthrough import two_heads
from clew.walkthrough.items import Builder
from clew.walkthrough.proverb import BEGINS
from walkthrough.published import IN_TEXT, at_three_digits, disagreements


@pytest.mark.parametrize(
    "builder",
    [two_heads.two_mixtures, two_heads.head_one_outputs, two_heads.head_two_outputs, two_heads.attention_branch],
)
def test_tables_agree_with_the_text(builder: Builder) -> None:
    assert disagreements(builder()) == []


def test_the_second_head_at_begins_agrees_with_the_text() -> None:
    rows = {row[0]: at_three_digits(row[1:]) for row in two_heads.head_two_begins().rows}
    assert rows["query"] == IN_TEXT["q_6 of head 2"]
    assert rows["value"] == IN_TEXT["v_6 of head 2"]
    assert rows["context"] == IN_TEXT["o_6 of head 2"]


def test_joined_features_are_both_heads_side_by_side() -> None:
    rows = two_heads.joined_heads().rows
    parts = zip(two_heads.head_one_outputs().rows, two_heads.head_two_outputs().rows, strict=True)
    assert [row[1:] for row in rows] == [[*one[1:], *two[1:]] for one, two in parts]
    assert at_three_digits(rows[BEGINS][1:]) == IN_TEXT["c_6"]


def test_the_output_map_is_spelled_out_to_what_the_layer_gives() -> None:
    *parts, total = two_heads.output_map_of_begins().rows
    assert sum(row[3] for row in parts) == pytest.approx(total[3], abs=1e-15)
    assert at_three_digits(two_heads.attention_branch().rows[BEGINS][1:]) == IN_TEXT["b_6"]


def test_shapes_keep_seven_positions() -> None:
    item = two_heads.attention_shapes()
    assert item.chapter == "Table 21"
    assert [row[1] for row in item.rows] == ["7 x 5", "7 x 3", "7 x 7", "7 x 3", "7 x 6", "6 x 5", "7 x 5"]


def test_torch_takes_only_widths_that_its_heads_divide() -> None:
    refused, *accepted = two_heads.standard_partition().rows
    assert refused[2] == "refused: embed_dim must be divisible by num_heads" and refused[3] is None
    assert all(row[2] == "accepted" and row[3] < 1e-14 for row in accepted)
