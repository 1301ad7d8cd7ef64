"""Splits of data from files: tables as polars reads them, or named arrays."""

from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.cli.faults import UsageError
from clew.errors import complain, did_you_mean

WHERE = "clew audit"
TABLES = (".csv", ".parquet", ".jsonl")
ARRAYS = (".npz", ".npy")


def read_table(path: Path) -> Any:
    """Read a split.

    Args:
        path: .csv (with a header; dates are recognized), .parquet or .jsonl, which need polars; .npz with an array a
            column, a matrix being several; .npy, an array of rows.

    Returns:
        A polars table, a mapping of columns, or an array.

    Raises:
        UsageError: If the file is missing, of another kind, damaged or empty, or polars is not installed.
    """
    if path.suffix not in (*TABLES, *ARRAYS):
        rule = f"files that end in {', '.join((*TABLES, *ARRAYS))}"
        raise UsageError(complain(WHERE, "data", rule, f"'{path}'"))
    if not path.is_file():
        raise UsageError(complain(WHERE, "data", "files that exist", f"'{path}'"))
    try:
        table = _read_arrays(path) if path.suffix in ARRAYS else _read_polars(path)
    except UsageError:
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UsageError(complain(WHERE, str(path), f"a readable {path.suffix} file", got)) from error
    return table


def column_named(table: Any, name: str | None) -> str | int | None:
    """Give a column as the audit of data calls it: by its name, or by its number in an array of rows.

    Raises:
        UsageError: If there is no such column.
    """
    if name is None:
        return None
    if isinstance(table, numpy.ndarray):
        count = int(numpy.prod(table.shape[1:]))
        if not name.isdecimal() or int(name) >= count:
            raise UsageError(complain(WHERE, "a column", f"a number from 0 to {count - 1}", f"'{name}'"))
        return int(name)
    known = list(table.columns if hasattr(table, "columns") else table)
    if name not in known:
        raise UsageError(complain(WHERE, "a column", "one of the table", f"'{name}'", did_you_mean(name, known)))
    return name


def _read_polars(path: Path) -> Any:
    try:
        import polars
    except ImportError as error:
        remedy = "Install it with `pip install polars`, or give .npz files."
        raise UsageError(
            complain(WHERE, "polars", f"installed to read {path.suffix}", "no such package", remedy)
        ) from error
    if path.suffix == ".csv":
        return polars.read_csv(path, try_parse_dates=True)
    return polars.read_parquet(path) if path.suffix == ".parquet" else polars.read_ndjson(path)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]] | NDArray[Any]:
    if path.suffix == ".npy":
        return numpy.load(path, allow_pickle=False)
    with numpy.load(path, allow_pickle=False) as arrays:
        return {name: column for key in arrays.files for name, column in _columns(key, arrays[key])}


def _columns(name: str, array: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    """Cut an array of several axes into one column for each of its places."""
    if array.ndim < 2:
        return [(name, array)]
    flat = array.reshape(len(array), -1)
    return [(f"{name}.{place}", flat[:, place]) for place in range(flat.shape[1])]
