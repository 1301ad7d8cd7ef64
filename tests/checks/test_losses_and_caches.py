"""Losses and steps that the planted faults do not cover: numbers, other types, refusals."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from checks.models import Recurrent
from clew.checks import audit
from clew.errors import AuditError, ShapeError

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
CLASSES = torch.randint(0, 5, (3, 6), generator=torch.Generator().manual_seed(1))
NAMES = ("target_shift", "ignored_targets", "loss_weight")


def verdicts(**more: object) -> dict[str, str]:
    report = audit(Recurrent(), VALUES, **more)
    assert set(report.failures) <= set(NAMES)
    return {name: report[name].status for name in NAMES}


def mean(outputs: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(outputs.flatten(0, 1), targets.flatten())


def test_a_right_loss_passes_everything() -> None:
    assert set(verdicts(loss=mean, targets=CLASSES).values()) == {"passed"}


def test_a_loss_with_weights_of_its_own_number_type_is_judged() -> None:
    weights = torch.ones(5)
    loss = lambda outputs, targets: cross_entropy(outputs.flatten(0, 1), targets.flatten(), weight=weights)  # noqa: E731
    assert set(verdicts(loss=loss, targets=CLASSES).values()) == {"passed"}


def test_real_valued_targets_are_judged_without_an_ignored_value() -> None:
    found = verdicts(loss=mse_loss, targets=torch.randn(3, 6, 5))
    assert found == {"target_shift": "passed", "ignored_targets": "not applicable", "loss_weight": "passed"}


def test_one_target_a_row_is_paired_with_its_row() -> None:
    class Last(Recurrent):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(values)[:, -1]

    targets = torch.tensor([1, 3, 0])
    assert audit(Last(), VALUES, loss=cross_entropy, targets=targets).failures == []
    rolled = lambda outputs, targets: cross_entropy(outputs, targets.roll(1))  # noqa: E731
    assert "target_shift" in audit(Last(), VALUES, loss=rolled, targets=targets).failures


def test_padded_targets_that_count_are_told() -> None:
    valid = torch.arange(6) < torch.tensor([[6], [4], [5]])
    call = lambda model, values, valid: model(values.masked_fill(~valid.unsqueeze(2), 0))  # noqa: E731
    report = audit(Recurrent(), VALUES, valid=valid, call=call, loss=mean, targets=CLASSES)
    assert "ignored_targets" in report.failures
    right = CLASSES.masked_fill(~valid, -100)
    report = audit(Recurrent(), VALUES, valid=valid, call=call, loss=mean, targets=right)
    assert not set(report.failures) & set(NAMES)


def test_targets_and_losses_that_do_not_fit_are_errors() -> None:
    with pytest.raises(ShapeError, match="targets must be one row for each of batch=3"):
        audit(Recurrent(), VALUES, loss=mean, targets=CLASSES[:2])
    with pytest.raises(AuditError, match="the loss must be a tensor of one number"):
        audit(Recurrent(), VALUES, loss=lambda outputs, targets: outputs, targets=CLASSES)
    with pytest.raises(AuditError, match="the loss must be callable"):
        audit(Recurrent(), VALUES, loss=lambda outputs: outputs, targets=CLASSES)


def step(model: nn.Module, new: Tensor, cache: Tensor | None) -> tuple[Tensor, Tensor]:
    return model.recurrent(model.first(new), cache)


def test_a_right_step_passes_at_the_given_length_and_beyond() -> None:
    finding = audit(Recurrent(), VALUES, step=step)["cache"]
    assert finding.status == "passed"
    assert "6 steps in chunks of 1" in finding.reason and "12 steps in chunks of 3" in finding.reason


def test_a_step_that_raises_where_the_full_pass_works_fails() -> None:
    def short(model: nn.Module, new: Tensor, cache: tuple | None) -> tuple:
        start, state = cache or (0, None)
        if start + new.shape[1] > 6:
            raise IndexError("past the table")
        return model.recurrent(model.first(new), state)[0], (start + new.shape[1], None)

    assert audit(Recurrent(), VALUES, step=short).failures == ["cache"]
