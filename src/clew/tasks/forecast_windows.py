"""Windows of series for forecasting, split by time, and the scaling that the training part gives.

    steps      0 . . . . . . . . . | . . . . | . . . .      | borders of train, validation and test
    window         h h h h t t                              h: history (lead and context), t: targets of the horizon

A window belongs to the part that holds all of its targets; one with targets on both sides of a border belongs to none.
Windows of later parts may look back across the border, as forecasts do, unless `look_back` is False: then windows lie
in their part with all of their steps, and as many more are dropped. The lead is what the longest lag needs before the
first step that is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from clew.data.sequence_data import SequenceData
from clew.errors import ConfigError, DataError, complain


@dataclass(frozen=True)
class Scaling:
    """How series were standardized, and what their errors are measured by; fitted on the training part alone.

    Attributes:
        center: Mean of each series.
        scale: Standard deviation of each series (population); 1 for one that never changes.
        season: Steps of the season that `seasonal_error` looks back.
        seasonal_error: Mean of |y_t - y_(t - season)| over the training part, for each series in its own units: the
            denominator of MASE.

    Raises:
        ConfigError: If the parts do not fit each other, or a scale is not above 0.
    """

    center: tuple[float, ...]
    scale: tuple[float, ...]
    season: int
    seasonal_error: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("center", "scale", "seasonal_error"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        sizes = {len(self.center), len(self.scale), len(self.seasonal_error)}
        is_fine = all(map(isfinite, (*self.center, *self.scale, *self.seasonal_error))) and min(self.scale) > 0
        if len(sizes) != 1 or not is_fine or self.season < 1 or min(self.seasonal_error) < 0:
            rule = "one finite center, scale above 0 and seasonal error a series, and a season of at least 1"
            raise ConfigError(complain("Scaling", "values", rule, self))

    @classmethod
    def fit(
        cls,
        values: Sequence[Float[np.ndarray, "_ series"]],
        season: int,
        standardized: tuple[Sequence[float], Sequence[float]] | None = None,
    ) -> "Scaling":
        """Fit to training values.

        Args:
            values: One array a sequence, (steps, series).
            season: Steps of the season.
            standardized: Center and scale that were already applied to the values; by default they are fitted here.

        Raises:
            DataError: If no sequence is longer than the season, or a value is not finite.
        """
        steps = np.concatenate([np.asarray(part, np.float64) for part in values])
        if not np.isfinite(steps).all():
            step = int(np.argwhere(~np.isfinite(steps))[0][0])
            remedy = "Fill or drop missing steps first."
            raise DataError(complain("Scaling", "training values", "finite", f"{steps[step]} at step {step}", remedy))
        changes = [np.abs(part[season:].astype(np.float64) - part[:-season]) for part in values if len(part) > season]
        if not changes or season < 1:
            rule = f"longer than the season of {season} steps"
            got = f"at most {max(map(len, values), default=0)} steps"
            raise DataError(complain("Scaling", "the training part", rule, got, "Take a shorter season."))
        error = np.concatenate(changes).mean(axis=0)
        if standardized is None:
            spread = steps.std(axis=0)
            center, scale = steps.mean(axis=0), np.where(spread > 0, spread, 1.0)
        else:
            center, scale = (np.asarray(part, np.float64) for part in standardized)
            error = error * scale
        return cls(tuple(center.tolist()), tuple(scale.tolist()), season, tuple(error.tolist()))

    @classmethod
    def from_mapping(cls, mapping: dict[str, Any]) -> "Scaling":
        """Make it of what `to_mapping` gave."""
        center, scale, error = (tuple(mapping[name]) for name in ("center", "scale", "seasonal_error"))
        return cls(center, scale, int(mapping["season"]), error)

    def to_mapping(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {name: list(part) if isinstance(part, tuple) else part for name, part in vars(self).items()}


@dataclass(frozen=True, eq=False)
class ForecastParts:
    """Windows of each part, with what splitting did.

    Attributes:
        train, validation, test: Windows of equal length; their order is that of sequences, and of time within one.
            Their `ids` are the names of the sequences.
        scaling: Fitted on the steps before the first border; the windows' series are standardized with it.
        window: Steps of a window: lead, context and horizon.
        gap: Window places that are dropped at each border.
        dropped: Places of windows, counted at every step, that belong to no part, over all borders and sequences.
        borders: First step of validation and of test in each sequence.
    """

    train: SequenceData
    validation: SequenceData
    test: SequenceData
    scaling: Scaling
    window: int
    gap: int
    dropped: int
    borders: Int[np.ndarray, "sequences 2"]


def lead_steps(lags: Sequence[int] = (), difference: int | None = None) -> int:
    """Count the steps before the first one that is read, which lags and a seasonal difference need.

    >>> lead_steps(lags=(2, 48))
    47
    """
    return max(1, difference or 1, *lags) - 1


def chronological_windows(
    data: SequenceData,
    *,
    series: int,
    context: int,
    horizon: int,
    season: int = 1,
    lags: Sequence[int] = (),
    difference: int | None = None,
    fractions: tuple[float, float, float] = (0.7, 0.15, 0.15),
    stride: int = 1,
    origin_stride: int | None = None,
    look_back: bool = True,
    standardized: tuple[Sequence[float], Sequence[float]] | None = None,
) -> ForecastParts:
    """Cut each sequence by time into train, validation and test, then into windows.

    Args:
        data: Real-valued sequences; the first `series` columns are what is forecast.
        series: Number of series.
        context: Steps that are read before the first target of the horizon.
        horizon: Steps that are forecast.
        season: Steps of the season that MASE is measured by.
        lags, difference: As the task has them.
        fractions: Shares of train, validation and test of each sequence's steps.
        stride: Steps from one training window to the next.
        origin_stride: Steps from one origin to the next in validation and test; by default the horizon, so that their
            targets do not overlap.
        look_back: Whether windows of validation and test may read steps before their border.
        standardized: Center and scale with which the series were standardized already; by default this is done here,
            with the training steps alone.

    Raises:
        ConfigError: If a number is out of range.
        DataError: If a part has no window, or a training value is not finite.
    """
    origin_stride = horizon if origin_stride is None else origin_stride
    _check_sizes(data, series, fractions, context=context, horizon=horizon, stride=stride, origin_stride=origin_stride)
    window = lead_steps(lags, difference) + context + horizon
    flat, offsets, lengths = np.asarray(data.inputs), data.offsets, data.lengths.numpy()
    borders = np.rint(np.cumsum(fractions)[:2] * lengths[:, None]).astype(np.int64)
    pieces = [flat[start : start + border] for start, border in zip(offsets[:-1], borders[:, 0], strict=True)]
    scaling = Scaling.fit([piece[:, :series] for piece in pieces], season, standardized)
    if standardized is None:
        scaled = (flat[:, :series].astype(np.float64) - scaling.center) / scaling.scale
        flat = np.concatenate([scaled.astype(np.float32), flat[:, series:]], axis=1)
    reach = horizon if look_back else window
    starts: list[list[int]] = [[], [], []]
    names: list[list[str]] = [[], [], []]
    dropped = 0
    for name, offset, length, (first, second) in zip(data.ids, offsets[:-1], lengths, borders, strict=True):
        ranges = [(0, first), (max(0, first - window + reach), second), (max(0, second - window + reach), length)]
        for part, (begin, end) in enumerate(ranges):
            places = range(begin, end - window + 1, stride if part == 0 else origin_stride)
            starts[part] += [int(offset) + place for place in places]
            names[part] += [str(name)] * len(places)
        kept = sum(max(0, end - window + 1 - begin) for begin, end in ranges)
        dropped += max(0, int(length) - window + 1) - int(kept)
    for name, part in zip(("train", "validation", "test"), starts, strict=True):
        if not part:
            rule = f"long enough for a window of {window} steps (lead, context and horizon of {horizon})"
            got = f"sequences of at most {int(lengths.max(initial=0))} steps, split {fractions}"
            remedy = "Take a shorter horizon, context or lag, or give this part a larger share."
            raise DataError(complain("chronological_windows", f"the {name} part", rule, got, remedy))
    train, validation, test = (
        SequenceData.windows(flat, part, window, ids=ids) for part, ids in zip(starts, names, strict=True)
    )
    return ForecastParts(train, validation, test, scaling, window, reach - 1, dropped, borders)


def _check_sizes(data: SequenceData, series: int, fractions: tuple[float, float, float], **sizes: int) -> None:
    where = "chronological_windows"
    for name, value in sizes.items():
        if isinstance(value, bool) or value < 1:
            raise ConfigError(complain(where, name, "at least 1", value))
    if np.asarray(data.inputs).ndim != 2 or not 1 <= series <= data.features:
        raise ConfigError(complain(where, "series", f"in [1, features={data.features}]", series))
    if min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ConfigError(complain(where, "fractions", "three numbers above 0 with sum 1", fractions))
