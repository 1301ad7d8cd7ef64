"""`duplicate_rows`: no row of one split stands in another, exactly or nearly.

Compared are all columns but the time, the group and a counter of rows. Equal rows are a fault if chance does not
explain them: no other row is nearly the same, or rows agree more often than two rows of train do in their most telling
column. Texts that differ in case, spaces or punctuation are nearly equal; for real values see `clew.checks.data_near`.
Rows of a time series that repeats itself (less than half of train's rows are distinct) say nothing.
"""

from collections import Counter
from typing import Any

import numpy

from clew.checks.data_cells import Codes, coded, row_keys
from clew.checks.data_chance import chance_of, repetition, stand_alone
from clew.checks.data_columns import Column, kind_of
from clew.checks.data_near import near_rows
from clew.checks.data_tables import SplitTables
from clew.checks.finding import Finding, failed, not_applicable, passed

NAME = "duplicate_rows"
RARE = 1e-3
CLEARLY_MORE = 3
LONG_TEXT = 20
LONG_LIST = 8


def check_duplicate_rows(data: SplitTables) -> Finding:
    """Compare the rows of every two splits."""
    columns = compared(data)
    if not columns:
        return not_applicable(NAME, "there is no column but the time and the group")
    exact = coded(data, columns)
    distinct = len(set(row_keys(exact["train"])))
    if data.time is not None and distinct * 2 < len(exact["train"]):
        return not_applicable(NAME, "rows repeat by nature: less than half of train's rows are distinct")
    has_text = any(kind_of(data.column("train", name)) == "text" for name in columns)
    told = [("equals", exact)] + ([("nearly equals", coded(data, columns, plain_text=True))] if has_text else [])
    is_long = _is_long(data, columns)
    by_chance = 0
    for first, second in data.pairs():
        for how, codes in told:
            equal = _equal(codes[first], codes[second])
            copies = equal if is_long else _beyond_chance(equal, codes, first, second)
            if copies:
                return _told(first, second, copies, how)
            by_chance += len(equal)
        near = near_rows(data, columns, first, second)
        if near:
            return _told(first, second, near, "nearly equals")
    reason = f"{by_chance} rows agree, no more than chance gives" if by_chance else "no row stands in two splits"
    return passed(NAME, reason, changed="nothing")


def compared(data: SplitTables) -> list[Column]:
    """Name the columns that say what a row is."""
    named = [column for column in data.columns if column not in (data.time, data.group)]
    kept = [column for column in named if column == data.label or not _is_counter(data, column)]
    return kept if [column for column in kept if column != data.label] else named


def _is_counter(data: SplitTables, column: Column) -> bool:
    """Say whether a column counts the rows of every split."""
    arrays = [data.column(split, column) for split in data.tables]
    return all(
        one.ndim == 1 and one.dtype.kind in "iu" and len(one) > 1 and numpy.ptp(one) + 1 == len(one) == len(set(one))
        for one in arrays
    )


def _is_long(data: SplitTables, columns: list[Column]) -> bool:
    """Say whether some column holds texts or lists that are too long to be equal by chance."""
    for name in columns:
        column = data.column("train", name)
        least = {"text": LONG_TEXT, "lists": LONG_LIST}.get(kind_of(column))
        sizes = [len(value) for value in column.ravel().tolist() if hasattr(value, "__len__")]
        if least is not None and sizes and sum(sizes) >= least * len(sizes):
            return True
    return False


def _equal(first: Codes, second: Codes) -> list[tuple[int, int]]:
    places: dict[bytes, int] = {}
    for place, key in enumerate(row_keys(first)):
        places.setdefault(key, place)
    return [(places[key], place) for place, key in enumerate(row_keys(second)) if key in places]


def _beyond_chance(
    equal: list[tuple[int, int]], codes: dict[str, Codes], first: str, second: str
) -> list[tuple[int, int]]:
    """Leave of equal rows those that no chance explains."""
    if not equal:
        return []
    old, new = (Counter(row_keys(codes[split])) for split in (first, second))
    pairs = sum(count * old[key] for key, count in new.items())
    rates = repetition(codes["train"])
    tried = len(codes[first]) * len(codes[second])
    alone = stand_alone(codes[second][[new for _, new in equal]], codes["train"])
    if alone.any() and chance_of(pairs, tried * float(rates.prod())) < RARE:
        return [pair for pair, is_alone in zip(equal, alone, strict=True) if is_alone]
    expected = tried * float(rates.min())
    return equal if pairs > CLEARLY_MORE * expected and chance_of(pairs, expected) < RARE else []


def _told(first: str, second: str, pairs: list[tuple[int, int]], how: str, **details: Any) -> Finding:
    old, new = pairs[0]
    reason = f"row {new} of {second} {how} row {old} of {first} ({len(pairs)} such rows)"
    cause = "Usual cause: repeated records that were split at random."
    return failed(NAME, f"{reason}. {cause}", changed="nothing", **details)
