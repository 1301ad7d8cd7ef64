"""Three significant digits, as the text's tables show them: without zeros at the end, and integers whole."""

import math

from clew.rendering.numbers import words_for
from clew.walkthrough.items import Cell


def three_digits(value: Cell) -> str:
    """Write a cell for people; words stay as they are.

    >>> [three_digits(value) for value in (0.650123, -0.0954321, 2.0, 123456.0, 0.0000123, -0.0, 1943, None, "a")]
    ['0.65', '-0.0954', '2', '123,000', '1.23e-5', '0', '1943', 'not computed', 'a']
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value) if isinstance(value, int) else words_for(value) or ""
    rounded = round_to_three(value)
    if rounded and not 1e-4 <= abs(rounded) < 1e6:
        mantissa, exponent = f"{rounded:.3g}".split("e") if "e" in f"{rounded:.3g}" else f"{rounded:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.3g}"


def round_to_three(value: float) -> float:
    """Round to three significant digits; never to minus zero.

    >>> round_to_three(0.41049), round_to_three(-0.0)
    (0.41, 0.0)
    """
    return float(f"{value:.3g}") + 0.0
