"""Splits of a data set as columns: how tables and arrays are read for the audit of data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.errors import AuditError, complain, did_you_mean

Column = str | int
Table = dict[Column, NDArray[Any]]
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class SplitTables:
    """Three splits with equal columns, and which of them mean what.

    Attributes:
        tables: Columns of each split, by the split's name; splits that were not given are missing.
        given: The splits as the caller gave them.
        time: Column of the time of a row; of a window, its last observed step.
        group: Column of the unit that a row belongs to.
        label: Column of what is predicted.
        window: Steps that a row reads.
        horizon: Steps that are predicted, after the last observed one.
    """

    tables: dict[str, Table]
    given: tuple[Any, Any, Any]
    time: Column | None
    group: Column | None
    label: Column | None
    window: int | None
    horizon: int | None

    @property
    def columns(self) -> list[Column]:
        """Names of the columns."""
        return list(self.tables["train"])

    def pairs(self) -> list[tuple[str, str]]:
        """Name every two splits, the earlier first."""
        names = [name for name in SPLITS if name in self.tables]
        return [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]

    def column(self, split: str, name: Column) -> NDArray[Any]:
        """Give one column of one split."""
        return self.tables[split][name]

    def rows(self, split: str) -> int:
        """Count the rows of a split."""
        return len(next(iter(self.tables[split].values())))


def read_splits(
    given: tuple[Any, Any, Any],
    time: Column | None,
    group: Column | None,
    label: Column | None,
    window: int | None,
    horizon: int | None,
) -> SplitTables:
    """Read three splits.

    Raises:
        AuditError: If a split is no table, is empty, has other columns, or lacks a column that was named.
    """
    tables = {name: _columns(one, name) for name, one in zip(SPLITS, given, strict=True) if one is not None}
    if "train" not in tables or len(tables) < 2:
        raise AuditError(
            complain("audit_data", "the splits", "train and at least one other", ", ".join(tables) or "none")
        )
    known = list(tables["train"])
    for name, table in tables.items():
        if list(table) != known:
            different = sorted(map(str, set(table) ^ set(known)))
            raise AuditError(
                complain("audit_data", f"columns of {name}", "those of train", f"a difference in {different}")
            )
    for what, column in (("time", time), ("group", group), ("label", label)):
        if column is not None and column not in known:
            remedy = did_you_mean(str(column), map(str, known))
            raise AuditError(complain("audit_data", what, "a column", repr(column), remedy))
    return SplitTables(tables, given, time, group, label, window, horizon)


def _columns(table: Any, name: str) -> Table:
    columns: Table
    if hasattr(table, "get_columns"):
        columns = {column.name: column.to_numpy() for column in table.get_columns()}
    elif isinstance(table, Mapping):
        columns = {key: numpy.asarray(value) for key, value in table.items()}
    else:
        values = numpy.asarray(table)
        if values.ndim < 1 or values.dtype == object:
            rule = "a table, a mapping of arrays or an array of rows"
            raise AuditError(complain("audit_data", name, rule, type(table).__name__))
        flat = values.reshape(len(values), -1)
        columns = {place: flat[:, place] for place in range(flat.shape[1])}
    lengths = {len(column) for column in columns.values() if column.ndim}
    if len(lengths) != 1 or 0 in lengths or any(column.ndim == 0 for column in columns.values()):
        got = f"columns of {sorted(lengths) or 'no'} rows"
        raise AuditError(complain("audit_data", name, "columns of one length, at least 1", got))
    return columns


def is_number(column: NDArray[Any]) -> bool:
    """Say whether a column holds real or whole numbers."""
    return column.dtype.kind in "fiu"
