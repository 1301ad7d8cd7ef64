"""Rows that are nearly equal in real values: copies that were rounded, converted or jittered.

Two rows lie as far apart as the column in which they differ most, in units of its spread in train. They are copies if
rows lie so close more often than chance gives. Chance is read off train: how far a row's nearest row lies beyond that
distance, and in how many directions rows scatter (Facco et al. 2017, arXiv:1803.06992: from the ratio of the two
nearest distances). Where the nearest rows lie hardly further than that, nothing can be told at that distance.
"""

from math import log

import numpy
from numpy.typing import NDArray

from clew.checks.data_cells import Codes, coded
from clew.checks.data_chance import chance_of
from clew.checks.data_columns import Column
from clew.checks.data_tables import SplitTables

DISTANCES = (1e-2, 1e-4, 1e-6, 1e-9)
ROUNDING = 1e-9
GAP = 5
RARE = 1e-3
LEAST_ROWS = 8
SAMPLE = 256
WORK = 200_000_000
CHUNK = 256

Reals = NDArray[numpy.float64]


def near_rows(data: SplitTables, columns: list[Column], first: str, second: str) -> list[tuple[int, int]]:
    """Give pairs of rows, of the first and of the second split, that are nearly equal, and more than by chance."""
    real = [name for name in columns if data.column("train", name).dtype.kind == "f"]
    if not real or data.rows("train") < LEAST_ROWS:
        return []
    numbers = {split: _reals(data, real, split) for split in {"train", first, second}}
    spread = numpy.nanstd(numbers["train"], axis=0)
    spread[~(spread > 0)] = 1.0
    rows = {split: numpy.nan_to_num(one / spread) for split, one in numbers.items()}
    looked = _spaced(len(rows[second]), max(WORK // rows[first].size, 1))
    place, distance = nearest(rows[second][looked], rows[first])
    largest = _telling_distance(rows["train"], distance, rows[first][place], data.time is not None)
    pairs = [(int(place[n]), int(looked[n])) for n in numpy.flatnonzero((distance > 0) & (distance <= largest))]
    rest = coded(data, [name for name in columns if name not in real]) if len(real) < len(columns) else None
    return [pair for pair in pairs if _agree(pair, numbers[first], numbers[second], rest, first, second)]


def _reals(data: SplitTables, real: list[Column], split: str) -> Reals:
    columns = [data.column(split, name).reshape(data.rows(split), -1) for name in real]
    return numpy.concatenate(columns, axis=1).astype(numpy.float64)


def _agree(
    pair: tuple[int, int], old: Reals, new: Reals, rest: dict[str, Codes] | None, first: str, second: str
) -> bool:
    is_same = numpy.array_equal(numpy.isnan(old[pair[0]]), numpy.isnan(new[pair[1]]))
    return is_same and (rest is None or numpy.array_equal(rest[first][pair[0]], rest[second][pair[1]]))


def _telling_distance(train: Reals, found: Reals, matched: Reals, has_time: bool) -> float:
    """Give the largest distance at which rows lie close more often than chance gives; -1 if there is none.

    Args:
        train: Rows of train.
        found: For each row of the later split, how far the nearest earlier row lies.
        matched: Those nearest rows.
        has_time: Whether the rows are a time series, which may repeat itself.
    """
    some = _spaced(len(train), SAMPLE)
    gaps = _gaps(train[some], train)
    gaps[numpy.arange(len(some)), some] = numpy.inf
    for distance in DISTANCES:
        repeats_itself = float((gaps.min(axis=1) <= (distance if has_time else ROUNDING)).mean()) > 0.5
        close = numpy.flatnonzero((found > 0) & (found <= distance))
        if len(close) == 0 or repeats_itself:
            continue
        looked = close[_spaced(len(close), SAMPLE)]
        beyond = _beyond(gaps, distance)
        shares = numpy.array([_share(distance, beyond, row, train) for row in matched[looked]])
        lonely = numpy.isfinite(shares)
        number = int(lonely.mean() * len(close))
        if number and chance_of(number, len(found) * float(numpy.median(shares[lonely]))) < RARE:
            return distance
    return -1.0


def _beyond(gaps: Reals, distance: float) -> Reals:
    """Give for each row the two smallest gaps that are larger than a distance."""
    two = numpy.sort(numpy.where(gaps > distance, gaps, numpy.inf), axis=1)[:, :2]
    return two[numpy.isfinite(two).all(axis=1)]


def _share(distance: float, beyond: Reals, row: Reals, train: Reals) -> float:
    """Give the chance that a row falls so close to a given one, or infinity where rows lie too dense to tell.

    Entries that other rows of train have too, such as a 0 for nothing, do not count as a direction.
    """
    around = _gaps(row[None], train)[0]
    around = around[around > distance]
    own = int(((train == row).sum(axis=0) <= 1).sum())
    if len(beyond) < LEAST_ROWS or len(around) == 0 or own == 0 or around.min() < GAP * distance:
        return float("inf")
    mean_log = float(numpy.log(beyond[:, 1] / beyond[:, 0]).mean())
    directions = min(1 / mean_log if mean_log > 0 else 1.0, own)
    return log(2) * (distance / min(float(numpy.median(beyond[:, 0])), float(around.min()))) ** directions


def nearest(rows: Reals, others: Reals) -> tuple[NDArray[numpy.int64], Reals]:
    """Give for each row the nearest other row and its distance."""
    places, distances = [], []
    for start in range(0, len(rows), CHUNK):
        gaps = _gaps(rows[start : start + CHUNK], others)
        places.append(gaps.argmin(axis=1))
        distances.append(gaps.min(axis=1))
    return numpy.concatenate(places), numpy.concatenate(distances)


def _gaps(rows: Reals, others: Reals) -> Reals:
    gaps = numpy.zeros((len(rows), len(others)))
    for column in range(rows.shape[1]):
        numpy.maximum(gaps, abs(rows[:, column, None] - others[None, :, column]), out=gaps)
    return gaps


def _spaced(number: int, most: int) -> NDArray[numpy.int64]:
    return numpy.unique(numpy.linspace(0, number - 1, min(number, most)).astype(numpy.int64))
