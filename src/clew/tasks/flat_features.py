"""Sequences as rows of numbers for predictors that know nothing of sequences: masked means, and values at their places.

Both are standardized with the training part alone. Ids become one column an id that training holds; of an image, the
pixels are the steps and the channels the features. Columns that number categories count as the numbers that they hold.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.data.batch import Batch
from clew.tasks.sequences import Sequences, real_steps, whole

MOST_VALUES = 2**28  # numbers of a flattened part; beyond that it is not made


@dataclass(frozen=True, eq=False)
class _Steps:
    """Sequences as (batch, time, features) float64 with padding on the right, zero there."""

    values: Float[Tensor, "batch time features"]
    valid: Bool[Tensor, "batch time"]


@dataclass(frozen=True, eq=False)
class FlatFeatures:
    """Train and test rows.

    Attributes:
        train_means, test_means: Mean of each feature over the real steps; (batch, features).
        train_values, test_values: All standardized values at their places, counted from the first real step, padding
            at the mean of training; steps beyond the longest training sequence are cut off. (batch, steps * features),
            or None where that is more than 2**28 numbers.
        train_last, test_last: Standardized values of the last real step; (batch, features).
    """

    train_means: Float[Tensor, "train features"]
    test_means: Float[Tensor, "test features"]
    train_values: Float[Tensor, "train columns"] | None
    test_values: Float[Tensor, "test columns"] | None
    train_last: Float[Tensor, "train features"]
    test_last: Float[Tensor, "test features"]


def flat_features(train: Sequences, test: Sequences) -> FlatFeatures:
    """Make rows of numbers of all sequences; they must fit into memory."""
    parts = [whole(train), whole(test)]
    ids = None if parts[0].inputs.is_floating_point() or parts[0].inputs.ndim != 2 else _known_ids(parts[0])
    steps = [_as_steps(part, ids) for part in parts]
    real = steps[0].values[steps[0].valid]
    mean, spread = real.mean(dim=0), real.std(dim=0, correction=0)
    spread = torch.where(spread > 0, spread, 1.0)
    scaled = [
        _Steps(torch.where(one.valid.unsqueeze(2), (one.values - mean) / spread, 0.0), one.valid) for one in steps
    ]
    time = scaled[0].values.shape[1]
    is_small = max(len(one.values) for one in scaled) * time * len(mean) <= MOST_VALUES
    values = [_flatten(one, time) for one in scaled] if is_small else [None, None]
    means, last = [_means(one) for one in scaled], [_last(one) for one in scaled]
    return FlatFeatures(means[0], means[1], values[0], values[1], last[0], last[1])


def _known_ids(train: Batch) -> Tensor:
    return train.inputs[real_steps(train)].unique()


def _as_steps(batch: Batch, ids: Tensor | None) -> _Steps:
    inputs, valid = batch.inputs.cpu(), batch.valid
    if inputs.ndim == 4:
        inputs = inputs.flatten(2).transpose(1, 2)
    valid = torch.ones(inputs.shape[:2], dtype=torch.bool) if valid is None else valid.cpu()
    if ids is not None:
        inputs = (inputs.unsqueeze(2) == ids.cpu()).double()
    # Real steps move to the left, in their order.
    order = torch.argsort((~valid).to(torch.int8), dim=1, stable=True)
    values = inputs.double().gather(1, order.unsqueeze(2).expand(-1, -1, inputs.shape[2]))
    valid = valid.gather(1, order)
    return _Steps(torch.where(valid.unsqueeze(2), values, 0.0), valid)


def _flatten(steps: _Steps, time: int) -> Float[Tensor, "batch columns"]:
    values = steps.values[:, :time]
    missing = time - values.shape[1]
    return torch.nn.functional.pad(values, (0, 0, 0, missing)).flatten(1)


def _means(steps: _Steps) -> Float[Tensor, "batch features"]:
    return steps.values.sum(dim=1) / steps.valid.sum(dim=1, keepdim=True).clamp(min=1)


def _last(steps: _Steps) -> Float[Tensor, "batch features"]:
    place = (steps.valid.sum(dim=1) - 1).clamp(min=0)
    return steps.values[torch.arange(len(place)), place]
