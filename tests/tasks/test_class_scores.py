import numpy as np
import pytest
import torch

from clew.errors import ConfigError, DataError
from clew.tasks import balanced_weights
from clew.tasks.class_scores import (
    calibration_error,
    check_weights,
    class_metrics,
    confusion_counts,
    macro_f1,
    predicted_classes,
    weight_sum,
    weighted_cross_entropy,
)
from reference import class_metrics as twin


def drawn(count: int = 200, classes: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(count, classes, generator=generator, dtype=torch.float64)
    logits[:, 3] -= 20  # never predicted
    return logits.log_softmax(dim=1), torch.randint(0, classes - 1, (count,), generator=generator)  # 4 is never true


def test_metrics_equal_those_of_numpy_twins() -> None:
    log_probabilities, targets = drawn()
    probabilities, true = log_probabilities.exp().numpy(), targets.tolist()
    figures = class_metrics(log_probabilities, targets)
    assert figures["loss_nats"] == pytest.approx(twin.cross_entropy(probabilities, true), abs=1e-12)
    assert figures["accuracy"] == pytest.approx(twin.accuracy(probabilities, true), abs=1e-12)
    assert figures["macro_f1"] == pytest.approx(twin.macro_f1(probabilities, true), abs=1e-12)
    assert figures["calibration_error"] == pytest.approx(twin.calibration_error(probabilities, true), abs=1e-12)
    counts = confusion_counts(predicted_classes(log_probabilities), targets, 5)
    assert counts[:5, :5].tolist() == twin.confusion(probabilities, true, 5)
    assert counts.sum() == 200 and counts[5].sum() == counts[:, 5].sum() == 0


def test_a_class_that_is_neither_true_nor_predicted_is_left_out_of_macro_f1() -> None:
    targets = torch.tensor([0, 0, 1, 1])
    answers = torch.tensor([0, 0, 1, 0])
    expected = (0.8 + 2 / 3) / 2  # by hand: 2*2/(2+3) and 2*1/(2+1)
    assert macro_f1(confusion_counts(answers, targets, 2)) == pytest.approx(expected)
    assert macro_f1(confusion_counts(answers, targets, 7)) == pytest.approx(expected)
    assert macro_f1(confusion_counts(torch.tensor([0, 0, 1, 2]), targets, 3)) == pytest.approx((1 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize("shift", [0.0, 1e-16, -1e-16])
def test_a_confidence_at_the_border_of_a_bin_is_the_same_however_it_is_rounded(shift: float) -> None:
    probabilities = torch.full((6, 3), 1 / 3, dtype=torch.float64)
    probabilities[::2] += shift
    targets = torch.tensor([0, 0, 0, 1, 1, 2])
    assert calibration_error(probabilities, targets) == pytest.approx(0.5 - 1 / 3)


def test_class_weights_make_the_loss_a_weighted_mean() -> None:
    log_probabilities, targets = drawn()
    weights = [0.5, 2.0, 1.0, 3.0, 0.0]
    loss = weighted_cross_entropy("here", log_probabilities, targets, weights)
    expected = twin.cross_entropy(log_probabilities.exp().numpy(), targets.tolist(), weights)
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    assert weight_sum(targets, weights) == pytest.approx(sum(weights[target] for target in targets.tolist()))
    assert weight_sum(targets, None) == 200


def test_balanced_weights_give_each_class_the_same_share() -> None:
    targets = torch.tensor([0, 0, 0, 1, 2, 2, -1])
    weights = balanced_weights(targets, 4)
    counts = [3, 1, 2]
    assert np.ptp([weight * count for weight, count in zip(weights, counts, strict=False)]) < 1e-12
    assert sum(weight * count for weight, count in zip(weights, counts, strict=False)) == pytest.approx(6)
    assert weights[3] == 1.0


def test_an_unseen_class_is_an_error_of_the_model_and_has_no_loss() -> None:
    log_probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8]], dtype=torch.float64).log()
    figures = class_metrics(log_probabilities, torch.tensor([0, -2]))
    assert figures["accuracy"] == 0.5
    assert figures["loss_nats"] == pytest.approx(-np.log(0.9))
    assert figures["macro_f1"] == pytest.approx(0.5)
    assert confusion_counts(torch.tensor([0, 1]), torch.tensor([0, -2]), 2).tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
    ]
    with pytest.raises(DataError, match=r"targets must be in \[0, classes=2\), got -2. It is a class that training"):
        weighted_cross_entropy("here", log_probabilities, torch.tensor([0, -2]), None)


def test_nan_is_no_answer() -> None:
    log_probabilities = torch.tensor([[float("nan"), 0.0], [0.0, -50.0]], dtype=torch.float64)
    assert predicted_classes(log_probabilities).tolist() == [-1, 0]


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, float("nan")]])
def test_wrong_class_weights_are_an_error(weights: list[float]) -> None:
    with pytest.raises(ConfigError, match="class_weights must be classes=2 finite numbers"):
        check_weights("here", weights, 2)
