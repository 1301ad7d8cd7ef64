"""Figures of predicted numbers, and two simple predictors: the mean of training, and a line through the last step."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from clew.data.batch import Batch
from clew.errors import DataError, complain
from clew.tasks.flat_features import flat_features
from clew.tasks.sequences import Sequences, whole
from clew.tasks.task import Task

RIDGE = 1e-6  # keeps columns that repeat each other from making the line undefined


def value_metrics(
    predicted: Float[Tensor, "targets outputs"], targets: Float[Tensor, "targets outputs"]
) -> dict[str, float]:
    """Compute squared error, mean absolute error, root mean squared error and r2.

    squared_error = mean over targets of sum over numbers of (predicted - target)^2
    r2 = 1 - sum of (predicted - target)^2 / sum of (target - mean of the scored targets)^2
    """
    errors = (predicted.double() - targets.double()).square()
    spread = (targets - targets.mean(dim=0)).double().square().sum().item()
    return {
        "squared_error": errors.sum(dim=1).mean().item(),
        "mae": (predicted - targets).double().abs().mean().item(),
        "rmse": errors.mean().sqrt().item(),
        "r2": 1 - errors.sum().item() / spread if spread > 0 else float("nan"),
    }


def regression_references(task: Task, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
    """Score the mean of the training targets, and the best linear map of the last real step's features.

    Raises:
        DataError: If there is no scored target to learn from or to score.
    """
    parts = whole(train), whole(test)
    (train_rows, learnt), (test_rows, asked) = (_targets(task, part) for part in parts)
    if not len(learnt) or not len(asked):
        raise DataError(complain("Regression.references", "scored targets", "at least 1 in each part", "none"))
    mean = learnt.mean(dim=0)
    words = "always gives the mean of the training targets"
    rows = [{"name": "train_mean", "words": words} | value_metrics(mean.expand_as(asked), asked)]
    features = flat_features(*parts)
    line = _least_squares(features.train_last[train_rows], learnt - mean)
    predicted = _with_one(features.test_last[test_rows]) @ line + mean
    words = "the best linear map of the features of the last real step"
    return [*rows, {"name": "last_value_linear", "words": words} | value_metrics(predicted, asked)]


def _targets(task: Task, batch: Batch) -> tuple[Tensor, Float[Tensor, "rows outputs"]]:
    aligned = task.align(batch)
    assert aligned.scored is not None
    scored = aligned.scored.cpu()
    return scored, aligned.targets.cpu()[scored].double()


def _least_squares(
    features: Float[Tensor, "rows columns"], targets: Float[Tensor, "rows outputs"]
) -> Float[Tensor, "columns_and_one outputs"]:
    columns = _with_one(features)
    gram = columns.T @ columns + RIDGE * len(columns) * torch.eye(columns.shape[1], dtype=torch.float64)
    return torch.linalg.solve(gram, columns.T @ targets)


def _with_one(features: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns_and_one"]:
    return torch.cat([features, features.new_ones(len(features), 1)], dim=1)
