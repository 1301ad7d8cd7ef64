"""Forecasts without learning: the last value, the value one season ago, a line through the history, constants.

One-step forecasts may read every true value before their target, rollouts only those of the history before the origin.
The constants read no value at all: the training mean, and zero, which says "no change" of a series of changes.
Which one a model has to beat is chosen on validation (`best_reference`), before a test is looked at.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from jaxtyping import Float

REFERENCE_WORDS = {
    "last_value": "repeats the last value",
    "seasonal_naive": "repeats the value of one season before",
    "drift": "goes on from the last value along the line through the first and the last value of the history",
    "training_mean": "always says the mean of the training part",
    "zero": "always says 0, which is no change",
}


def reference_forecasts(
    values: Float[np.ndarray, "origins steps series"],
    horizon: int,
    season: int,
    name: str,
    mode: str,
    center: Sequence[float] | None = None,
) -> Float[np.ndarray, "origins horizon series"] | None:
    """Forecast the last `horizon` steps of each window.

    Args:
        values: True values of whole windows: history, then the horizon.
        horizon: Steps that are forecast.
        season: Steps of the season.
        name: One of `REFERENCE_WORDS`.
        mode: "one_step" or "rollout".
        center: Mean of each series in the training part, where it is known.

    Returns:
        The forecasts, or None where the history is shorter than the season or the mean is not known.
    """
    history = values.shape[1] - horizon
    steps = np.arange(history, history + horizon)
    # The last step that may be read: the one before the target, or the one before the origin.
    known = steps - 1 if mode == "one_step" else np.full(horizon, history - 1)
    if name == "zero":
        return np.zeros_like(values[:, history:])
    if name == "training_mean":
        return None if center is None else np.broadcast_to(np.asarray(center), values[:, history:].shape).copy()
    if name == "last_value":
        return values[:, known]
    if name == "seasonal_naive":
        if season > history:
            return None
        return values[:, steps - season * -(-(steps - known) // season)]
    slope = (values[:, known] - values[:, :1]) / np.maximum(known, 1)[:, None]
    return values[:, known] + slope * (steps - known)[:, None]


def is_near_zero(center: Sequence[float], scale: Sequence[float]) -> bool:
    """Say whether zero is a sensible constant: within one standard deviation of each series' training mean.

    >>> is_near_zero([0.01], [1.0]), is_near_zero([30.0], [5.0])
    (True, False)
    """
    return all(abs(middle) <= spread for middle, spread in zip(center, scale, strict=True))


def best_reference(rows: Sequence[Mapping[str, Any]], mode: str) -> str | None:
    """Name the reference with the smallest error, of MASE or, where there is none, of MAE; None where there is none.

    >>> rows = [{"name": "drift", "rollout_mae": 2.0}, {"name": "zero", "rollout_mae": 1.0}]
    >>> best_reference(rows, "rollout")
    'zero'
    """
    for metric in ("mase", "mae"):
        scores = {row["name"]: row.get(f"{mode}_{metric}") for row in rows}
        found = {name: score for name, score in scores.items() if score is not None and isfinite(score)}
        if found:
            return min(found, key=found.__getitem__)
    return None
