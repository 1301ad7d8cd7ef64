"""How a model forecasts: the last window with what was forecast and what came, and the error by the steps ahead."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from clew.rendering.axes import axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import series_styles
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.page import figure, fragments, paragraph
from clew.runs import Run
from clew.tasks import Forecasting
from clew.tasks.forecast_references import reference_forecasts
from clew.tasks.sequences import Sequences

HISTORY_A_HORIZON = 2
MOST_SERIES = 4
MOST_WINDOWS = 512
LEAST_WINDOWS = 8
BAND = (0.1, 0.9)
_COLOURED = series_styles(["model", "truth", "seasonal naive"])
STYLES = {name: replace(style, dash="2 2.5" if name == "seasonal naive" else None) for name, style in _COLOURED.items()}


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Windows of equal horizon in the units of the series.

    Attributes:
        history: The last window before its origin, (steps, series).
        truth: What came, (windows, horizon, series).
        middle: Rollouts, (windows, horizon, series).
        low, high: Outer quantiles that the model predicts for the last window, or None.
        seasonal: Seasonal naive rollouts; None where windows are shorter than the season.
    """

    history: Float[np.ndarray, "steps series"]
    truth: Float[np.ndarray, "windows horizon series"]
    middle: Float[np.ndarray, "windows horizon series"]
    low: Float[np.ndarray, "horizon series"] | None
    high: Float[np.ndarray, "horizon series"] | None
    seasonal: Float[np.ndarray, "windows horizon series"] | None


def forecasts_of(run: Run, task: Forecasting, data: Sequences) -> Forecasts:
    """Forecast the last windows of some data; only those as long as the last one."""
    longest = data.lengths == data.lengths[-1]
    rows = longest.nonzero().flatten()[-MOST_WINDOWS:]
    batch = data.select(rows)
    predicted = task.predict(run.model, batch)["rollout"]
    values = batch.inputs[..., : task.series].double().numpy()[:, -int(data.lengths[-1]) :]
    if task.scaling is not None:
        values = values * np.asarray(task.scaling.scale) + np.asarray(task.scaling.center)
    has_levels = bool(task.quantiles)
    return Forecasts(
        history=values[-1, : -task.horizon],
        truth=values[:, -task.horizon :],
        middle=predicted[..., task.quantiles.index(0.5)] if has_levels else predicted,
        low=predicted[-1, ..., 0] if has_levels else None,
        high=predicted[-1, ..., -1] if has_levels else None,
        seasonal=reference_forecasts(values, task.horizon, task.season, "seasonal_naive", "rollout"),
    )


def forecasts_part(run: Run, task: Forecasting, data: Sequences) -> Markup:
    """Draw the last window of each series, and the error by the steps ahead."""
    found = forecasts_of(run, task, data)
    names = getattr(run.preparation, "series", ()) or [f"series {number + 1}" for number in range(task.series)]
    shown = names[:MOST_SERIES]
    low, high, words = _band(task, found)
    charts = [_window(found, place, name, low, high) for place, name in enumerate(shown)]
    entries = [
        LegendEntry("what came", "line", STYLES["truth"]),
        LegendEntry("forecast", "line", STYLES["model"]),
        LegendEntry("seasonal naive", "line", STYLES["seasonal naive"]),
        *([LegendEntry("interval", "background")] if low is not None else []),
    ]
    errors = [_errors(found, place, name) for place, name in enumerate(shown)]
    caption = f"The last window, forecast from its origin 0 by feeding predictions back. {words}"
    lines = [paragraph(f"{len(names) - MOST_SERIES} more series are not drawn.")] if len(names) > MOST_SERIES else []
    more = f"Mean absolute error of rollouts by the steps ahead, over {len(found.truth)} windows."
    kind = "panels wide"
    return fragments(
        legend(entries), figure(fragments(*charts), caption, kind), figure(fragments(*errors), more, kind), *lines
    )


def _band(task: Forecasting, found: Forecasts) -> tuple[np.ndarray | None, np.ndarray | None, str]:
    """Give an interval around the last forecast: the model's quantiles, or its errors in the other windows."""
    if found.low is not None:
        return (
            found.low,
            found.high,
            f"Thin lines: the predicted quantiles {task.quantiles[0]} and {task.quantiles[-1]}.",
        )
    others = len(found.truth) - 1
    if others < LEAST_WINDOWS:
        return None, None, f"{others} other windows are too few for an interval."
    errors = (found.truth - found.middle)[:-1]
    low, high = (found.middle[-1] + np.quantile(errors, level, axis=0) for level in BAND)
    words = f"Thin lines hold 8 of 10 of the errors that it made as many steps ahead in the {others} other windows."
    return low, high, words


def _window(found: Forecasts, place: int, name: str, low: np.ndarray | None, high: np.ndarray | None) -> Markup:
    horizon = found.truth.shape[1]
    past = found.history[-HISTORY_A_HORIZON * horizon :, place]
    before = [(step - len(past) + 1, float(value)) for step, value in enumerate(past)]

    def after(values: np.ndarray) -> list[tuple[int, float]]:
        return [before[-1], *((step + 1, float(value)) for step, value in enumerate(values))]

    lines = [
        Line("interval", STYLES["model"], after(edge[:, place]), None, True) for edge in (low, high) if edge is not None
    ]
    if found.seasonal is not None:
        lines.append(Line("seasonal naive", STYLES["seasonal naive"], after(found.seasonal[-1, :, place])))
    lines += [
        Line("what came", STYLES["truth"], [*before, *after(found.truth[-1, :, place])[1:]]),
        Line("forecast", STYLES["model"], after(found.middle[-1, :, place])),
    ]
    heights = [value for line in lines for _, value in line.points]
    x = axis_over("steps from the origin", [before[0][0], horizon])
    return line_chart(name, x, axis_over(name, heights), lines, description=f"{name}: history, forecast, what came")


def _errors(found: Forecasts, place: int, name: str) -> Markup:
    lines = []
    for words, key, values in (
        ("forecast", "model", found.middle),
        ("seasonal naive", "seasonal naive", found.seasonal),
    ):
        if values is not None:
            errors = np.abs(values - found.truth)[:, :, place].mean(axis=0)
            lines.append(Line(words, STYLES[key], [(step + 1, float(value)) for step, value in enumerate(errors)]))
    heights = [value for line in lines for _, value in line.points]
    x = axis_over("steps ahead", [1, max(2, found.truth.shape[1])])
    return line_chart(f"Error of {name}", x, axis_over("mean absolute error", heights, include=(0,)), lines)
