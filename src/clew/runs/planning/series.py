"""Tables of series for forecasting: cut by time, scaled on the steps before the first border alone, then windows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from clew.data import Preparation, Table
from clew.data.describing import describe_time
from clew.errors import ConfigError, complain
from clew.runs.planning.guessing import guess_season
from clew.runs.planning.prepared import Prepared, Request, describe_parts
from clew.tasks import Forecasting, chronological_windows

SERIES_DATA = ("format", "delimiter", "encoding", "sort", "missing", "context", "stride", "origin_stride")
USUAL_HORIZON = 10
SEASONS_IN_TRAINING = 3
DAYS_A_WEEK = 7
CLEARLY_BETTER = 0.9
LEAST_CONTEXT = 32
TRAIN_SHARE_OF_CONTEXT = 4
WINDOWS_A_CONTEXT = 8
USUAL_ORIGINS = 20


def prepare_series(request: Request, read: tuple[Table, str, list[str]]) -> Prepared:
    """Cut series by time into windows of a lead, a context and a horizon."""
    table, _, notes = read
    _refuse(request)
    notes += gap_notes(table)
    settings = choose_settings(table, request.settings, request.fractions, notes)
    train_steps = _steps_before(table, request.fractions[0])
    missing = request.data.missing or "refuse"
    preparation = Preparation.fit(table.cut(train_steps), "forecasting", missing=missing)
    columns, series = preparation.columns, preparation.series
    if columns.categorical:
        names = ", ".join(columns.categorical)
        remedy = "Name the columns to read with columns.numeric."
        raise ConfigError(complain(str(table.path), "columns that forecasting reads", "numbers", names, remedy))
    known = len([name for name in columns.numeric if name in columns.known])
    sizes = choose_sizes(request, settings, int(train_steps.sum() / len(table)))
    scaling = preparation.scaling.of(series)
    windows = chronological_windows(
        preparation.apply(table),
        series=len(series),
        season=settings["season"],
        lags=settings.get("lags") or (),
        difference=settings.get("difference"),
        fractions=request.fractions,
        horizon=settings["horizon"],
        standardized=(scaling.means, scaling.deviations),
        **sizes,
    )
    task = Forecasting(
        series=len(series), past=len(columns.numeric) - len(series) - known, known=known, scaling=windows.scaling,
        **settings,
    )  # fmt: skip
    words = f"windows of {windows.window} steps; {windows.dropped:,} places of windows dropped at the borders"
    notes.append(describe_parts("by time", windows.train, windows.validation, windows.test, words))
    resolved = {
        "columns": table.columns.to_mapping(),
        "data": {"missing": missing, **sizes},
        "split": {"how": "time"},
        "task": settings,
    }
    return Prepared(task, preparation, windows.train, windows.validation, windows.test, resolved, notes)


def gap_notes(table: Table) -> list[str]:
    """Say where times are missing: a model counts steps, and knows nothing of a longer one."""
    about = describe_time(table)
    if about is None or not about.get("gaps"):
        return []
    usual, longest = about["usual_step"], about["longest_gap"]
    return [
        f"{about['gaps']:,} gaps in the times, the first after {about['first_gap_after']}, the longest of "
        f"{longest / usual:,.4g} usual steps: steps on both sides of one count as neighbours. Where that is wrong, "
        "insert rows for the missing times and say --set data.missing=forward"
    ]


def choose_settings(
    table: Table, given: Mapping[str, Any], fractions: tuple[float, float, float], notes: list[str]
) -> dict[str, Any]:
    """Fill in season, horizon and difference, and say so."""
    settings = {name: value for name, value in given.items() if value is not None}
    longest, day = int(table.lengths.max()), None
    usual_horizon = settings["season"] if settings.get("season", 1) > 1 else USUAL_HORIZON
    if "season" not in settings:
        season, why = guess_season(table)
        if SEASONS_IN_TRAINING * season > fractions[0] * longest:
            season, why = 1, f"three seasons of {season} steps do not fit into the training part"
        usual_horizon = season if season > 1 else USUAL_HORIZON
        if why == "a day" and repeats_by_week(table, season, fractions[0]):
            day, season, why = season, DAYS_A_WEEK * season, "a week, which repeats better than a day in training"
        settings["season"] = season
        notes.append(f"season {season} ({why}); --set task.season=N for another")
    if "horizon" not in settings:
        settings["horizon"] = usual_horizon
        notes.append(f"horizon {settings['horizon']} steps; --set task.horizon=N for another")
    if "difference" not in given and settings["season"] > 1:
        settings["difference"] = settings["season"]
        notes.append("the change against one season before is predicted; --set task.difference=none for values")
    if "lags" not in given and settings["season"] > 1:
        # With both, the last step's own change against one season before is a difference of inputs.
        season = settings["season"]
        settings["lags"] = [*([] if day is None else [day]), season, season + 1]
        words = ", ".join(map(str, settings["lags"][:-1]))
        notes.append(f"read beside the last value: those {words} and {season + 1} steps before")
    return settings


def repeats_by_week(table: Table, day: int, train_share: float) -> bool:
    """Say whether, in the training part, values repeat clearly better after a week than after a day.

    Three weeks must fit into it. Errors are mean absolute changes of each series over the same steps.
    """
    columns, week = table.columns, DAYS_A_WEEK * day
    names = [name for name in columns.labels or columns.numeric if name not in columns.known]
    changes: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    for start, length in zip(table.offsets[:-1], np.diff(table.offsets), strict=True):
        steps = int(np.rint(train_share * length))
        if SEASONS_IN_TRAINING * week <= steps:
            values = table.frame[int(start) : int(start) + steps].select(names).to_numpy().astype(np.float64)
            later = values[week:]
            after = [np.abs(later - values[week - by : steps - by]) for by in (day, week)]
            changes.append(np.stack([np.nanmean(part, axis=0) for part in after]))
    if not changes:
        return False
    by_day, by_week = np.nanmean(np.stack(changes), axis=0)
    return bool((by_week < CLEARLY_BETTER * by_day).all())


def choose_sizes(request: Request, settings: Mapping[str, Any], train_steps: int) -> dict[str, Any]:
    """Choose steps that are read before a horizon, and how far apart windows begin."""
    horizon, data = settings["horizon"], request.data
    context = data.context
    if context is None:
        context = max(1, min(max(2 * horizon, LEAST_CONTEXT), train_steps // TRAIN_SHARE_OF_CONTEXT))
    stride = data.stride or max(1, context // WINDOWS_A_CONTEXT)
    origins = int(train_steps / request.fractions[0] * min(request.fractions[1:])) // USUAL_ORIGINS
    origin_stride = data.origin_stride or max(1, min(horizon, origins))
    return {"context": context, "stride": stride, "origin_stride": origin_stride}


def _refuse(request: Request) -> None:
    """Refuse what has no meaning for series.

    Raises:
        ConfigError: If something was given.
    """
    request.data.refuse_others("forecasting", SERIES_DATA)
    if request.split.how not in (None, "time") or request.split.stratify:
        got = f"'{request.split.how}'" if request.split.how else "stratify"
        raise ConfigError(complain("split", "how in forecasting", "'time'", got, "Leave it out."))
    if request.validation or request.test:
        rule = "left out in forecasting, which splits FILE by time"
        remedy = "Put all of the series into one file; `clew evaluate RUN FILE` scores others later."
        raise ConfigError(complain("forecasting", "--validation and --test", rule, "a file", remedy))


def _steps_before(table: Table, share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Say which steps are before the first border, as `chronological_windows` draws it."""
    lengths = np.diff(table.offsets)
    places = np.arange(table.frame.height) - np.repeat(table.offsets[:-1], lengths)
    return places < np.repeat(np.rint(share * lengths), lengths)
