"""Errors of forecasts in the units of the series.

    MAE    mean |prediction - y|                     over origins, steps of the horizon and series
    RMSE   root of the mean of (prediction - y)^2
    MASE   mean over series of (MAE of the series / its seasonal error in the training part)
    quantile loss    mean of max(q (y - p_q), (q - 1) (y - p_q)) over targets and quantiles
    coverage         share of targets from the lowest to the highest quantile

A MASE below 1 is better than a seasonal naive forecast of one season ahead *in the training part*; a series whose
training part repeats itself exactly has none.

Source:
    Hyndman and Koehler 2006 (MASE); Koenker and Bassett 1978 (quantile loss).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from clew.errors import DataError, complain


def forecast_metrics(
    points: Float[np.ndarray, "origins horizon series"],
    targets: Float[np.ndarray, "origins horizon series"],
    seasonal_error: Sequence[float] | None = None,
) -> dict[str, float]:
    """Compute `mae`, `rmse` and, where the seasonal error is given, `mase`; a target of NaN does not count.

    Raises:
        DataError: If no target counts.
    """
    errors = points - targets
    errors[np.isnan(targets)] = np.nan
    if np.isnan(targets).all():
        raise DataError(complain("Forecasting", "scored targets", "at least 1", "none"))
    figures = {"mae": float(np.nanmean(np.abs(errors))), "rmse": float(np.sqrt(np.nanmean(errors**2)))}
    if np.isnan(errors[~np.isnan(targets)]).any():
        figures = dict.fromkeys(figures, float("nan"))  # a model that predicts NaN is not scored on the rest alone
    if seasonal_error is not None:
        figures["mase"] = float(np.mean(series_errors(errors) / denominators(seasonal_error)))
        figures["mase"] = float("nan") if np.isnan(figures["mae"]) else figures["mase"]
    return figures


def series_errors(errors: Float[np.ndarray, "origins horizon series"]) -> Float[np.ndarray, " series"]:
    """Mean absolute error of each series, leaving out NaN."""
    return np.nanmean(np.abs(errors), axis=(0, 1))


def denominators(seasonal_error: Sequence[float]) -> Float[np.ndarray, " series"]:
    """Give the denominators of MASE; NaN in place of 0."""
    error = np.asarray(seasonal_error, np.float64)
    return np.where(error > 0, error, np.nan)


def origin_errors(
    points: Float[np.ndarray, "origins horizon series"],
    targets: Float[np.ndarray, "origins horizon series"],
    seasonal_error: Sequence[float] | None = None,
) -> Float[np.ndarray, " origins"]:
    """Mean absolute error of each origin, scaled as MASE is where the seasonal error is given."""
    errors = np.abs(points - targets)
    if seasonal_error is not None:
        errors = errors / denominators(seasonal_error)
    return np.nanmean(errors, axis=(1, 2))


def quantile_metrics(
    predicted: Float[np.ndarray, "origins horizon series quantiles"],
    targets: Float[np.ndarray, "origins horizon series"],
    quantiles: Sequence[float],
) -> dict[str, float]:
    """Compute `quantile_loss` and `coverage`, of which a calibrated forecast has highest minus lowest quantile."""
    levels = np.asarray(quantiles)
    short = targets[..., None] - predicted
    loss = np.maximum(levels * short, (levels - 1) * short)
    is_scored = ~np.isnan(targets)
    inside = (predicted.min(axis=-1) <= targets) & (targets <= predicted.max(axis=-1))
    return {"quantile_loss": float(loss[is_scored].mean()), "coverage": float(inside[is_scored].mean())}
