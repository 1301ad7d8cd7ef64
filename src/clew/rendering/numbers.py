"""Numbers for people: three significant digits, units, uncertainty, and the five things that are not a number.

A value is what a JSON file of clew holds: a number, `null` (not computed), `"hidden"` (by a mask), or the spelled
`"NaN"`, `"Infinity"`, `"-Infinity"`. Each reads differently from zero and from the others, in tables and in charts.
Nothing here rounds a fraction that is not quite 1 up to 1. Start with `format_number`.
"""

import math
from collections.abc import Callable, Iterable, Sequence

Number = float | int
Value = float | int | str | None

HIDDEN = "hidden"
NOT_COMPUTED = "not computed"
_SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def as_float(value: Value) -> float | None:
    """Give the number that a JSON value stands for, None where there is none.

    >>> as_float("-Infinity"), as_float(None), as_float("hidden"), as_float(2)
    (-inf, None, None, 2.0)
    """
    if isinstance(value, str):
        return _SPELLED.get(value)
    return None if value is None else float(value)


def finite(value: Value) -> float | None:
    """Give the number if it is finite, else None; what a chart can place."""
    return finite_values([value])[0]


def finite_values(values: Iterable[Value]) -> list[float | None]:
    """Give each number that is finite, None for what is not.

    >>> finite_values([1, "NaN", None, 0.5])
    [1.0, None, None, 0.5]
    """
    numbers = (_SPELLED.get(value) if isinstance(value, str) else value for value in values)
    return [float(number) if number is not None and math.isfinite(number) else None for number in numbers]


def words_for(value: Value) -> str | None:
    """Name a value that is not a finite number; None for one that is.

    >>> [words_for(value) for value in (None, "hidden", "NaN", float("inf"), 0.0)]
    ['not computed', 'hidden', 'NaN', '∞', None]
    """
    number = as_float(value)
    if number is None:
        return value if isinstance(value, str) else NOT_COMPUTED
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return None


def format_number(value: Value, digits: int = 3) -> str:
    """Write a number with `digits` significant digits; an integer is exact and keeps all of its digits.

    >>> [format_number(value) for value in (0.44312, 12345.6, 0.0000123, 0.0, 1943)]
    ['0.443', '12,300', '1.23e-5', '0', '1,943']
    """
    if not isinstance(value, float | int) or not math.isfinite(value):
        return words_for(value) or ""
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if not -4 < int(exponent) < 6:
        return f"{mantissa}e{int(exponent)}"
    return f"{float(f'{mantissa}e{exponent}'):,.{max(digits - 1 - int(exponent), 0)}f}"


def format_count(value: Value) -> str:
    """Write a whole number with thousands separators: `1,943`."""
    words = words_for(value)
    return words if words is not None else f"{round(float(value or 0)):,}"


def format_fraction(value: Value) -> str:
    """Write a fraction between 0 and 1; only exactly 1 reads `1` and only exactly 0 reads `0`.

    >>> [format_fraction(value) for value in (1.0, 0.99967, 0.2568, 0.0)]
    ['1', '0.9997', '0.257', '0']
    """
    number = finite(value)
    if number is None:
        return format_number(value)
    if number in (0.0, 1.0):
        return str(round(number))
    digits = 3
    while float(f"{number:.{digits}g}") == 1.0 and digits < 16:
        digits += 1
    return format_number(number, digits)


def format_signed(value: Value) -> str:
    """Write a difference of fractions or losses with its sign and three decimals, more where those would be zeros.

    >>> [format_signed(value) for value in (0.37219, -0.0834, 0.0, 0.00012)]
    ['+0.372', '-0.083', '0', '+1.2e-4']
    """
    number = finite(value)
    if number is None or number == 0:
        return format_number(value)
    if abs(number) >= 0.0005:
        return f"{number:+.3f}"
    return f"{'+' if number > 0 else '-'}{format_number(abs(number), 2)}"


def format_interval(bounds: Sequence[Value] | None, write: Callable[[Value], str] = format_fraction) -> str:
    """Write an interval as `[0.981, 0.996]`."""
    return NOT_COMPUTED if bounds is None else f"[{write(bounds[0])}, {write(bounds[1])}]"


def format_spread(mean: Value, spread: Value, runs: int) -> str:
    """Write a mean and the sample standard deviation beside it; a single run has none.

    >>> format_spread(0.44312, 0.01234, 3), format_spread(1.0, 0.0, 3), format_spread(0.5, None, 1)
    ('0.443 ± 0.012', '1 ± 0', '0.500')
    """
    written, number = format_fraction(mean), finite(spread)
    if number is None or runs < 2 or finite(mean) is None:
        return written
    decimals = len(written.partition(".")[2])
    as_precise = f"{number:.{decimals}f}"
    is_readable = number == 0 or (decimals > 0 and "e" not in written and float(as_precise) > 0)
    return f"{written} ± {as_precise if is_readable and number else format_number(number, 2)}"


def format_percent(fraction: Value) -> str:
    """Write a fraction as a percentage: `98.3 %`."""
    number = finite(fraction)
    return format_number(fraction) if number is None else f"{format_number(100 * number)}\N{NO-BREAK SPACE}%"


def format_nats(value: Value) -> str:
    """Write a loss with its unit: `1.39 nats`."""
    return format_number(value) if finite(value) is None else f"{format_number(value)}\N{NO-BREAK SPACE}nats"


def format_probability(value: Value) -> str:
    """Write a p-value: two digits, and never as zero.

    >>> [format_probability(p) for p in (0.1, 0.00001)]
    ['0.10', '< 0.001']
    """
    number = finite(value)
    return format_number(value) if number is None else "< 0.001" if number < 0.001 else format_number(number, 2)


def format_seconds(value: Value) -> str:
    """Write a duration.

    >>> [format_seconds(value) for value in (0.812, 192.4, 3840.0)]
    ['0.812 s', '3 min 12 s', '1 h 4 min']
    """
    seconds = finite(value)
    if seconds is None:
        return format_number(value)
    if seconds < 59.95:
        return f"{format_number(float(seconds))} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def join_words(words: Sequence[str]) -> str:
    """Join words as prose: `RNN, GRU and Transformer`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
