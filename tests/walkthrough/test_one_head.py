"""Tables 10 to 15 and the figures of one head."""

import pytest
import torch

from clew.walkthrough import one_head
from clew.walkthrough.items import Builder
from clew.walkthrough.proverb import BEGINS
from walkthrough.published import IN_TEXT, at_three_digits, disagreements


@pytest.mark.parametrize(
    "builder",
    [
        one_head.projected_queries,
        one_head.projected_keys,
        one_head.projected_values,
        one_head.begins_scores,
        one_head.begins_contributions,
        one_head.head_outputs,
    ],
)
def test_tables_agree_with_the_text(builder: Builder) -> None:
    assert disagreements(builder()) == []


def test_the_dot_product_of_begins_agrees_with_the_text() -> None:
    *features, raw, scaled = one_head.begins_dot_product().rows
    assert at_three_digits([row[1] for row in features]) == IN_TEXT["q_6"]
    assert at_three_digits([row[2] for row in features]) == IN_TEXT["k_0"]
    assert sum(row[3] for row in features) == pytest.approx(raw[3], abs=1e-15)
    assert at_three_digits([raw[3], scaled[3]]) == IN_TEXT["q_6 k_0'"] + IN_TEXT["S_60"]


def test_contributions_add_up_to_the_output() -> None:
    *parts, total = one_head.begins_output_sum().rows
    for feature in (1, 2, 3):
        assert sum(row[feature] for row in parts) == pytest.approx(total[feature], abs=1e-15)
    assert at_three_digits(total[1:]) == IN_TEXT["o_6"]
    assert at_three_digits(parts[0][1:]) == IN_TEXT["A_60 v_0"]


def test_contributions_are_weights_times_values() -> None:
    found = one_head.one_head()
    for query in range(7):
        expected = found["weights"][query].unsqueeze(-1) * found["value"]
        torch.testing.assert_close(one_head.contributions_to(query), expected, atol=1e-15, rtol=0)


def test_figures_hold_the_row_of_the_begins_query() -> None:
    scores, weights = one_head.scores_of_all_queries(), one_head.weights_of_all_queries()
    table = one_head.begins_scores().rows
    assert scores.rows[BEGINS][1:] == [row[2] for row in table]
    assert weights.rows[BEGINS][1:] == [row[3] for row in table]
    assert at_three_digits(weights.rows[BEGINS][1:]) == IN_TEXT["A_6"]
    assert all(sum(row[1:]) == pytest.approx(1, abs=1e-15) for row in weights.rows)
    assert [panel.scale for panel in (*scores.panels, *weights.panels)] == ["diverging", "sequential"]  # pyright: ignore


def test_seven_weights_leave_three_features() -> None:
    rows = {row[0]: row[1] for row in one_head.what_weights_multiply().rows}
    assert (rows["weights of the begins query"], rows["source positions"], rows["features of the output row"]) == (
        7,
        7,
        3,
    )
    assert at_three_digits([rows["A_62, the weight of source 2: of"]]) == [0.0881]


def test_the_route_has_the_shapes_of_the_figure() -> None:
    shapes = [row[1] for row in one_head.head_route().rows]
    assert shapes == ["7 x 5", "7 x 5", "5 x 3", "7 x 3", "3 x 7", "7 x 7", "7 x 7", "7 x 3", "7 x 3"]
