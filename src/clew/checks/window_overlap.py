"""`window_overlap`: no target that a later split is scored on lies in what an earlier split reads or predicts.

A row is a window: its time is the last observed step, it reads `window` steps up to that and is scored on the `horizon`
steps after it. Inputs of a later split may reach back into an earlier one: looking back is what a forecast does.
Whole numbers below a million count steps; of other times, the common divisor of their differences is taken as a step.
Arrays (rows, time, features) without a time are compared by what stands in them: the last `horizon` steps are targets.
"""

from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_cells import coded_columns, row_keys
from clew.checks.data_tables import SplitTables
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.split_overlap import rows_of, shared_groups

NAME = "window_overlap"
CAUSE = "Usual cause: windows that were cut first and split afterwards."
COUNTED_BELOW = 1_000_000
LEAST_NUMBERS = 3

Steps = NDArray[numpy.int64]


def check_window_overlap(data: SplitTables) -> Finding:
    """Compare targets of later splits with the steps of earlier ones."""
    if data.horizon is None:
        return not_applicable(NAME, "no horizon was given")
    if data.time is None:
        return _by_content(data, data.horizon)
    steps, unit = _whole_steps({split: data.column(split, data.time) for split in data.tables})
    if steps is None:
        return not_applicable(NAME, "the times do not tell how long a step is")
    for earlier, later in data.pairs():
        for group in [None] if data.group is None else shared_groups(data, earlier, later):
            times = [_of_group(data, steps, split, group) for split in (earlier, later)]
            shared = numpy.intersect1d(
                _covered(times[0], 1 - (data.window or 1), data.horizon), _covered(times[1], 1, data.horizon)
            )
            if len(shared):
                row, ahead = _scored_at(data, steps, later, group, int(shared[0]))
                what = f"target {ahead} of row {row} of {later} lies inside a window or target of {earlier}"
                whose = "" if group is None else f", group {group!r}"
                return failed(NAME, f"{what}{whose} ({len(shared)} such steps; a step is {unit}). {CAUSE}",
                              changed="nothing")  # fmt: skip
    return passed(NAME, f"targets of later splits lie outside all earlier windows; a step is {unit}", changed="nothing")


def _whole_steps(times: dict[str, NDArray[Any]]) -> tuple[dict[str, Steps] | None, str]:
    """Number the times by steps and say what a step is."""
    every = numpy.unique(numpy.concatenate(list(times.values())))
    if len(every) < 2:
        return None, ""
    if every.dtype.kind in "mM":
        return _steps_of_dates(times, every)
    if every.dtype.kind in "iu" and abs(every).max() < COUNTED_BELOW:
        return {split: one.astype(numpy.int64) for split, one in times.items()}, "1"
    if every.dtype.kind in "iu":
        unit = int(numpy.gcd.reduce(numpy.diff(every.astype(numpy.int64))))
        return {split: (one.astype(numpy.int64) - int(every[0])) // unit for split, one in times.items()}, str(unit)
    if not numpy.isfinite(every).all():
        return None, ""
    unit = numpy.diff(every).min()
    return {split: numpy.rint((one - every[0]) / unit).astype(numpy.int64) for split, one in times.items()}, f"{unit:g}"


def _steps_of_dates(times: dict[str, NDArray[Any]], every: NDArray[Any]) -> tuple[dict[str, Steps], str]:
    if every.dtype.kind == "M":
        months = every.astype("M8[M]")
        if len({(date - month).item() for date, month in zip(every.astype("M8[us]"), months, strict=True)}) == 1:
            return {split: one.astype("M8[M]").astype(numpy.int64) for split, one in times.items()}, "1 month"
    unit = numpy.gcd.reduce(numpy.diff(every).astype(numpy.int64))
    numbers = {split: (one.astype(every.dtype) - every[0]).astype(numpy.int64) // unit for split, one in times.items()}
    return numbers, str(numpy.timedelta64(int(unit), numpy.datetime_data(every.dtype)).item())


def _of_group(data: SplitTables, steps: dict[str, Steps], split: str, group: Any) -> Steps:
    return steps[split] if group is None else steps[split][rows_of(data, split, group)]


def _scored_at(data: SplitTables, steps: dict[str, Steps], split: str, group: Any, step: int) -> tuple[int, int]:
    """Find a row that is scored on a step, and which of its targets that is, from 1."""
    ahead = step - steps[split]
    assert data.horizon is not None
    is_scored = (ahead >= 1) & (ahead <= data.horizon)
    if group is not None:
        is_scored &= rows_of(data, split, group)
    row = int(numpy.flatnonzero(is_scored)[0])
    return row, int(ahead[row])


def _covered(last: Steps, begin: int, end: int) -> Steps:
    """Steps from `begin` to `end` around each last observed step."""
    return numpy.unique((numpy.unique(last)[:, None] + numpy.arange(begin, end + 1)).ravel())


def _by_content(data: SplitTables, horizon: int) -> Finding:
    """Look for a later split's targets in earlier windows: the same steps in the same order."""
    windows = [one for one in (data.windows(split) for split in data.tables) if one is not None]
    if len(windows) < len(data.tables) or any(one.dtype.kind != "f" for one in windows):
        return not_applicable(NAME, "no time was named, and splits are no real-valued arrays (rows, time, features)")
    parts = zip(data.tables, windows, coded_columns(windows), strict=True)
    codes = {split: code.reshape(one.shape) for split, one, code in parts}
    steps, features = windows[0].shape[1:]
    if not 0 < horizon < steps or (data.window is not None and data.window + horizon != steps):
        rule = f"the {steps} steps of a row are not a window and {horizon} targets"
        return not_applicable(NAME, f"no time was named, and {rule}")
    least = -(-LEAST_NUMBERS // features)
    for earlier, later in data.pairs():
        for length in range(steps - 1, max(least, 1) - 1, -1):
            found = _shared_run(codes[earlier][:, :length], codes[later][:, steps - length :])
            if found is None and length > steps - horizon:
                found = _shared_run(codes[earlier][:, steps - length :], codes[later][:, :length])
            if found is not None:
                what = f"row {found[1]} of {later} and row {found[0]} of {earlier} share {length} steps in a row"
                return failed(NAME, f"{what}, targets of {later} among them. {CAUSE}", changed="nothing")
    return passed(NAME, "no target of a later split stands in a window of an earlier one", changed="nothing")


def _shared_run(first: Steps, second: Steps) -> tuple[int, int] | None:
    """Find a row of each that are equal, and not the same number all along."""
    rows = [one.reshape(len(one), -1) for one in (first, second)]
    places = {key: place for place, key in enumerate(row_keys(rows[0]))}
    for place, key in enumerate(row_keys(rows[1])):
        if key in places and len(numpy.unique(rows[1][place])) >= LEAST_NUMBERS:
            return places[key], place
    return None
