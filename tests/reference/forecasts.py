"""Plain twins of forecast metrics and of forecasts without learning, one number at a time."""

import numpy as np


def seasonal_error(values: np.ndarray, season: int) -> float:
    """In-sample mean absolute error of the seasonal naive forecast of one series."""
    return float(np.mean([abs(values[step] - values[step - season]) for step in range(season, len(values))]))


def mase(predicted: np.ndarray, targets: np.ndarray, denominators: list[float]) -> float:
    """(origins, horizon, series) against the same."""
    scores = []
    for series, denominator in enumerate(denominators):
        errors = [abs(p - y) for p, y in zip(predicted[..., series].ravel(), targets[..., series].ravel(), strict=True)]
        scores.append(sum(errors) / len(errors) / denominator)
    return sum(scores) / len(scores)


def pinball(predicted: np.ndarray, targets: np.ndarray, levels: list[float]) -> float:
    """(origins, horizon, series, levels) against (origins, horizon, series)."""
    total = []
    for place in np.ndindex(*targets.shape):
        for number, level in enumerate(levels):
            short = targets[place] - predicted[place][number]
            total.append(level * short if short > 0 else (level - 1) * short)
    return sum(total) / len(total)


def forecast(name: str, mode: str, values: list[float], horizon: int, season: int, mean: float) -> list[float]:
    """Forecast the last `horizon` of one window of one series."""
    history = len(values) - horizon
    forecasts: list[float] = []
    for step in range(history, len(values)):
        seen = values[:step] if mode == "one_step" else values[:history] + forecasts
        if name == "last_value":
            forecasts.append(seen[-1])
        elif name == "seasonal_naive":
            forecasts.append(seen[step - season])
        elif name == "training_mean":
            forecasts.append(mean)
        else:
            end = step if mode == "one_step" else history
            slope = (values[end - 1] - values[0]) / (end - 1)
            forecasts.append(values[end - 1] + slope * (step - end + 1))
    return forecasts
