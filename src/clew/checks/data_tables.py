"""Splits of a data set as columns, and which column means what: what the audit of data works on."""

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_columns import Column, Table, is_number, kind_of, read_columns
from clew.errors import AuditError, complain, did_you_mean

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
        names = list(self.tables)
        return [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]

    def column(self, split: str, name: Column) -> NDArray[Any]:
        """Give one column of one split."""
        return self.tables[split][name]

    def rows(self, split: str) -> int:
        """Count the rows of a split."""
        return len(next(iter(self.tables[split].values())))

    def windows(self, split: str) -> NDArray[Any] | None:
        """Give a split as it came, if it is an array (rows, time, features)."""
        given = self.given[SPLITS.index(split)]
        shape = tuple(getattr(given, "shape", ()))
        return None if len(shape) != 3 else numpy.stack(list(self.tables[split].values()), axis=1).reshape(shape)


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
    tables = {name: read_columns(one, name) for name, one in zip(SPLITS, given, strict=True) if one is not None}
    if "train" not in tables or len(tables) < 2:
        got = f"{', '.join(tables) or 'none'}"
        raise AuditError(complain("audit_data", "the splits", "train and at least one other", got))
    tables = {name: _fitting(table, tables["train"], name) for name, table in tables.items()}
    for what, column in (("time", time), ("group", group), ("label", label)):
        if column is not None:
            _must_have(what, column, list(tables["train"]))
    for what, steps, least in (("window", window, 1), ("horizon", horizon, 0)):
        if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < least):
            raise AuditError(complain("audit_data", what, f"a whole number of steps, at least {least}", repr(steps)))
    if time is not None:
        tables = {name: table | {time: _times(table[time], name)} for name, table in tables.items()}
    return SplitTables(tables, given, time, group, label, window, horizon)


def _fitting(table: Table, train: Table, split: str) -> Table:
    """Give the columns of a split in train's order."""
    if set(table) != set(train):
        missing, extra = (sorted(map(str, a.keys() - b.keys())) for a, b in ((train, table), (table, train)))
        parts = [f"{what} {names}" for what, names in (("without", missing), ("with", extra)) if names]
        remedy = did_you_mean(extra[0], missing) if extra and missing else ""
        raise AuditError(complain("audit_data", f"columns of {split}", "those of train", " and ".join(parts), remedy))
    for name, column in table.items():
        mine, its = (kind_of(one) for one in (column, train[name]))
        if "nothing" not in (mine, its) and (mine != its or column.shape[1:] != train[name].shape[1:]):
            rule = f"{its} of shape {('rows', *train[name].shape[1:])}, as in train"
            got = f"{mine} of shape {('rows', *column.shape[1:])}"
            raise AuditError(complain("audit_data", f"column {name!r} of {split}", rule.replace("'rows'", "rows"),
                                      got.replace("'rows'", "rows")))  # fmt: skip
    return {name: table[name] for name in train}


def _must_have(what: str, column: Column, known: list[Column]) -> None:
    if column in known:
        return
    names = list(map(str, known))
    remedy = did_you_mean(str(column), names) if len(names) <= 30 else f"There are {len(names)} columns."
    raise AuditError(complain("audit_data", what, "a column", repr(column), remedy))


def _times(column: NDArray[Any], split: str) -> NDArray[Any]:
    """Give times as numbers or dates; text must be dates as in ISO 8601."""
    rule = "numbers, dates or dates as ISO text"
    if kind_of(column) == "text" and column.ndim == 1:
        try:
            column = column.astype("M8[us]")
        except (ValueError, TypeError) as error:
            raise AuditError(complain("audit_data", f"time of {split}", rule, repr(column[0]))) from error
    if column.ndim != 1 or not (is_number(column) or column.dtype.kind in "mM"):
        raise AuditError(complain("audit_data", f"time of {split}", rule, kind_of(column)))
    missing = numpy.flatnonzero(numpy.isnan(column) if column.dtype.kind in "fmM" else numpy.zeros(len(column)))
    if len(missing):
        raise AuditError(complain("audit_data", f"time of {split}", "there in every row", f"none in row {missing[0]}"))
    return column
