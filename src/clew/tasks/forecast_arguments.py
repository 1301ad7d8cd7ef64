"""What the arguments of a forecasting task must be."""

from math import isclose
from typing import Protocol, runtime_checkable

from clew.errors import ConfigError, complain
from clew.tasks.forecast_windows import Scaling

MODES = ("one_step", "rollout")


@runtime_checkable
class ForecastArguments(Protocol):
    """What `Forecasting` was given; it says what each means."""

    horizon: int
    series: int
    past: int
    known: int
    lags: tuple[int, ...]
    quantiles: tuple[float, ...]
    season: int
    difference: int | None
    scaling: Scaling | None
    select_by: str


def check_arguments(task: ForecastArguments) -> None:
    """Raise ConfigError for the first argument that is out of range."""
    where = "Forecasting"
    for name, value, least in (
        ("horizon", task.horizon, 1),
        ("series", task.series, 1),
        ("past", task.past, 0),
        ("known", task.known, 0),
        ("season", task.season, 1),
        ("difference", 1 if task.difference is None else task.difference, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(complain(where, name, f"a whole number of at least {least}", value))
    if any(lag < 2 for lag in task.lags) or len(set(task.lags)) != len(task.lags):
        remedy = "The value one step before the target is read anyway."
        raise ConfigError(complain(where, "lags", "different whole numbers of at least 2", task.lags, remedy))
    is_rising = all(low < high for low, high in zip(task.quantiles, task.quantiles[1:], strict=False))
    if task.quantiles and (not is_rising or not task.quantiles[0] > 0 or not task.quantiles[-1] < 1):
        raise ConfigError(complain(where, "quantiles", "rising, in (0, 1)", task.quantiles))
    if task.quantiles and not any(isclose(level, 0.5, abs_tol=0) for level in task.quantiles):
        remedy = "The median is what is fed back and scored as one value."
        raise ConfigError(complain(where, "quantiles", "with 0.5 among them", task.quantiles, remedy))
    if task.scaling is not None and len(task.scaling.center) != task.series:
        got = f"for {len(task.scaling.center)}"
        raise ConfigError(complain(where, "scaling", f"for {task.series} series", got))
    if task.select_by not in MODES:
        raise ConfigError(complain(where, "select_by", " or ".join(MODES), f"'{task.select_by}'"))
