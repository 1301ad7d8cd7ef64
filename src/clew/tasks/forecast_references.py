"""Forecasts without learning: the last value, the value one season ago, a line through the ends of the history.

One-step forecasts may read every true value before their target, rollouts only those of the history before the origin.
"""

import numpy as np
from jaxtyping import Float

REFERENCE_WORDS = {
    "last_value": "repeats the last value",
    "seasonal_naive": "repeats the value of one season before",
    "drift": "goes on from the last value along the line through the first and the last value of the history",
}


def reference_forecasts(
    values: Float[np.ndarray, "origins steps series"], horizon: int, season: int, name: str, mode: str
) -> Float[np.ndarray, "origins horizon series"] | None:
    """Forecast the last `horizon` steps of each window.

    Args:
        values: True values of whole windows: history, then the horizon.
        horizon: Steps that are forecast.
        season: Steps of the season.
        name: "last_value", "seasonal_naive" or "drift".
        mode: "one_step" or "rollout".

    Returns:
        The forecasts, or None where the history is shorter than the season.
    """
    history = values.shape[1] - horizon
    steps = np.arange(history, history + horizon)
    # The last step that may be read: the one before the target, or the one before the origin.
    known = steps - 1 if mode == "one_step" else np.full(horizon, history - 1)
    if name == "last_value":
        return values[:, known]
    if name == "seasonal_naive":
        if season > history:
            return None
        return values[:, steps - season * -(-(steps - known) // season)]
    slope = (values[:, known] - values[:, :1]) / np.maximum(known, 1)[:, None]
    return values[:, known] + slope * (steps - known)[:, None]
