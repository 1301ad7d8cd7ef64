"""`split_overlap`: no unit in two splits, and nothing of an earlier split later than a later one.

Where both a group and a time are named, a group may stand in two splits if its rows are in the order of time; units
that stand in one split each may overlap in time. Windows whose targets overlap are told under `window_overlap`.
"""

from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_tables import SplitTables
from clew.checks.finding import Finding, failed, not_applicable, passed

NAME = "split_overlap"


def check_split_overlap(data: SplitTables) -> Finding:
    """Look for shared groups and for time that runs backwards."""
    if data.time is None and data.group is None:
        return not_applicable(NAME, "neither a time nor a group was named")
    for earlier, later in data.pairs():
        found = _look_ahead(data, earlier, later) if data.group is None else _shared_group(data, earlier, later)
        if found:
            return failed(NAME, f"{found}. Usual cause: rows that belong together, split at random.", changed="nothing")
    return passed(NAME, "splits are apart", changed="nothing")


def _shared_group(data: SplitTables, earlier: str, later: str) -> str:
    shared = shared_groups(data, earlier, later)
    for group in shared:
        if data.time is None:
            return f"group {group!r} stands in {earlier} and in {later} ({len(shared)} such groups)"
        times = [data.column(split, data.time)[rows_of(data, split, group)] for split in (earlier, later)]
        if not is_before(*times):
            return f"group {group!r} has rows in {earlier} that are not before its rows in {later}"
    return ""


def shared_groups(data: SplitTables, first: str, second: str) -> list[Any]:
    """Name the groups of two splits that are the same, in the order of the second; a missing name is no group."""
    assert data.group is not None
    known = set(data.column(first, data.group).tolist())
    return [g for g in dict.fromkeys(data.column(second, data.group).tolist()) if g in known and g is not None]


def rows_of(data: SplitTables, split: str, group: Any) -> NDArray[numpy.bool_]:
    """Say which rows of a split belong to a group."""
    assert data.group is not None
    return numpy.asarray(data.column(split, data.group) == group, dtype=bool)


def _look_ahead(data: SplitTables, earlier: str, later: str) -> str:
    assert data.time is not None
    first, second = data.column(earlier, data.time), data.column(later, data.time)
    if is_before(first, second):
        return ""
    return f"{earlier} goes up to {first.max()!s} and {later} begins at {second.min()!s}"


def is_before(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Say whether all of one array lies before all of another."""
    return bool(first.max() < second.min())
