"""Forecasting: at each step the next value of one or several series, from what is known by then.

    step              0   1   2   3   4   5
    series            5   7   6   8   9   7
    known             a   b   c   d   e   f       what is known of the future, such as the hour
    inputs, lag 2         7   6   8   9           with the series' value 2 steps before the target,
                          5   7   6   8           and what is known of the target's own step
                          c   d   e   f
    targets               6   8   9   7           the next value
    horizon 2                     *   *           scored in evaluation; training scores every target

Step 0 is the lead: it is read only through the lag. With `difference=season` a model predicts the change against the
value one season before the target. One-step figures give the model the true values before each target (teacher
forcing), rollout figures only those before the horizon, after which its own predictions take their place; they answer
different questions and never share a key.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, complain
from clew.tasks.block_bootstrap import BlockInterval
from clew.tasks.forecast_arguments import MODES, check_arguments
from clew.tasks.forecast_comparison import (
    LOOKED_AT,
    interval_of_difference,
    sequence_names,
    steps_between_origins,
)
from clew.tasks.forecast_metrics import forecast_metrics, origin_errors, quantile_metrics
from clew.tasks.forecast_references import REFERENCE_WORDS, is_near_zero, reference_forecasts
from clew.tasks.forecast_rollout import next_values, rollout
from clew.tasks.forecast_rows import ForecastRows, Windows
from clew.tasks.forecast_windows import Scaling
from clew.tasks.sequences import Sequences, device_of, put_together
from clew.tasks.task import Aligned, Task, evaluation_mode

Points = Float[np.ndarray, "origins horizon series"]
CHUNK = 512


class Forecasting(Task):
    """Forecast `series` series over `horizon` steps.

    A perfect predictor has MAE 0; one that repeats the last value is the reference `last_value`.

    The columns of the inputs are the series, then `past` covariates, then `known` ones, each at its own step; the task
    alone shifts. What a model reads is described by `features`.

    Args:
        horizon: Steps that are forecast from an origin.
        series: Number of series.
        past: Covariates of which the future is not known; a rollout holds their last value.
        known: Covariates of which the future is known.
        lags: Steps before the target whose values are read too, each at least 2.
        quantiles: Levels that are predicted instead of one value, with the median among them; trained by quantile loss.
        season: Steps of the season, for the reference `seasonal_naive`.
        difference: Predict the change against the value so many steps before the target.
        scaling: How the series were standardized and what MASE divides by, from `chronological_windows`; figures are in
            the units before it. Without it, figures are in the units of the inputs and there is no MASE.
        select_by: Whether training selects on "one_step_mae" or "rollout_mae"; rollouts take longer.

    Raises:
        ConfigError: If an argument is out of range.
    """

    name: ClassVar[str] = "forecasting"
    kind_of_head: ClassVar[Literal["sequence", "rows"]] = "rows"
    boundary: Literal["causal", "full"] = "causal"

    def __init__(
        self,
        horizon: int,
        series: int = 1,
        past: int = 0,
        known: int = 0,
        lags: Sequence[int] = (),
        quantiles: Sequence[float] = (),
        season: int = 1,
        difference: int | None = None,
        scaling: Scaling | Mapping[str, Any] | None = None,
        select_by: str = "one_step",
    ) -> None:
        self.horizon, self.series, self.past, self.known = horizon, series, past, known
        self.lags, self.quantiles = tuple(lags), tuple(float(level) for level in quantiles)
        self.season, self.difference, self.select_by = season, difference, select_by
        self.scaling = Scaling.from_mapping(dict(scaling)) if isinstance(scaling, Mapping) else scaling
        check_arguments(self)
        self.layout = ForecastRows(series, past, known, self.lags, difference)
        self.selection = f"{select_by}_mae"
        names = ["mae", "rmse"] + ["mase"] * (self.scaling is not None)
        names += ["quantile_loss", "coverage"] * bool(self.quantiles)
        self.metrics = tuple(f"{mode}_{name}" for mode in MODES for name in names)

    @property
    def outputs(self) -> int:
        """Values of one prediction: one a series and quantile, the quantiles of a series side by side."""
        return self.series * self.levels

    @property
    def levels(self) -> int:
        """Values that are predicted of each series: one, or one a quantile."""
        return len(self.quantiles) or 1

    @property
    def features(self) -> int:
        """Columns that a model reads: series, their lags, past covariates, known ones of the target's step."""
        return self.layout.features

    @property
    def lead(self) -> int:
        """Steps before the first one that is read."""
        return self.layout.lead

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        return {
            "horizon": self.horizon,
            "series": self.series,
            "past": self.past,
            "known": self.known,
            "lags": list(self.lags),
            "quantiles": list(self.quantiles),
            "season": self.season,
            "difference": self.difference,
            "scaling": None if self.scaling is None else self.scaling.to_mapping(),
            "select_by": self.select_by,
        }

    def align(self, batch: Batch) -> Aligned:
        """Put the next values of the series beside each step that has all its lags.

        A target counts where its step, the step before it and its lags are real, and no series is NaN there.

        Raises:
            DataError: If no step has all its lags and a next one.
            ShapeError: If the inputs do not have the columns of the task.
        """
        self.layout.check(batch)
        usable, targets = self.layout.usable(batch), batch.inputs[:, self.lead + 1 :, : self.series]
        scored = usable & ~targets.isnan().any(dim=2)
        valid = None if batch.valid is None else usable
        is_all = valid is None and bool(scored.all())
        return Aligned(self.layout.rows(batch.inputs), valid, targets, None if is_all else scored)

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Mean over scored steps of the squared error, or the quantile loss, summed over series and quantiles.

        It is in the units of the inputs; every step after the lead is trained, teacher-forced.

        Raises:
            DataError: If no target is scored.
            ShapeError: If the model does not give `outputs` values a step.
        """
        aligned = self.align(batch)
        predicted = next_values(self.layout, model, batch.inputs, self.levels, aligned.valid)
        targets = aligned.targets
        if aligned.scored is not None:
            predicted, targets = predicted[aligned.scored], targets[aligned.scored]
        if targets.numel() == 0:
            got = f"none in {len(batch)} sequences"
            raise DataError(complain("Forecasting", "scored targets of a batch", "at least 1", got))
        predicted = predicted.reshape(-1, self.series, self.levels)
        short = targets.reshape(-1, self.series, 1) - predicted
        if not self.quantiles:
            return short.square().sum(dim=(1, 2)).mean()
        levels = torch.tensor(self.quantiles, dtype=short.dtype, device=short.device)
        return torch.maximum(levels * short, (levels - 1) * short).sum(dim=(1, 2)).mean()

    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Score the last `horizon` steps of each window, one step ahead and as a rollout, in the series' own units."""
        return self._evaluate(model, batch, chunk, MODES)

    def monitor(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Score one step ahead alone, unless training selects by rollouts."""
        return self._evaluate(model, batch, chunk, MODES if self.select_by == "rollout" else ("one_step",))

    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give `one_step` and `rollout` forecasts of the last `horizon` steps of each window, in the series' own units.

        Shapes are (batch, horizon, series), with a last axis of quantiles where those are predicted.
        """
        predicted = self._forecasts(model, batch, chunk, MODES)
        return {mode: values if self.quantiles else values[..., 0] for mode, values in predicted.items()}

    def forecast(
        self,
        model: nn.Module,
        history: Float[Tensor, "windows steps columns"],
        known: Float[Tensor, "windows future known"] | None = None,
        horizon: int | None = None,
    ) -> Float[np.ndarray, "windows horizon series levels"]:
        """Go on beyond the end of the data, by feeding predictions back.

        Of quantiles the median is fed back, so that the others do not widen with the steps as they should; their
        coverage over rolling origins is in the metrics.

        Args:
            model: A model with a prediction a step, recurrent or a Transformer.
            history: Inputs up to the last step that is known, longer than the lead.
            known: Known covariates of the steps that are forecast; needed where the task has any.
            horizon: Steps; by default the task's.

        Returns:
            Forecasts in the series' own units.

        Raises:
            ConfigError: If `horizon` is below 1.
            DataError: If the history is not longer than the lead, or what is known of the future is missing.
            ShapeError: If the columns do not fit the task.
        """
        horizon = self.horizon if horizon is None else horizon
        self.layout.check(Batch(history), next_steps=0)
        if horizon < 1:
            raise ConfigError(complain("Forecasting.forecast", "horizon", "at least 1", horizon))
        if (0 if known is None else known.shape[2]) != self.known or (known is not None and known.shape[1] < horizon):
            rule = f"{self.known} columns of at least {horizon} steps"
            got = "none" if known is None else f"{known.shape[2]} columns of {known.shape[1]} steps"
            raise DataError(complain("Forecasting.forecast", "known covariates of the future", rule, got))
        with evaluation_mode(model), torch.no_grad():
            return self._in_units(self._rollout(model, history, known, horizon))

    @property
    def reference_names(self) -> list[str]:
        """Forecasts without learning that a model has to beat; zero only of series that stay around it."""
        is_around = self.scaling is not None and is_near_zero(self.scaling.center, self.scaling.scale)
        return [name for name in REFERENCE_WORDS if name != "zero" or is_around]

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score last value, seasonal naive, drift and constants on the same windows, one step ahead and as rollouts.

        A seasonal naive forecast has no figures where the history of a window is shorter than the season, and the
        training mean none without `scaling`. Zero stands there where it is within one standard deviation of that mean,
        as for changes and returns.
        """
        targets, rows = self._targets(test), []
        for name in self.reference_names:
            row: dict[str, Any] = {"name": name, "words": REFERENCE_WORDS[name]} | dict.fromkeys(self.metrics)
            for mode in MODES:
                predicted = self._reference(test, name, mode)
                if predicted is not None:
                    figures = forecast_metrics(predicted, targets, self._seasonal_error)
                    row |= {f"{mode}_{metric}": value for metric, value in figures.items()}
            rows.append(row)
        return rows

    def compare(
        self,
        model: nn.Module,
        windows: Sequences,
        reference: str = "seasonal_naive",
        mode: str = "rollout",
        *,
        origin_stride: int | None = None,
        block: int | None = None,
        resamples: int = 2000,
        seed: int = 0,
        chunk: int = 512,
    ) -> BlockInterval:
        """Give an interval for the model's error minus a reference's, over rolling origins by circular blocks.

        The error is the mean absolute one, divided by the seasonal error where it is known. An interval below 0 says
        that this model is better than the reference over such origins. No block crosses from one sequence to the next:
        windows with equal `ids` are of one sequence, and all are where ids are only their numbers.

        Args:
            model: A trained model.
            windows: One a rolling origin, in order of time.
            reference: "last_value", "seasonal_naive", "drift", "training_mean" or "zero".
            mode: "one_step" or "rollout".
            origin_stride: Steps from one origin to the next; by default what the windows show.
            block: Origins of a block; by default the cube root of those of the longest sequence, at least those whose
                targets overlap.
            resamples: How often origins are drawn again.
            seed: Draws them.
            chunk: Windows that are forecast together.

        Raises:
            ConfigError: If a name is unknown or a number out of range.
            DataError: If the reference has no forecast, or there are fewer than 2 origins.
        """
        if reference not in REFERENCE_WORDS or mode not in MODES:
            rule = f"one of {', '.join(REFERENCE_WORDS)}, and one of {', '.join(MODES)}"
            raise ConfigError(complain("Forecasting.compare", "reference and mode", rule, f"{reference}, {mode}"))
        baseline = self._reference(windows, reference, mode)
        if baseline is None and reference == "training_mean":
            remedy = "Take the scaling that chronological_windows gives."
            raise DataError(complain("Forecasting.compare", "scaling", "known for the training mean", "none", remedy))
        if baseline is None:
            rule = f"at least one season of {self.season} steps"
            raise DataError(complain("Forecasting.compare", "the history of a window", rule, "fewer"))
        points = self._points(self._forecasts(model, windows, chunk, (mode,))[mode])
        return self._interval(points, baseline, windows, origin_stride, block=block, resamples=resamples, seed=seed)

    def compare_all(
        self,
        model: nn.Module,
        windows: Sequences,
        *,
        origin_stride: int | None = None,
        seed: int = 0,
        chunk: int = CHUNK,
    ) -> list[dict[str, Any]]:
        """Compare with each reference that has a forecast, in both modes, as `compare` does; the model forecasts once.

        Returns:
            A mapping a mode and reference: `mode`, `reference`, and the fields of `BlockInterval`.

        Raises:
            DataError: If there are fewer than 2 origins, or one without a finite error.
        """
        found = []
        for mode, predicted in self._forecasts(model, windows, chunk, MODES).items():
            for name in self.reference_names:
                baseline = self._reference(windows, name, mode)
                if baseline is not None:
                    interval = self._interval(self._points(predicted), baseline, windows, origin_stride, seed=seed)
                    found.append({"mode": mode, "reference": name} | interval._asdict())
        return found

    def errors(self, model: nn.Module, windows: Sequences, chunk: int = CHUNK) -> dict[str, list[float]]:
        """Give the error of each origin in each mode: the mean absolute one, divided as in MASE where that is known."""
        forecasts = self._forecasts(model, windows, chunk, MODES)
        return {mode: self._errors(self._points(predicted), windows).tolist() for mode, predicted in forecasts.items()}

    def reference_errors(self, windows: Sequences, name: str, mode: str) -> list[float] | None:
        """Give the error of each origin of a reference, as `errors` does; None where it has no forecast."""
        baseline = self._reference(windows, name, mode)
        return None if baseline is None else self._errors(baseline, windows).tolist()

    def interval(
        self,
        errors: Sequence[float],
        baseline: Sequence[float],
        windows: Sequences,
        origin_stride: int | None = None,
        *,
        block: int | None = None,
        resamples: int = 2000,
        seed: int = 0,
    ) -> BlockInterval:
        """Give an interval for the mean of `errors` minus that of `baseline`, over the origins of `windows`.

        Raises:
            ConfigError: If a number is out of range.
            DataError: If there are fewer than 2 origins, or one without a finite error.
        """
        if origin_stride is None:
            first = windows.select(torch.arange(min(len(windows), LOOKED_AT)))
            origin_stride = steps_between_origins(first.inputs, self.horizon)
        return interval_of_difference(
            np.asarray(errors), np.asarray(baseline), sequences=sequence_names(windows),
            overlap=-(-self.horizon // origin_stride), block=block, resamples=resamples, seed=seed,
        )  # fmt: skip

    def _interval(
        self, points: Points, baseline: Points, windows: Sequences, origin_stride: int | None, **options: Any
    ) -> BlockInterval:
        errors, others = (self._errors(forecast, windows).tolist() for forecast in (points, baseline))
        return self.interval(errors, others, windows, origin_stride, **options)

    def _errors(self, points: Points, windows: Sequences) -> Float[np.ndarray, " origins"]:
        return origin_errors(points, self._targets(windows), self._seasonal_error)

    @property
    def _seasonal_error(self) -> tuple[float, ...] | None:
        return None if self.scaling is None else self.scaling.seasonal_error

    def _evaluate(self, model: nn.Module, data: Sequences, chunk: int, modes: Sequence[str]) -> dict[str, float]:
        targets, figures = self._targets(data), {}
        for mode, predicted in self._forecasts(model, data, chunk, modes).items():
            scores = forecast_metrics(self._points(predicted), targets, self._seasonal_error)
            if self.quantiles:
                scores |= quantile_metrics(predicted, targets, self.quantiles)
            figures |= {f"{mode}_{name}": value for name, value in scores.items()}
        return figures

    def _points(
        self, predicted: Float[np.ndarray, "origins horizon series levels"]
    ) -> Float[np.ndarray, "origins horizon series"]:
        return predicted[..., self._middle]

    @property
    def _middle(self) -> int:
        return self.quantiles.index(0.5) if self.quantiles else 0

    def _forecasts(
        self, model: nn.Module, data: Sequences, chunk: int, modes: Sequence[str]
    ) -> dict[str, Float[np.ndarray, "origins horizon series levels"]]:
        parts: dict[str, list[tuple[Tensor, Tensor]]] = {mode: [] for mode in modes}
        with evaluation_mode(model), torch.no_grad():
            for index, inputs in self._windows(data, chunk, device_of(model)):
                if "one_step" in modes:
                    values = next_values(self.layout, model, inputs, self.levels)[:, -self.horizon :]
                    values = values.sort(dim=-1).values if self.quantiles else values
                    parts["one_step"].append((index, torch.from_numpy(self._in_units(values))))
                if "rollout" in modes:
                    history, future = inputs[:, : -self.horizon], inputs[:, -self.horizon :]
                    known = future[..., self.series + self.past :] if self.known else None
                    values = self._rollout(model, history, known, self.horizon)
                    parts["rollout"].append((index, torch.from_numpy(self._in_units(values))))
        return {mode: put_together(rows, torch.nan).numpy() for mode, rows in parts.items()}

    def _rollout(
        self, model: nn.Module, history: Tensor, known: Tensor | None, horizon: int
    ) -> Float[Tensor, "windows horizon series levels"]:
        return rollout(self.layout, model, history, known, horizon, self.levels, self._middle)

    def _in_units(
        self, values: Float[Tensor, "windows horizon series levels"]
    ) -> Float[np.ndarray, "windows horizon series levels"]:
        array = values.double().cpu().numpy()
        if self.scaling is None:
            return array
        return array * np.asarray(self.scaling.scale)[:, None] + np.asarray(self.scaling.center)[:, None]

    def _targets(self, data: Sequences) -> Float[np.ndarray, "origins horizon series"]:
        parts = [
            (index, torch.from_numpy(self._values(inputs[:, -self.horizon :]))) for index, inputs in self._windows(data)
        ]
        return put_together(parts, torch.nan).numpy()

    def _reference(self, data: Sequences, name: str, mode: str) -> Float[np.ndarray, "origins horizon series"] | None:
        parts, center = [], None if self.scaling is None else self.scaling.center
        for index, inputs in self._windows(data):
            predicted = reference_forecasts(self._values(inputs), self.horizon, self.season, name, mode, center)
            if predicted is None:
                return None
            parts.append((index, torch.from_numpy(predicted)))
        return put_together(parts, torch.nan).numpy()

    def _values(self, inputs: Float[Tensor, "windows steps columns"]) -> Float[np.ndarray, "windows steps series"]:
        """Give the series in their own units."""
        values = inputs[..., : self.series].double().cpu().numpy()
        if self.scaling is None:
            return values
        return values * np.asarray(self.scaling.scale) + np.asarray(self.scaling.center)

    def _windows(self, data: Sequences, chunk: int = CHUNK, device: torch.device | None = None) -> Iterator[Windows]:
        return self.layout.windows(data, self.horizon, chunk, device)
