"""The confusions of recurrence and training, resolved by numbers."""

from clew.walkthrough import recurrent_confusions


def test_the_confusions_are_resolved_by_their_numbers() -> None:
    heads = recurrent_confusions.feature_or_prediction().rows
    assert len({row[1] for row in heads}) == 1
    assert len({row[2] for row in heads}) == len(heads)
    longer = recurrent_confusions.longer_without_parameters().rows
    assert len({row[1] for row in longer}) == 1
    assert [row[4] for row in longer] == [row[0] - 1 for row in longer if isinstance(row[0], int)]
    late = {row[0]: row for row in recurrent_confusions.gradient_from_late_uses().rows}
    assert float(late["all steps"][2] or 0) > 0.1
    assert float(late["step 19"][3] or 0) > 0.9
    assert abs(float(late["step 10"][3] or 0)) < 1e-10
    orders = [row[4] for row in recurrent_confusions.toy_ranking().rows]
    assert orders[0] == "RNN = GRU = Transformer"
    assert orders[1] == "Transformer > GRU > RNN"
