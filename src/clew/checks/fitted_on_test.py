"""`fitted_on_test`: nothing that was fitted moves when only held-out data moves.

Varied: the numbers, flags and texts of validation and of test, then how many rows they have. Must not move: any array
that `statistics(train, validation, test)` gives. Must move: some of them, when train is varied.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_columns import as_array, given_back, is_number, kind_of
from clew.checks.data_tables import SPLITS, SplitTables
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.errors import AuditError, complain

NAME = "fitted_on_test"
CAUSE = "Usual cause: a scaler or vocabulary that was fitted before the split."
Statistics = Callable[[Any, Any, Any], Mapping[str, Any]]
Variation = Callable[[Any, SplitTables], Any]


def check_fitted_on_test(data: SplitTables, statistics: Statistics | None) -> Finding:
    """Fit again after one split was varied."""
    if statistics is None:
        return not_applicable(NAME, "no statistics were given")
    before = _fitted(statistics, data.given)
    if _moved(before, _fitted(statistics, data.given)):
        return not_applicable(NAME, "fitting twice to the same splits gives two results: fix the seed of statistics")
    refused = []
    for split in SPLITS[1:]:
        for what, variation in VARIATIONS.items():
            if split in data.tables:
                try:
                    moved = _moved(before, _fitted(statistics, _varied(data, split, variation)))
                except AuditError as error:
                    refused.append(f"{what} of {split} could not be varied: {error}")
                    continue
                if moved:
                    names = ", ".join(map(repr, moved))
                    reason = f"{names} moves when only {what} of {split} move. {CAUSE}"
                    return failed(NAME, reason, changed=f"{what} of {split}", moved=names)
    if len(refused) == (len(data.tables) - 1) * len(VARIATIONS):
        return not_applicable(NAME, "statistics raised for every variation", remarks=tuple(refused))
    if not any(_moves_with_train(statistics, data, before, variation) for variation in VARIATIONS.values()):
        return not_applicable(NAME, "nothing that was fitted moves when train moves", remarks=tuple(refused))
    reason = "what was fitted moves with train alone"
    return passed(NAME, reason, changed="numbers, texts and rows of each split", remarks=tuple(refused))


def _moves_with_train(
    statistics: Statistics, data: SplitTables, before: dict[str, NDArray[Any]], variation: Variation
) -> bool:
    try:
        return bool(_moved(before, _fitted(statistics, _varied(data, "train", variation))))
    except AuditError:
        return False


def _fitted(statistics: Statistics, splits: tuple[Any, ...]) -> dict[str, NDArray[Any]]:
    try:
        found = statistics(*(None if split is None else given_back(split, {}) for split in splits))
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise AuditError(complain("audit_data", "statistics", "callable on the three splits", what)) from error
    if not isinstance(found, Mapping):
        rule = "a function that gives a mapping of arrays"
        raise AuditError(complain("audit_data", "statistics", rule, type(found).__name__))
    return {str(name): as_array(value) for name, value in found.items()}


def _moved(before: dict[str, NDArray[Any]], after: dict[str, NDArray[Any]]) -> list[str]:
    changed = [n for n in before if n not in after or not _is_equal(before[n], after[n])]
    return changed + [name for name in after if name not in before]


def _is_equal(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if first.dtype == object or second.dtype == object:
        return repr(first.tolist()) == repr(second.tolist())
    return numpy.array_equal(first, second, equal_nan=first.dtype.kind == second.dtype.kind == "f")


def _varied(data: SplitTables, split: str, variation: Variation) -> tuple[Any, ...]:
    """Give the splits as they were given, with one of them varied."""
    place = SPLITS.index(split)
    return tuple(variation(one, data) if place == at else one for at, one in enumerate(data.given))


def _other_numbers(table: Any, data: SplitTables) -> Any:
    """Vary numbers and flags; times and groups stay."""
    return _changed(table, data, lambda column: is_number(column) or column.dtype.kind == "b")


def _other_texts(table: Any, data: SplitTables) -> Any:
    """Vary texts."""
    return _changed(table, data, lambda column: kind_of(column) == "text")


def _fewer_rows(table: Any, data: SplitTables) -> Any:
    """Leave out the second half of the rows, so that times, groups and counts move."""
    rows = data.rows(SPLITS[[one is table for one in data.given].index(True)])
    return given_back(table, {}, numpy.arange(max(rows // 2, 1)))


VARIATIONS: dict[str, Variation] = {"numbers": _other_numbers, "texts": _other_texts, "rows": _fewer_rows}


def _changed(table: Any, data: SplitTables, is_varied: Callable[[NDArray[Any]], bool]) -> Any:
    if hasattr(table, "get_columns"):
        columns = {column.name: as_array(column) for column in table.get_columns()}
    elif isinstance(table, Mapping):
        columns = {name: as_array(value) for name, value in table.items()}
    else:
        columns = {"": as_array(table)}
    fixed = (data.time, data.group)
    new = {n: _other(values) for n, values in columns.items() if n not in fixed and is_varied(values)}
    return given_back(table, new)


def _other(values: NDArray[Any]) -> NDArray[Any]:
    """Stretch and move numbers, so that mean, spread, extremes and counts all move; turn flags; lengthen texts."""
    if values.dtype.kind == "b":
        return ~values
    if not is_number(values):
        return numpy.array([value if value is None else f"{value}~" for value in values.ravel().tolist()]).reshape(
            values.shape
        )
    noise = numpy.random.default_rng(0).normal(size=values.shape)
    spread = float(numpy.nanstd(values.astype(float))) or 1.0
    changed = values * 3 + spread * (5 + noise)
    return changed.astype(values.dtype) if values.dtype.kind in "f" else numpy.rint(changed).astype(values.dtype)
