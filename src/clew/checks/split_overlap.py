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
        found = _shared_group(data, earlier, later) if data.group is not None else _look_ahead(data, earlier, later)
        if found:
            return failed(NAME, f"{found}. Usual cause: rows that belong together, split at random.", changed="nothing")
    return passed(NAME, "splits are apart", changed="nothing")


def _shared_group(data: SplitTables, earlier: str, later: str) -> str:
    assert data.group is not None
    groups = data.column(earlier, data.group), data.column(later, data.group)
    shared = numpy.intersect1d(*groups)
    for group in shared:
        if data.time is None:
            return f"group {group!s} stands in {earlier} and in {later} ({len(shared)} such groups)"
        times = [data.column(name, data.time)[of == group] for name, of in zip((earlier, later), groups, strict=True)]
        if not is_before(*times):
            return f"group {group!s} has rows in {earlier} that are not before its rows in {later}"
    return ""


def _look_ahead(data: SplitTables, earlier: str, later: str) -> str:
    assert data.time is not None
    first, second = data.column(earlier, data.time), data.column(later, data.time)
    if is_before(first, second):
        return ""
    return f"{earlier} goes up to {first.max()!s} and {later} begins at {second.min()!s}"


def is_before(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Say whether all of one array lies before all of another."""
    return bool(first.max() < second.min())
