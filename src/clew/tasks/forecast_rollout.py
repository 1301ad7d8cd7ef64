"""Asking a model for the next values, once for known steps or again and again with its own predictions.

A rollout of a recurrent model or a causal Transformer reads each step once, with what `SequenceModel.step` keeps; any
other model gets a full pass a step. Both give the same to rounding.
"""

from typing import TypeGuard

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.errors import ConfigError, ShapeError, complain
from clew.models.sequence_model import SequenceModel
from clew.tasks.forecast_rows import ForecastRows
from clew.tasks.sequences import model_logits


def next_values(
    layout: ForecastRows,
    model: nn.Module,
    inputs: Float[Tensor, "batch time columns"],
    levels: int = 1,
    valid: Bool[Tensor, "batch steps"] | None = None,
) -> Float[Tensor, "batch steps series levels"]:
    """Predict the step after each row in one pass, all values up to the row given.

    Args:
        layout: Makes rows of the inputs.
        model: Gives `series * levels` values a row.
        inputs: Known steps.
        levels: Values that are predicted of a series, such as quantiles.
        valid: Rows that are real; None if all are.

    Raises:
        ShapeError: If the model does not give so many values.
    """
    rows = layout.rows(inputs)
    shape = (*rows.shape[:2], layout.series, levels)
    values = model_logits("Forecasting", model, rows, valid, (*shape[:2], layout.series * levels)).reshape(shape)
    bases = layout.bases(inputs)
    if bases is None:
        return values
    bases = bases.unsqueeze(3)
    return values + (bases if valid is None else bases.masked_fill(~valid[..., None, None], 0))


def rollout(
    layout: ForecastRows,
    model: nn.Module,
    history: Float[Tensor, "windows steps columns"],
    known: Float[Tensor, "windows future known"] | None,
    horizon: int,
    levels: int = 1,
    fed_back: int = 0,
) -> Float[Tensor, "windows horizon series levels"]:
    """Predict `horizon` steps behind the history, each from the predictions before it.

    Past covariates keep their last value. Several levels of a series are sorted, so that they do not cross.

    Args:
        layout: Makes rows of steps.
        model: Gives `series * levels` values a row.
        history: Steps up to the origin, longer than the lead.
        known: Known covariates of the horizon.
        horizon: Steps.
        levels: Values that are predicted of a series.
        fed_back: Which of them takes the place of the value.

    Raises:
        ShapeError: If the model does not give so many values.
    """
    end, series = history.shape[1], layout.series
    # The truth up to the origin; behind it what is held, what is known, and one after another the predictions.
    steps = torch.cat([history, history[:, -1:].expand(-1, horizon, -1)], dim=1)
    if known is not None:
        steps[:, end:, series + layout.past :] = known[:, :horizon]
    predict = _Stepwise(layout, model, levels) if can_step(model) else _FullPasses(layout, model, levels)
    predicted = []
    for step in range(end, end + horizon):
        values = predict(steps[:, : step + 1])
        values = values.sort(dim=-1).values if levels > 1 else values
        steps[:, step, :series] = values[..., fed_back]
        predicted.append(values)
    return torch.stack(predicted, dim=1)


def can_step(model: nn.Module) -> TypeGuard[SequenceModel]:
    """Say whether a model goes on from what it keeps of earlier steps, with the pass that `SequenceModel` has."""
    if not isinstance(model, SequenceModel) or type(model).forward is not SequenceModel.forward:
        return False
    try:
        model.start_cache()
    except ConfigError:
        return False
    return True


class _FullPasses:
    """Read all steps again for each prediction."""

    def __init__(self, layout: ForecastRows, model: nn.Module, levels: int) -> None:
        self.layout, self.model, self.levels = layout, model, levels

    def __call__(self, steps: Tensor) -> Tensor:
        """Predict the last of the steps, (windows, series, levels)."""
        return next_values(self.layout, self.model, steps, self.levels)[:, -1]


class _Stepwise:
    """Read each row once, and keep the cache."""

    def __init__(self, layout: ForecastRows, model: SequenceModel, levels: int) -> None:
        self.layout, self.model, self.levels = layout, model, levels
        self.cache = model.start_cache()
        self.is_started = False

    def __call__(self, steps: Tensor) -> Tensor:
        """Predict the last of the steps, (windows, series, levels), from one step more than before."""
        recent = steps[:, -(self.layout.lead + 2) :] if self.is_started else steps
        output, self.cache = self.model.step(self.layout.rows(recent), self.cache)
        self.is_started = True
        values = output.logits[:, -1]
        expected = self.layout.series * self.levels
        if values.shape[1] != expected:
            remedy = f"Build the model with outputs={expected}."
            raise ShapeError(complain("Forecasting", "outputs of the model", str(expected), values.shape[1], remedy))
        values = values.reshape(-1, self.layout.series, self.levels)
        bases = self.layout.bases(recent)
        return values if bases is None else values + bases[:, -1].unsqueeze(2)
