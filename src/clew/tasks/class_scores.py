"""Loss and metrics of predictions among classes; `Classification` and `Tagging` score their targets with these.

One row is one scored target: a sequence, or a step. A target of `UNSCORED` (-1) does not count; one of `UNSEEN` (-2)
stands for a class that training never saw: no answer is right, it counts as an error and has no loss.
Probabilities are float64, so that the figures of different batch sizes differ by rounding only.
"""

from collections.abc import Sequence
from math import isfinite

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from clew.data.sequence_data import UNSCORED, UNSEEN
from clew.errors import ConfigError, DataError, complain

CALIBRATION_BINS = 15
BORDER_SLACK = 1e-9  # a confidence of 1/3 belongs to one bin, however it was rounded


def weighted_cross_entropy(
    where: str,
    logits: Float[Tensor, "targets classes"],
    targets: Int[Tensor, " targets"],
    class_weights: Sequence[float] | None,
) -> Float[Tensor, ""]:
    """Mean cross-entropy in nats; with class weights the weighted mean.

        loss = sum_i w[y_i] (-log p_i[y_i]) / sum_i w[y_i]

    Raises:
        DataError: If there is no target, or one is no class.
    """
    if len(targets) == 0:
        raise DataError(complain(where, "scored targets of a batch", "at least 1", "none"))
    check_classes(where, targets, logits.shape[-1], least=0)
    weight = None if class_weights is None else torch.tensor(class_weights, dtype=logits.dtype, device=logits.device)
    return cross_entropy(logits, targets.long(), weight=weight)


def weight_sum(targets: Int[Tensor, " targets"], class_weights: Sequence[float] | None) -> float:
    """Give the divisor of `weighted_cross_entropy`."""
    if class_weights is None:
        return float(len(targets))
    return float(torch.tensor(class_weights, dtype=torch.float64)[targets.long().cpu()].sum())


def check_classes(where: str, targets: Int[Tensor, "*targets"], classes: int, least: int = UNSEEN) -> None:
    """See that every target is a class (or, by default, -1 or -2).

    Raises:
        DataError: If one is not.
    """
    if targets.numel() and (int(targets.min()) < least or int(targets.max()) >= classes):
        wrong = int(targets[(targets < least) | (targets >= classes)][0])
        remedy = "It is a class that training never saw." if wrong == UNSEEN else "Check the labels."
        raise DataError(complain(where, "targets", f"in [0, classes={classes})", wrong, remedy))


def check_weights(where: str, class_weights: Sequence[float] | None, classes: int) -> tuple[float, ...] | None:
    """See that class weights are one finite number of at least 0 a class, not all 0.

    Raises:
        ConfigError: If they are not.
    """
    if class_weights is None:
        return None
    weights = tuple(float(weight) for weight in class_weights)
    if len(weights) != classes or not all(isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        rule = f"classes={classes} finite numbers of at least 0, not all 0"
        raise ConfigError(complain(where, "class_weights", rule, list(weights)))
    return weights


def balanced_weights(targets: Int[Tensor, "*targets"], classes: int) -> tuple[float, ...]:
    """Weigh classes so that each that occurs counts alike: targets / (classes that occur * targets of the class).

    A class that does not occur gets 1; targets of -1 are left out.

    >>> balanced_weights(torch.tensor([0, 0, 0, 1]), 3)
    (0.6666666666666666, 2.0, 1.0)
    """
    counts = torch.bincount(targets[targets >= 0].long().flatten(), minlength=classes).tolist()
    present = sum(count > 0 for count in counts)
    return tuple(sum(counts) / (present * count) if count else 1.0 for count in counts)


def class_metrics(
    log_probabilities: Float[Tensor, "targets classes"], targets: Int[Tensor, " targets"]
) -> dict[str, float]:
    """Compute loss, accuracy, macro F1 and calibration error of scored targets; the loss is never weighted."""
    predicted = predicted_classes(log_probabilities)
    return {
        "loss_nats": mean_loss(log_probabilities, targets),
        "accuracy": (predicted == targets).double().mean().item(),
        "macro_f1": macro_f1(confusion_counts(predicted, targets, log_probabilities.shape[1])),
        "calibration_error": calibration_error(log_probabilities.exp(), targets),
    }


def predicted_classes(log_probabilities: Float[Tensor, "*targets classes"]) -> Int[Tensor, "*targets"]:
    """Give the most probable class, the first of equals; a row with NaN predicts nothing, -1."""
    return torch.where(log_probabilities.isnan().any(dim=-1), UNSCORED, log_probabilities.argmax(dim=-1))


def mean_loss(log_probabilities: Float[Tensor, "targets classes"], targets: Int[Tensor, " targets"]) -> float:
    """Mean of -log p of the target over all targets whose class is known; NaN where none is."""
    known = targets >= 0
    return -log_probabilities[known].gather(1, targets[known].long().unsqueeze(1)).mean().item()


def confusion_counts(
    predicted: Int[Tensor, " targets"], targets: Int[Tensor, " targets"], classes: int
) -> Int[Tensor, "true_classes predicted_classes"]:
    """Count targets by true class (row) and predicted class (column).

    The row and the column after the classes hold targets of an unseen class, and rows without a prediction.
    """
    true = torch.where(targets < 0, classes, targets.long())
    answers = torch.where(predicted < 0, classes, predicted.long())
    return torch.bincount(true * (classes + 1) + answers, minlength=(classes + 1) ** 2).reshape(
        classes + 1, classes + 1
    )


def macro_f1(confusion: Int[Tensor, "true_classes predicted_classes"]) -> float:
    """Mean over the classes of F1 = 2 hits / (times true + times predicted).

    A class that is true or predicted somewhere but never hit has F1 0; one that is neither is left out, as
    scikit-learn's f1_score(average="macro", zero_division=0) does.
    """
    hits = confusion.diagonal()[:-1].double()
    total = (confusion.sum(dim=0) + confusion.sum(dim=1))[:-1].double()
    present = total > 0
    return (2 * hits[present] / total[present]).mean().item()


def calibration_error(
    probabilities: Float[Tensor, "targets classes"], targets: Int[Tensor, " targets"], bins: int = CALIBRATION_BINS
) -> float:
    """Expected calibration error: the mean of |accuracy - confidence| over bins, weighted by their targets.

    The confidence is the largest probability; bins are of equal width and hold their upper border.

    Source:
        Guo et al. 2017, arXiv:1706.04599, equation 3.
    """
    confidence, predicted = probabilities.max(dim=1)
    place = (confidence * bins - BORDER_SLACK).ceil().clamp(1, bins).nan_to_num(1).long() - 1
    gaps = torch.zeros(bins, dtype=torch.float64).index_add_(0, place, (predicted == targets).double() - confidence)
    return gaps.abs().sum().item() / len(targets)


def scored_classes(targets: Int[Tensor, "*targets"]) -> Bool[Tensor, "*targets"]:
    """Say which targets count: all but -1."""
    return targets != UNSCORED
