"""Forecasts beyond the end of a file as rows: which series, when, and what is expected.

The history comes from a file, or from the one that the run was trained on. Times go on with the usual step of the
history where it is regular; what is known of the future comes from a file of its own.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.data import Preparation, Table, read_table
from clew.errors import ConfigError, DataError, complain
from clew.runs.folder import read_json
from clew.runs.inputs import as_run_table
from clew.runs.planning.guessing import usual_step
from clew.runs.planning.plan import PLAN
from clew.runs.run import Run
from clew.tasks import Forecasting

if TYPE_CHECKING:
    import polars as pl

MONTH_DAYS = (28, 31)


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is expected after the end of some series.

    Attributes:
        frame: A row a series and step: the sequence (where the file has several), the time or the step, and a column
            a series and quantile.
        history: The table that was read.
        series: Names of the series.
        quantiles: Levels; empty where one value is predicted.
        values: By sequence, (horizon, series), or with quantiles last.
    """

    frame: "pl.DataFrame"
    history: Table
    series: tuple[str, ...]
    quantiles: tuple[float, ...]
    values: dict[str, NDArray[np.float64]]


def look_ahead(
    run: Run, file: Path | str | None = None, horizon: int | None = None, known: Path | str | None = None
) -> Outlook:
    """Forecast beyond the end of a file.

    Args:
        run: A run of forecasting.
        file: The series up to now; by default the file of the training.
        horizon: Steps; by default those of the training.
        known: A file with the known columns for each step that is forecast.

    Raises:
        ConfigError: If the run does not forecast, or there is no file.
        DataError: If the history is too short, or what is known of the future is missing.
    """
    task, preparation = run.task, run.preparation
    if not isinstance(task, Forecasting) or not isinstance(preparation, Preparation):
        remedy = "Only a run of forecasting, trained on a table, looks ahead."
        raise ConfigError(complain(str(run.path), "task", "forecasting", task.name, remedy))
    table = as_run_table(_history(run) if file is None else file, preparation, False)
    steps = task.horizon if horizon is None else horizon
    future = _read_known(known, preparation, table, steps)
    values = run.forecast(steps, table, future)
    frame = _rows(table, values, preparation.series, task.quantiles, steps)
    return Outlook(frame, table, preparation.series, task.quantiles, values)


def _history(run: Run) -> Path:
    plan = run.path / PLAN
    file = Path(read_json(plan)["file"]) if plan.exists() else None
    if file is None or not file.exists():
        got = "none" if file is None else f"'{file}', which is not there any more"
        remedy = "Name the file that holds the series up to now: clew forecast RUN FILE."
        raise ConfigError(complain(str(run.path), "history", "a file", got, remedy))
    return file


def _read_known(
    path: Path | str | None, preparation: Preparation, history: Table, steps: int
) -> NDArray[np.float64] | None:
    """Read and scale the known columns of the future, (series, steps, columns)."""
    columns = preparation.columns
    if not columns.known:
        if path is not None:
            remedy = "Name known columns in training: --set columns.known=NAME."
            raise ConfigError(complain("forecast", "a file of the future", "left out, nothing is known", path, remedy))
        return None
    if path is None:
        rule = f"given: {', '.join(columns.known)} of each of {steps} steps"
        raise ConfigError(complain("forecast", "a file of the future", rule, "none", "Name it with --known FILE."))
    is_made_up = columns.sequence in history.added
    roles = replace(
        columns, sequence=None if is_made_up else columns.sequence, numeric=columns.known, categorical=(), label=None,
        group=None, split=None, known=(),
    )  # fmt: skip
    future = read_table(path, roles)
    names = [name for name in columns.numeric if name in columns.known]
    scaling = preparation.scaling.of(names)
    places = {name: place for place, name in enumerate(future.ids)}
    found = []
    for name in history.ids:
        place = places.get(name, 0 if is_made_up and len(future) == 1 else None)
        if place is None:
            raise DataError(complain(str(path), f"sequence '{name}'", "in the file of the future", "none"))
        start, end = future.offsets[place], future.offsets[place + 1]
        if end - start < steps:
            raise DataError(complain(str(path), f"steps of '{name}'", f"at least {steps}, the horizon", end - start))
        found.append(scaling.scale(future.frame[start : start + steps].select(names).to_numpy()))
    return np.stack(found)


def _rows(
    table: Table,
    values: dict[str, NDArray[np.float64]],
    series: tuple[str, ...],
    quantiles: tuple[float, ...],
    steps: int,
) -> "pl.DataFrame":
    import polars as pl

    columns, count = table.columns, len(values)
    made: dict[str, Any] = {}
    assert columns.sequence is not None
    if count > 1 or columns.sequence not in table.added:
        made[columns.sequence] = [name for name in values for _ in range(steps)]
    times = _times(table, steps)
    if times is not None and columns.time is not None:
        made[columns.time] = times
    made["step"] = list(range(1, steps + 1)) * count
    flat = np.concatenate([part.reshape(steps, len(series), -1) for part in values.values()])
    for place, name in enumerate(series):
        if not quantiles:
            made[name] = flat[:, place, 0]
        for level, quantile in enumerate(quantiles):
            made[f"{name} {quantile:g}"] = flat[:, place, level]
    return pl.DataFrame(made)


def _times(table: Table, steps: int) -> "pl.Series | None":
    """Go on with the usual step; None where steps are irregular or not known."""
    import polars as pl

    name, found = table.columns.time, usual_step(table)
    if name is None or found is None or not found[1]:
        return _calendar(table, steps)
    cells = table.frame[name].gather(table.offsets[1:] - 1)
    numbers = range(1, steps + 1)
    if cells.dtype.is_temporal():
        times = [last + timedelta(microseconds=round(found[0] * 1e6 * n)) for last in cells for n in numbers]
        return pl.Series(name, times).cast(cells.dtype)
    return pl.Series(name, [last + found[0] * n for last in cells for n in numbers])


def _calendar(table: Table, steps: int) -> "pl.Series | None":
    """Go on by whole months, where the steps of the history are those."""
    import polars as pl

    name = table.columns.time
    if name is None or not table.frame[name].dtype.is_temporal():
        return None
    cells = table.frame[name]
    days = cells.cast(pl.Datetime("us")).diff().drop_nulls().dt.total_days() if len(table) == 1 else None
    if days is None or not len(days):
        return None
    last = cells[-1]
    if days.is_between(*MONTH_DAYS).all() and cells.dt.day().n_unique() == 1:
        return (
            pl.select(pl.lit(last).dt.offset_by(pl.format("{}mo", pl.int_range(1, steps + 1)))).to_series().alias(name)
        )
    return None
