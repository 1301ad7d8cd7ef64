"""`window_overlap`: no target that a later split is scored on lies in what an earlier split reads or predicts.

A row is a window: its time is the last observed step, it reads `window` steps up to that and is scored on the `horizon`
steps after it. Inputs of a later split may reach back into an earlier one: looking back is what a forecast does.
"""

from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_tables import SplitTables, is_number
from clew.checks.finding import Finding, failed, not_applicable, passed

NAME = "window_overlap"


def check_window_overlap(data: SplitTables) -> Finding:
    """Compare targets of later splits with the steps of earlier ones."""
    if data.time is None or data.horizon is None:
        return not_applicable(NAME, "time and horizon were not given")
    steps = _whole_steps(data)
    if steps is None:
        return not_applicable(NAME, "the times do not tell how long a step is")
    for earlier, later in data.pairs():
        for group in _groups(data, earlier, later):
            found = _overlap(data, steps, earlier, later, group)
            if found is not None:
                return failed(
                    NAME,
                    f"step {found} is scored in {later} and is inside a window or target of {earlier}. Usual cause: "
                    "windows that were cut first and split afterwards.",
                    changed="nothing",
                )
    return passed(NAME, "targets of later splits lie outside all earlier windows", changed="nothing")


def _whole_steps(data: SplitTables) -> dict[str, NDArray[Any]] | None:
    """Number the times by steps of the smallest difference."""
    assert data.time is not None
    times = {name: data.column(name, data.time) for name in data.tables}
    if not all(is_number(values) or values.dtype.kind == "M" for values in times.values()):
        return None
    every = numpy.unique(numpy.concatenate(list(times.values())))
    if len(every) < 2:
        return None
    unit = numpy.diff(every).min()
    if is_number(every) and every.dtype.kind in "iu":
        unit = 1
    return {name: numpy.rint((values - every[0]) / unit).astype(numpy.int64) for name, values in times.items()}


def _groups(data: SplitTables, earlier: str, later: str) -> list[Any]:
    if data.group is None:
        return [None]
    return list(numpy.intersect1d(data.column(earlier, data.group), data.column(later, data.group)))


def _overlap(data: SplitTables, steps: dict[str, NDArray[Any]], earlier: str, later: str, group: Any) -> int | None:
    first, second = steps[earlier], steps[later]
    if data.group is not None:
        first = first[data.column(earlier, data.group) == group]
        second = second[data.column(later, data.group) == group]
    assert data.horizon is not None
    window, horizon = data.window or 1, data.horizon
    known = _covered(first, -window + 1, horizon)
    scored = _covered(second, 1, horizon)
    shared = numpy.intersect1d(known, scored)
    return int(shared[0]) if len(shared) else None


def _covered(last: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
    """Steps from `begin` to `end` around each last observed step."""
    return numpy.unique((last[:, None] + numpy.arange(begin, end + 1)).ravel())
