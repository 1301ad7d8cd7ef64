"""What a forecasting model reads at each step, and which steps it can be asked at.

The row of step t holds the series at t, their values `lag` steps before the target t + 1, the past covariates of t and
the known ones of t + 1. Steps before the lead have no row, for their lags would lie before the window.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.data.batch import Batch
from clew.errors import DataError, ShapeError, complain
from clew.tasks.forecast_windows import lead_steps
from clew.tasks.sequences import Sequences, chunks, real_steps


class Windows(NamedTuple):
    """Windows of equal length without padding, in the units of the batch.

    Attributes:
        rows: Their numbers in the data.
        inputs: (windows, steps, columns).
    """

    rows: Tensor
    inputs: Float[Tensor, "windows steps columns"]


@dataclass(frozen=True)
class ForecastRows:
    """How columns and lags become rows.

    Attributes:
        series: Number of series, the first columns.
        past: Covariates of which the future is not known, behind them.
        known: Covariates of which the future is known, the last columns.
        lags: Steps before the target whose values are read too.
        difference: Steps before the target of the value that a change is taken against; None for values themselves.
    """

    series: int
    past: int = 0
    known: int = 0
    lags: tuple[int, ...] = ()
    difference: int | None = None

    @property
    def lead(self) -> int:
        """Steps before the first one that has a row."""
        return lead_steps(self.lags, self.difference)

    @property
    def columns(self) -> int:
        """Columns of the inputs."""
        return self.series + self.past + self.known

    @property
    def features(self) -> int:
        """Columns of a row."""
        return self.columns + self.series * len(self.lags)

    def rows(self, inputs: Float[Tensor, "batch time columns"]) -> Float[Tensor, "batch steps features"]:
        """Make the row of each step after the lead that has a next one."""
        series, past = inputs[..., : self.series], inputs[..., self.series : self.series + self.past]
        lags = [_shifted(series, lag - 1)[:, :-1] for lag in self.lags]
        parts = [series[:, :-1], *lags, past[:, :-1], inputs[:, 1:, self.series + self.past :]]
        return torch.cat(parts, dim=2)[:, self.lead :]

    def bases(self, inputs: Float[Tensor, "batch time columns"]) -> Float[Tensor, "batch steps series"] | None:
        """Give for each row what the change is taken against; None where values are predicted."""
        if self.difference is None:
            return None
        count = inputs.shape[1] - 1 - self.lead
        first = self.lead + 1 - self.difference
        return inputs[:, first : first + count, : self.series]

    def usable(self, batch: Batch) -> Bool[Tensor, "batch steps"]:
        """Say at which steps after the lead the step, the next one and all lags of that are real."""
        valid = real_steps(batch)
        usable = valid[:, :-1] & valid[:, 1:]
        for lag in (*self.lags, *([] if self.difference is None else [self.difference])):
            usable = usable & _shifted(valid, lag - 1)[:, :-1]
        return usable[:, self.lead :]

    def check(self, batch: Batch, next_steps: int = 1) -> None:
        """See that the inputs have the columns, and a step with a row.

        Raises:
            DataError: If there is no row.
            ShapeError: If there are other columns.
        """
        inputs = batch.inputs
        if inputs.ndim != 3 or inputs.shape[2] != self.columns or not inputs.is_floating_point():
            rule = f"floats (batch, time, {self.columns}): {self.series} series, {self.past} past, {self.known} known"
            raise ShapeError(complain("Forecasting", "inputs", rule, f"{tuple(inputs.shape)} of {inputs.dtype}"))
        if inputs.shape[1] < self.lead + 1 + next_steps:
            rule = f"at least {self.lead + 1 + next_steps} steps long, of which {self.lead} are the lead"
            raise DataError(complain("Forecasting", "windows", rule, inputs.shape[1], "Take shorter lags."))

    def windows(self, data: Sequences, horizon: int, chunk: int, device: torch.device | None) -> Iterator[Windows]:
        """Take windows without their padding, those of equal length together.

        Raises:
            DataError: If there is none, or one is not longer than lead and horizon.
            ShapeError: If the inputs have other columns.
        """
        if len(data) == 0:
            raise DataError(complain("Forecasting", "windows", "at least 1", "none"))
        least = self.lead + 1 + horizon
        for index, batch in chunks(data, chunk, device):
            self.check(batch)
            lengths = real_steps(batch).sum(dim=1).cpu()
            for length in lengths.unique().tolist():
                rows = (lengths == length).nonzero().squeeze(1)
                if length < least:
                    rule = f"at least lead + 1 + horizon = {least} real steps long"
                    remedy = "Take a shorter horizon or lag, or longer windows."
                    got = f"{length} at row {int(index[rows[0]])}"
                    raise DataError(complain("Forecasting", "windows", rule, got, remedy))
                part = batch.select(rows)
                inputs = part.inputs if part.valid is None else part.inputs[part.valid].reshape(len(rows), length, -1)
                yield Windows(index[rows], inputs)


def _shifted(steps: Tensor, by: int) -> Tensor:
    """Move steps later by `by`, so that each step holds what was `by` steps before; what comes in holds zeros."""
    if by == 0:
        return steps
    kept = steps[:, : max(0, steps.shape[1] - by)]
    return torch.cat([steps.new_zeros(steps.shape[0], steps.shape[1] - kept.shape[1], *steps.shape[2:]), kept], dim=1)
