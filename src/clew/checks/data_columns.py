"""Columns of one table: how polars frames, mappings, arrays and tensors are read, and how they are given back.

Every column becomes an array whose first axis is the rows: numbers, dates, text or lists. An array of rows becomes one
column for each entry of a row, numbered from 0.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy
import torch
from numpy.typing import NDArray

from clew.errors import AuditError, complain

Column = str | int
Table = dict[Column, NDArray[Any]]
KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "spans"}


def read_columns(table: Any, split: str) -> Table:
    """Read one split.

    Raises:
        AuditError: If it is no table, or has no rows, or columns of different lengths.
    """
    if hasattr(table, "get_columns"):
        columns = {column.name: as_array(column) for column in table.get_columns()}
    elif isinstance(table, Mapping):
        columns = {name: as_array(value) for name, value in table.items()}
    else:
        columns = _entries(table, split)
    lengths = {len(column) for column in columns.values() if column.ndim}
    if len(lengths) != 1 or 0 in lengths or any(column.ndim == 0 for column in columns.values()):
        got = f"columns of {', '.join(map(str, sorted(lengths))) or 'no'} rows"
        raise AuditError(complain("audit_data", split, "columns of one length, at least 1", got))
    return columns


def _entries(table: Any, split: str) -> Table:
    rule = "a polars table, a mapping of arrays or an array of rows"
    if hasattr(table, "collect_schema"):
        raise AuditError(complain("audit_data", split, rule, "a lazy frame", "Call .collect() first."))
    if hasattr(table, "iloc"):
        remedy = "Give {name: table[name].to_numpy() for name in table.columns}."
        raise AuditError(complain("audit_data", split, rule, type(table).__name__, remedy))
    values = as_array(table)
    if values.ndim == 0:
        raise AuditError(complain("audit_data", split, rule, type(table).__name__))
    if any(isinstance(row, Mapping) for row in values.ravel()[:1].tolist()):
        remedy = "Give one mapping of columns instead."
        raise AuditError(complain("audit_data", split, rule, "rows that are mappings", remedy))
    flat = values.reshape(len(values), -1)
    return {place: flat[:, place] for place in range(flat.shape[1])}


def as_array(values: Any) -> NDArray[Any]:
    """Make an array; rows of different lengths stay lists, missing numbers become NaN."""
    if isinstance(values, torch.Tensor):
        kept = values.detach().cpu()
        return (kept.float() if kept.dtype == torch.bfloat16 else kept).numpy()
    try:
        array = values.to_numpy() if hasattr(values, "to_numpy") else numpy.asarray(values)
    except ValueError:
        array = numpy.empty(len(values), dtype=object)
        array[:] = list(values)
    return _told_apart(array) if array.dtype == object and array.ndim == 1 else array


def _told_apart(array: NDArray[Any]) -> NDArray[Any]:
    """Turn objects into numbers or dates where all of them are, missing ones aside."""
    there = [value for value in array if value is not None]
    if there and all(isinstance(value, (int, float)) for value in there):
        return numpy.array([numpy.nan if value is None else value for value in array], dtype=float)
    if there and all(isinstance(value, date) for value in there):
        return array.astype("M8[us]")
    return array


def kind_of(column: NDArray[Any]) -> str:
    """Say what a column holds: numbers, dates, spans, text, lists, or nothing."""
    if column.dtype.kind in KINDS:
        return KINDS[column.dtype.kind]
    first = next((value for value in column.ravel().tolist() if value is not None), None)
    if first is None:
        return "nothing"
    return "text" if isinstance(first, (str, bytes)) else "lists"


def is_number(column: NDArray[Any]) -> bool:
    """Say whether a column holds real or whole numbers."""
    return column.dtype.kind in "fiu"


def given_back(table: Any, columns: Mapping[Column, NDArray[Any]], rows: NDArray[Any] | None = None) -> Any:
    """Copy a table in its own type, some of its columns changed, or some of its rows left out.

    Args:
        table: Of any type that `read_columns` reads.
        columns: New columns by name; of an array of rows, column "" is the whole array.
        rows: Numbers of the rows that stay; all by default.
    """
    if hasattr(table, "get_columns"):
        new = [
            type(column)(column.name, columns[column.name]) for column in table.get_columns() if column.name in columns
        ]
        changed = table.with_columns(new)
        return changed if rows is None else changed[rows.tolist()]
    if isinstance(table, Mapping):
        return {name: _like(value, columns.get(name), rows) for name, value in table.items()}
    return _like(table, columns.get(""), rows)


def _like(value: Any, new: NDArray[Any] | None, rows: NDArray[Any] | None) -> Any:
    array = as_array(value) if new is None else new
    array = array.copy() if rows is None else array[rows]
    if isinstance(value, torch.Tensor):
        return torch.as_tensor(array).to(value.dtype)
    return array.tolist() if isinstance(value, list) else array
