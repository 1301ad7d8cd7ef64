"""Arithmetic in words: numbers with three significant digits, products, sums and quotients as a person writes them."""

import math
from collections.abc import Sequence

from clew.rendering.numbers import format_number

MOST_TERMS = 10
_EXACT = 1e-6
Term = tuple[float, ...]
"""Factors of one term; a single one stands for itself."""


def digits(number: float) -> str:
    """Write a number with three significant digits; fewer where they are all there is, as in 0.6.

    >>> [digits(number) for number in (0.65012, 0.6, -2.0, 0.0)]
    ['0.650', '0.6', '-2', '0']
    """
    if number == 0 or not math.isfinite(number):
        return format_number(number)
    short = f"{number:.3g}"
    if abs(float(short) - number) <= _EXACT * abs(number):
        return short
    return format_number(number).replace(",", "")


def sum_words(terms: Sequence[Term]) -> str:
    """Write a sum of products; of many terms the first and the last, and what those between sum to.

    >>> sum_words([(-0.579, 0.6), (1.06, 0.9), (0.6502, -0.1), (-0.25,)])
    '-0.579*0.6 + 1.06*0.9 + 0.650*(-0.1) - 0.25'
    """
    kept = [term for term in terms if term != (0.0,)] or [(0.0,)]
    if len(kept) <= MOST_TERMS:
        return _joined([_signed(term) for term in kept])
    half = MOST_TERMS // 2
    between = kept[half:-half]
    total = math.fsum(math.prod(term) for term in between)
    middle = ("-" if total < 0 else "+", f"[{len(between)} more terms: {digits(abs(total))}]")
    return _joined([*map(_signed, kept[:half]), middle, *map(_signed, kept[-half:])])


def equals(value: float, words: str) -> str:
    """Write an equation with a number on its left.

    >>> equals(0.6718, "0.4 + 0.2718")
    '0.672 = 0.4 + 0.2718'
    """
    return f"{digits(value)} = {words}"


def applied(function: str, number: float) -> str:
    """Write a function of a number: `tanh(0.412)`."""
    return f"{function}({digits(number)})"


def bracketed(number: float) -> str:
    """Write a number so that it can follow a sign: negative ones in brackets."""
    return f"({digits(number)})" if number < 0 else digits(number)


def _signed(term: Term) -> tuple[str, str]:
    sign = "-" if term[0] < 0 else "+"
    return sign, "*".join([digits(abs(term[0])), *(bracketed(factor) for factor in term[1:])])


def _joined(parts: Sequence[tuple[str, str]]) -> str:
    first_sign, first = parts[0]
    rest = "".join(f" {sign} {words}" for sign, words in parts[1:])
    return f"{'-' if first_sign == '-' else ''}{first}{rest}"
