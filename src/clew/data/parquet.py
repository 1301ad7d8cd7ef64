"""Parquet: columns with types of their own, read a number of rows at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.data.raw_blocks import RawBlock
from clew.errors import DataError, complain


class ParquetSource:
    """A Parquet file.

    Args:
        path: The file.
    """

    kind = "parquet"

    def __init__(self, path: Path) -> None:
        self.path = path

    def blocks(self, size: int | None) -> Iterator[RawBlock]:
        """Read all rows; a block is what about `size` bytes of numbers are."""
        import polars as pl

        try:
            lazy = pl.scan_parquet(self.path, glob=False)
            schema = lazy.collect_schema()
            rows = int(lazy.select(pl.len()).collect().item())
            step = max(rows, 1) if size is None else max(1, size // (16 * max(len(schema), 1)))
            for start in range(0, max(rows, 1), step):
                yield as_block(lazy.slice(start, step).collect(), start + 1)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            got = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(complain(str(self.path), "file", "a whole Parquet file", got, "Write it again.")) from error


def as_block(frame: Any, first_row: int) -> RawBlock:
    """Bring the many types of columns to few; the others are left out and named."""
    import polars as pl

    columns, other = [], {}
    for series in frame:
        dtype = series.dtype
        inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
        simple: Any = None
        if inner.is_decimal() or inner == pl.Boolean:
            simple = pl.Float64 if inner.is_decimal() else pl.Int64
        elif inner.is_numeric() or inner == pl.String or (inner.is_temporal() and inner not in (pl.Duration, pl.Time)):
            simple = inner
        elif inner in (pl.Categorical, pl.Enum, pl.Null):
            simple = pl.String
        if simple is None or (inner is not dtype and inner.is_temporal()):
            other[series.name] = str(dtype)
            continue
        columns.append(series.cast(pl.List(simple) if inner is not dtype else simple))
    kept = pl.DataFrame(columns) if columns else pl.DataFrame(height=frame.height)
    return RawBlock(kept, first_row, frozenset(), other)
