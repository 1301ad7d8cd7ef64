"""Simple predictors of a sequence's class, fitted on the training part and scored on the test part.

Two of them are linear and know nothing of how steps follow each other: one reads the mean of each feature, to which the
order of the steps means nothing at all, one every value at its fixed place. A model that does not beat them has shown
no use of order; `clew.tasks.order_control` asks the model itself.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clew.errors import DataError, complain
from clew.tasks.class_scores import class_metrics, confusion_counts, macro_f1
from clew.tasks.flat_features import flat_features
from clew.tasks.linear_classifier import fit_linear_classifier, linear_logits
from clew.tasks.sequences import Sequences, whole

NEIGHBOURS_AT_ONCE = 256


def class_references(classes: int, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
    """Score majority, nearest neighbour and the two linear models.

    Returns:
        Rows with `name`, `words` and the metrics of classification; None where a predictor gives no probabilities, or
        where flattened values would not fit into memory.

    Raises:
        DataError: If there is no scored target to learn from or to score.
    """
    train_rows, train_targets = _targets(train, least=0)
    test_rows, test_targets = _targets(test, least=-2)
    if not len(train_targets) or not len(test_targets):
        raise DataError(complain("Classification.references", "scored targets", "at least 1 in each part", "none"))
    features = flat_features(train, test)
    rows = [_majority(classes, train_targets, test_targets)]
    words = "takes the class of the nearest training sequence, Euclidean, over standardized values at their places"
    answers = None
    if features.train_values is not None and features.test_values is not None:
        places = nearest(features.train_values[train_rows], features.test_values[test_rows])
        answers = train_targets[places]
    rows.append(_answered("nearest_neighbour", words, answers, test_targets, classes))
    means = "linear in the mean of each feature over the steps: blind to all order"
    values = "linear in every value at its place: knows places, but not how steps follow each other"
    for name, words, learnt, seen in (
        ("linear_on_means", means, features.train_means, features.test_means),
        ("linear_on_values", values, features.train_values, features.test_values),
    ):
        if learnt is None or seen is None:
            rows.append({"name": name, "words": words} | dict.fromkeys(_METRICS))
            continue
        weights = fit_linear_classifier(learnt[train_rows], train_targets, classes)
        rows.append(_scored(name, words, linear_logits(weights, seen[test_rows]).log_softmax(dim=1), test_targets))
    return rows


_METRICS = ("loss_nats", "accuracy", "macro_f1", "calibration_error")


def nearest(known: Float[Tensor, "known columns"], asked: Float[Tensor, "asked columns"]) -> Int[Tensor, " asked"]:
    """Find the nearest known row of each asked one, the first of equals."""
    parts = asked.split(NEIGHBOURS_AT_ONCE)
    return torch.cat(
        [torch.cdist(part, known, compute_mode="donot_use_mm_for_euclid_dist").argmin(1) for part in parts]
    )


def class_shares(targets: Int[Tensor, " targets"], classes: int) -> Float[Tensor, " classes"]:
    """Estimate how often each class occurs: (count + 1) / (targets + classes), so that none is impossible."""
    counts = torch.bincount(targets.long(), minlength=classes).double() + 1
    return counts / counts.sum()


def _majority(classes: int, train: Int[Tensor, " train"], test: Int[Tensor, " test"]) -> dict[str, Any]:
    shares = class_shares(train, classes)
    words = "always gives the most frequent class of training; its probabilities are (count + 1) / (targets + classes)"
    return _scored("majority", words, shares.log().expand(len(test), -1), test)


def _targets(data: Sequences, least: int) -> tuple[Int[Tensor, " rows"], Int[Tensor, " rows"]]:
    """Give the numbers of the sequences that count, and their classes."""
    targets = whole(data).targets
    if targets is None:
        raise DataError(complain("Classification.references", "targets", "given", "none"))
    rows = ((targets >= least) & (targets != -1)).nonzero().squeeze(1).cpu()
    return rows, targets.cpu()[rows]


def _scored(
    name: str, words: str, log_probabilities: Float[Tensor, "test classes"], targets: Int[Tensor, " test"]
) -> dict[str, Any]:
    return {"name": name, "words": words} | class_metrics(log_probabilities, targets)


def _answered(
    name: str, words: str, answers: Int[Tensor, " test"] | None, targets: Int[Tensor, " test"], classes: int
) -> dict[str, Any]:
    row = {"name": name, "words": words} | dict.fromkeys(_METRICS)
    if answers is None:
        return row
    confusion = confusion_counts(answers, targets, classes)
    return row | {"accuracy": (answers == targets).double().mean().item(), "macro_f1": macro_f1(confusion)}
