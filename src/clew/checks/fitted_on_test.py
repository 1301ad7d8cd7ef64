"""`fitted_on_test`: nothing that was fitted moves when only held-out data moves.

Varied: the numbers of validation and test. Must not move: any array that `statistics(train, validation, test)` gives.
Must move: some of them, when the numbers of train are varied.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from clew.checks.data_tables import SPLITS, SplitTables, is_number
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.errors import AuditError, complain

NAME = "fitted_on_test"
Statistics = Callable[[Any, Any, Any], Mapping[str, Any]]


def check_fitted_on_test(data: SplitTables, statistics: Statistics | None) -> Finding:
    """Fit again after one split was varied."""
    if statistics is None:
        return not_applicable(NAME, "no statistics were given")
    before = _fitted(statistics, data.given)
    moved = {split: _moved(before, _fitted(statistics, _varied(data, split))) for split in data.tables}
    for split in SPLITS[1:]:
        if moved.get(split):
            names = ", ".join(map(repr, moved[split]))
            reason = f"{names} moves when only {split} moves. Usual cause: a scaler fitted before the split."
            return failed(NAME, reason, changed=f"numbers of {split}", moved=names)
    if not moved["train"]:
        return not_applicable(NAME, "nothing that was fitted moves when train moves")
    return passed(NAME, "what was fitted moves with train alone", changed="numbers of each split")


def _fitted(statistics: Statistics, splits: tuple[Any, ...]) -> dict[str, Any]:
    try:
        found = statistics(*splits)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise AuditError(complain("audit_data", "statistics", "callable on the three splits", what)) from error
    if not isinstance(found, Mapping):
        rule = "a function that gives a mapping of arrays"
        raise AuditError(complain("audit_data", "statistics", rule, type(found).__name__))
    return {str(name): numpy.asarray(value) for name, value in found.items()}


def _moved(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    changed = [n for n in before if n not in after or not _is_equal(before[n], after[n])]
    return changed + [name for name in after if name not in before]


def _is_equal(first: Any, second: Any) -> bool:
    return numpy.array_equal(first, second, equal_nan=first.dtype.kind == second.dtype.kind == "f")


def _varied(data: SplitTables, split: str) -> tuple[Any, ...]:
    """Give the splits as they were given, with the numbers of one of them changed."""
    place = SPLITS.index(split)
    return tuple(_changed(one, data) if place == at else one for at, one in enumerate(data.given))


def _changed(table: Any, data: SplitTables) -> Any:
    if hasattr(table, "get_columns"):
        kept = {c.name: c.to_numpy() for c in table.get_columns()}
        new = {n: _other(v) for n, v in kept.items() if is_number(v) and n not in (data.time, data.group)}
        return table.with_columns(**{name: type(table[name])(name, values) for name, values in new.items()})
    if isinstance(table, Mapping):
        fixed = (data.time, data.group)
        return {n: _other(numpy.asarray(v)) if n not in fixed else v for n, v in table.items()}
    return _other(numpy.asarray(table))


def _other(values: Any) -> Any:
    """Stretch and move the numbers, so that mean, spread, extremes and counts all move."""
    if not is_number(values):
        return values
    noise = numpy.random.default_rng(0).normal(size=values.shape)
    spread = float(numpy.nanstd(values.astype(float))) or 1.0
    changed = values * 3 + spread * (5 + noise)
    return changed.astype(values.dtype) if values.dtype.kind in "f" else numpy.rint(changed).astype(values.dtype)
