"""What a column of text holds, and its cells as numbers, times or words.

A column is one of numbers or times where most of its cells are; the others are then cells that are wrong, not a reason
to read the column as text without a word. Which cells count as missing is fixed here.
"""

from typing import TYPE_CHECKING

from clew.data.columns import LIST_OF_NUMBERS, LIST_OF_TEXT, MOMENT, NUMBER, OTHER, TEXT, kind_of
from clew.data.raw_blocks import RawBlock

if TYPE_CHECKING:
    import polars as pl

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")
DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
LOCAL_DATE = r"^\d{1,4}[./]\d{1,2}[./]\d{1,4}([ T].*)?$"
TIME_FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d",
)
ZONED_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z")


def infer_kinds(block: RawBlock) -> dict[str, str]:
    """Say of each column of a file what it holds, in the words of `clew.data.columns`."""
    kinds = {}
    for series in block.frame:
        kind = kind_of(series.dtype)
        if series.name in block.untyped:
            cells = series.explode() if kind == LIST_OF_TEXT else series
            inferred = _infer(cells)
            lists = {NUMBER: LIST_OF_NUMBERS, TEXT: LIST_OF_TEXT}
            kind = lists.get(inferred, LIST_OF_TEXT) if kind == LIST_OF_TEXT else inferred
        kinds[series.name] = kind
    return {**kinds, **dict.fromkeys(block.other, OTHER)}


def _infer(cells: "pl.Series") -> str:
    """Decide by the majority of the cells that are not missing."""
    given = cells.filter(~is_missing(cells))
    if not len(given):
        return NUMBER
    half = len(given) / 2
    if _numbers(given) >= half or given.str.contains(DECIMAL_COMMA).sum() > half:
        return NUMBER
    if to_moments(given).is_not_null().sum() >= half or given.str.contains(LOCAL_DATE).sum() > half:
        return MOMENT
    return TEXT


def _numbers(cells: "pl.Series") -> int:
    import polars as pl

    return int(cells.cast(pl.Float64, strict=False).is_not_null().sum())


def is_missing(cells: "pl.Series") -> "pl.Series":
    """Mark the cells of a text column that hold nothing, or a word for nothing."""
    return (cells.is_null() | cells.str.to_lowercase().is_in(MISSING_WORDS)).fill_null(True)


def to_numbers(cells: "pl.Series") -> "tuple[pl.Series, pl.Series]":
    """Give the cells as float64, null where missing, and a mark where a cell is there and is no number."""
    import polars as pl

    if cells.dtype != pl.String:
        return cells.cast(pl.Float64, strict=False), pl.repeat(False, len(cells), eager=True)
    numbers = cells.cast(pl.Float64, strict=False)
    missing = is_missing(cells)
    return numbers.set(missing, None), numbers.is_null() & ~missing


def to_moments(cells: "pl.Series") -> "pl.Series":
    """Give the cells as times in microseconds, in UTC where they name a zone; null where they are none."""
    import polars as pl

    moment = pl.Datetime("us")
    if cells.dtype != pl.String:
        if getattr(cells.dtype, "time_zone", None):
            cells = cells.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return cells.cast(moment, strict=False)
    best = pl.repeat(None, len(cells), dtype=moment, eager=True)
    for form in TIME_FORMATS:
        best = best.zip_with(best.is_not_null(), cells.str.to_datetime(form, time_unit="us", strict=False))
        if not best.null_count():
            return best
    for form in ZONED_FORMATS:
        zoned = cells.str.to_datetime(form, time_unit="us", strict=False, time_zone="UTC")
        best = best.zip_with(best.is_not_null(), zoned.dt.replace_time_zone(None))
    return best


def to_words(cells: "pl.Series") -> "pl.Series":
    """Give the cells as text; whole numbers without a decimal point, so that 1 and 1.0 are the same word."""
    import polars as pl

    if cells.dtype.is_float():
        is_whole = (cells == cells.floor()) & (cells.abs() < 2**53)
        whole = cells.set(~is_whole.fill_null(False), None).cast(pl.Int64).cast(pl.String)
        return whole.zip_with(whole.is_not_null(), cells.cast(pl.String))
    return cells.cast(pl.String)
