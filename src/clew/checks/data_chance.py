"""How many rows of two splits agree by chance: what tells a copied record from values that repeat by nature."""

from math import exp, log

import numpy
from numpy.typing import NDArray

from clew.checks.data_cells import Codes

SAMPLE = 128
OTHERS = 1024
ENTRIES = 64
FAR_ENTRIES = 3


def stand_alone(rows: Codes, codes: Codes) -> NDArray[numpy.bool_]:
    """Say for each row whether it differs from the nearest row that is not equal in 3 entries or more.

    Then an equal row is a copy: one that only fell together would be among others that nearly did.
    """
    if codes.shape[1] < FAR_ENTRIES:
        return numpy.zeros(len(rows), dtype=bool)
    entries = _spaced(codes.shape[1], ENTRIES)
    others = codes[_spaced(len(codes), OTHERS)][:, entries]
    nearest = []
    for start in range(0, len(rows), SAMPLE):
        different = (rows[start : start + SAMPLE, None, entries] != others[None]).sum(axis=2)
        nearest.append(numpy.where(different == 0, len(entries), different).min(axis=1))
    return numpy.concatenate(nearest) >= FAR_ENTRIES


def _spaced(number: int, most: int) -> NDArray[numpy.int64]:
    return numpy.unique(numpy.linspace(0, number - 1, min(number, most)).astype(numpy.int64))


def repetition(codes: Codes) -> NDArray[numpy.float64]:
    """Give for each column the rate at which two rows of a split agree in it."""
    rates = []
    for column in range(codes.shape[1]):
        _, counts = numpy.unique(codes[:, column], return_counts=True)
        rates.append((counts * (counts - 1)).sum() / max(len(codes) * (len(codes) - 1), 1))
    return numpy.array(rates)


def chance_of(found: int, expected: float) -> float:
    """Give the chance of so many or more, where a number is expected (Poisson)."""
    if found == 0:
        return 1.0
    if expected <= 0:
        return 0.0
    if found < expected:
        return 1.0
    terms = numpy.arange(found)
    logs = -expected + terms * log(expected) - numpy.concatenate([[0.0], numpy.cumsum(numpy.log(terms[1:]))])
    return max(1.0 - float(numpy.exp(logs).sum()), 0.0) if found > 1 else 1.0 - exp(-expected)
