"""What a forecast reads."""

from clew.walkthrough import sequence_tasks


def test_a_forecast_reads_the_prefix_only() -> None:
    forecast, leak = sequence_tasks.forecast_inputs().rows
    assert [value == 0 for value in forecast[1:5]] == [False, False, False, True]
    assert leak[4] != 0
