"""Numbers read as they are: exact where they are exact, never rounded up to 1, and nothing else passes as zero."""

import math

import pytest

from clew.rendering.numbers import (
    Value,
    as_float,
    finite_values,
    format_count,
    format_fraction,
    format_interval,
    format_nats,
    format_number,
    format_percent,
    format_probability,
    format_seconds,
    format_signed,
    format_spread,
    join_words,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.44312, "0.443"),
        (1.0, "1.00"),
        (12345.6, "12,300"),
        (999.9, "1,000"),
        (0.001234, "0.00123"),
        (0.0000123, "1.23e-5"),
        (1234567.0, "1.23e6"),
        (-0.5, "-0.500"),
        (0.0, "0"),
        (-0.0, "0"),
        (0, "0"),
        (1943, "1,943"),
    ],
)
def test_three_significant_digits(value: Value, words: str) -> None:
    assert format_number(value) == words


def test_what_is_not_a_number_is_named_and_differs_from_zero() -> None:
    values: list[Value] = [None, "hidden", "NaN", "Infinity", "-Infinity", 0.0]
    words = [format_number(value) for value in values]
    assert words == ["not computed", "hidden", "NaN", "∞", "-∞", "0"]
    assert [format_number(value) for value in (math.nan, math.inf, -math.inf)] == ["NaN", "∞", "-∞"]
    for write in (format_fraction, format_nats, format_percent, format_seconds, format_signed, format_probability):
        assert [write(value) for value in values[:5]] == words[:5]
    assert format_count(None) == "not computed"


def test_numbers_are_read_back_from_json() -> None:
    assert as_float("-Infinity") == -math.inf and as_float("hidden") is None and as_float(3) == 3.0
    assert finite_values([1, "NaN", None, 0.5, math.inf, "hidden"]) == [1.0, None, None, 0.5, None, None]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "1"),
        (0.0, "0"),
        (1, "1"),
        (1023 / 1024, "0.999"),
        (0.99967, "0.9997"),
        (0.999999, "0.999999"),
        (0.25, "0.250"),
    ],
)
def test_only_exactly_one_reads_as_one(value: Value, words: str) -> None:
    assert format_fraction(value) == words


def test_a_single_run_has_no_spread() -> None:
    assert format_spread(0.44312, None, 1) == "0.443"
    assert format_spread(0.44312, 0.0, 1) == "0.443", "a spread of zero over one run is no spread"
    assert format_spread(0.44312, 0.01234, 3) == "0.443 ± 0.012"
    assert format_spread(1.0, 0.0, 3) == "1 ± 0"
    assert format_spread(0.99967, 0.0003, 3) == "0.9997 ± 0.0003"
    assert format_spread(0.25, 0.00001, 3) == "0.250 ± 1.0e-5", "a small spread is not shown as zero"
    assert format_spread(None, None, 0) == "not computed"


def test_differences_carry_their_sign_and_small_ones_stay_apart_from_zero() -> None:
    assert [format_signed(value) for value in (0.37219, -0.0834, 0.0)] == ["+0.372", "-0.083", "0"]
    assert [format_signed(value) for value in (0.00012, -0.00049)] == ["+1.2e-4", "-4.9e-4"]


def test_units_and_intervals() -> None:
    assert format_interval([0.9812, 0.99631]) == "[0.981, 0.996]"
    assert format_interval(None) == "not computed"
    assert format_nats(math.log(4)) == "1.39\N{NO-BREAK SPACE}nats"
    assert format_percent(0.98312) == "98.3\N{NO-BREAK SPACE}%"
    assert [format_probability(p) for p in (0.1, 0.0234, 1e-9)] == ["0.10", "0.023", "< 0.001"]
    durations = [0.812, 59.99, 192.4, 3840.0, 59]
    assert [format_seconds(s) for s in durations] == ["0.812 s", "1 min 0 s", "3 min 12 s", "1 h 4 min", "59.0 s"]


def test_words_join_as_prose() -> None:
    assert [join_words(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
