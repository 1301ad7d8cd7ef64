"""`duplicate_rows`: no row of one split stands in another, exactly or nearly.

Compared are all columns but the time. Where rows repeat by nature (less than half of them are distinct), equal rows say
nothing. Nearly equal: in three or more real columns, closer than a thousandth of their spread while neighbours within
the training split are far apart.
"""

from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_tables import SplitTables
from clew.checks.finding import Finding, failed, not_applicable, passed

NAME = "duplicate_rows"
NEAR = 1e-3
FAR = 0.05
REAL_COLUMNS = 3
CHUNK = 512


def check_duplicate_rows(data: SplitTables) -> Finding:
    """Compare the rows of every two splits."""
    columns = [column for column in data.columns if column != data.time]
    if not columns:
        return not_applicable(NAME, "there is no column but the time")
    rows = {name: _as_rows(data, name, columns) for name in data.tables}
    if len(set(rows["train"])) * 2 < len(rows["train"]):
        return not_applicable(NAME, "rows repeat by nature: less than half of train's rows are distinct")
    for first, second in data.pairs():
        places = {row: place for place, row in enumerate(rows[first])}
        equal = [(places[row], place) for place, row in enumerate(rows[second]) if row in places]
        if equal:
            return _told(first, second, equal, "equals")
        near = _near(data, first, second)
        if near:
            return _told(first, second, near, "nearly equals")
    return passed(NAME, "no row stands in two splits", changed="nothing")


def _as_rows(data: SplitTables, split: str, columns: list[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(data.column(split, column).tolist() for column in columns), strict=True))


def _near(data: SplitTables, first: str, second: str) -> list[tuple[int, int]]:
    names = [c for c in data.columns if c != data.time and data.column("train", c).dtype.kind == "f"]
    if len(names) < REAL_COLUMNS:
        return []
    spread = numpy.array([data.column("train", name).std() or 1.0 for name in names])
    old, new = (numpy.stack([data.column(s, n) for n in names], axis=1) / spread for s in (first, second))
    if numpy.median(_nearest(old, old, itself=True)[1]) < FAR:
        return []
    place, distance = _nearest(new, old)
    return [(int(place[row]), int(row)) for row in numpy.flatnonzero(distance < NEAR)]


def _nearest(rows: NDArray[Any], others: NDArray[Any], itself: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give the nearest other row and its distance, the largest of any column, a chunk at a time."""
    places, distances = [], []
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        gaps = numpy.zeros((len(part), len(others)))
        for column in range(rows.shape[1]):
            numpy.maximum(gaps, abs(part[:, column, None] - others[None, :, column]), out=gaps)
        if itself:
            gaps[numpy.arange(len(part)), numpy.arange(start, start + len(part))] = numpy.inf
        places.append(gaps.argmin(axis=1))
        distances.append(gaps.min(axis=1))
    return numpy.concatenate(places), numpy.concatenate(distances)


def _told(first: str, second: str, pairs: list[tuple[int, int]], how: str) -> Finding:
    old, new = pairs[0]
    reason = f"row {new} of {second} {how} row {old} of {first} ({len(pairs)} such rows)"
    return failed(NAME, f"{reason}. Usual cause: repeated records that were split at random.", changed="nothing")
