"""Losses and steps that the planted faults do not cover: numbers, other types, refusals."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from checks.models import Keyword, Recurrent
from clew.checks import audit, quick_audit
from clew.errors import AuditError, ShapeError

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
CLASSES = torch.randint(0, 5, (3, 6), generator=torch.Generator().manual_seed(1))
NAMES = ("target_shift", "ignored_targets", "loss_weight")


def verdicts(**more: object) -> dict[str, str]:
    report = quick_audit(Recurrent(), VALUES, **more)
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
    report = quick_audit(Recurrent(), VALUES, valid=valid, call=call, loss=mean, targets=CLASSES)
    assert "ignored_targets" in report.failures
    right = CLASSES.masked_fill(~valid, -100)
    report = quick_audit(Recurrent(), VALUES, valid=valid, call=call, loss=mean, targets=right)
    assert not set(report.failures) & set(NAMES)


def test_targets_and_losses_that_do_not_fit_are_errors() -> None:
    with pytest.raises(ShapeError, match="targets must be one row for each of batch=3"):
        audit(Recurrent(), VALUES, loss=mean, targets=CLASSES[:2])
    with pytest.raises(AuditError, match="the loss must be a tensor of one number"):
        audit(Recurrent(), VALUES, loss=lambda outputs, targets: outputs, targets=CLASSES)
    with pytest.raises(AuditError, match="the loss must be callable"):
        audit(Recurrent(), VALUES, loss=lambda outputs: outputs, targets=CLASSES)


def test_a_gradient_that_weighs_parts_otherwise_than_the_loss_is_told() -> None:
    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        right, rows = (
            mean(outputs, targets),
            torch.stack([mean(one[None], t[None]) for one, t in zip(outputs, targets, strict=True)]),
        )
        return rows.mean() + (right - rows.mean()).detach()

    targets = CLASSES.clone()
    targets[0, 1:] = -100
    report = quick_audit(Recurrent(), VALUES, loss=loss, targets=targets)
    assert report.failures == ["loss_weight"]
    assert "its gradient is not" in report["loss_weight"].reason


@pytest.mark.parametrize(("reduce", "words"), [(torch.sum, "it is their sum"), (torch.mean, "whatever their targets")])
def test_what_a_loss_is_instead_of_a_weighted_mean_is_said(reduce: Callable[[Tensor], Tensor], words: str) -> None:
    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        pairs = zip(outputs, targets, strict=True)
        return reduce(torch.stack([cross_entropy(*pair) for pair in pairs]))

    targets = CLASSES.clone()
    targets[0, 1:] = -100
    report = quick_audit(Recurrent(), VALUES, loss=loss, targets=targets)
    assert report.failures == ["loss_weight"]
    assert words in report["loss_weight"].reason


END = 2
SENTENCES = torch.tensor([[3, 4, 5, 1, END, END], [4, 1, 3, 5, 4, END], [5, 3, END, END, END, END]])
REAL = torch.arange(6) < torch.tensor([5, 6, 3]).unsqueeze(1)


def next_ids(ignored: Tensor) -> Tensor:
    """Targets shifted by one; ignored behind the end of a row and where it is said."""
    return torch.cat([SENTENCES[:, 1:].masked_fill(ignored[:, 1:] | ~REAL[:, 1:], -100), torch.full((3, 1), -100)], 1)


@pytest.mark.parametrize("is_shifted", [True, False])
def test_an_end_that_is_ignored_because_it_is_the_id_of_padding_is_told(is_shifted: bool) -> None:
    inputs = {"input_ids": SENTENCES, "attention_mask": REAL.long()}
    loss = mean if is_shifted else lambda outputs, targets: mean(outputs[:, :-1], targets[:, 1:])
    right, wrong = next_ids(torch.zeros_like(REAL)), next_ids(SENTENCES == END)
    if not is_shifted:
        right, wrong = SENTENCES.masked_fill(~REAL, -100), SENTENCES.masked_fill(SENTENCES == END, -100)
    assert not set(quick_audit(Keyword(), inputs, loss=loss, targets=right).failures) & set(NAMES)
    report = quick_audit(Keyword(), inputs, loss=loss, targets=wrong)
    assert set(report.failures) & set(NAMES) == {"ignored_targets"}
    assert "id 2 stands in padding and is a real step too" in report["ignored_targets"].reason


def test_the_id_of_padding_as_the_target_of_a_last_step_may_count_or_not() -> None:
    ids = SENTENCES.masked_fill(~REAL, 0)
    shifted = torch.cat([ids[:, 1:], torch.zeros(3, 1, dtype=torch.long)], dim=1)
    ignoring = lambda outputs, targets: cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=0)  # noqa: E731
    inputs = {"input_ids": ids, "attention_mask": REAL.long()}
    assert quick_audit(Keyword(), inputs, loss=ignoring, targets=shifted)["target_shift"].status == "passed"
    assert (
        "does not count" not in quick_audit(Keyword(), inputs, loss=ignoring, targets=shifted)["ignored_targets"].reason
    )


def test_tags_that_are_numbered_like_ids_are_not_taken_for_shifted_inputs() -> None:
    ids = SENTENCES.masked_fill(~REAL, 0)
    tags = (ids * 3 + 1) % 4
    last = REAL & ~torch.cat([REAL[:, 1:], torch.zeros(3, 1, dtype=torch.bool)], dim=1)
    tags = tags.masked_fill(last, 0).masked_fill(~REAL, -100)  # the tag of each last step is the id of padding
    inputs = {"input_ids": ids, "attention_mask": REAL.long()}
    assert not set(quick_audit(Keyword(), inputs, loss=mean, targets=tags).failures) & set(NAMES)


def test_a_batch_without_any_target_is_no_pass() -> None:
    found = verdicts(loss=mean, targets=torch.full((3, 6), -100))
    assert set(found.values()) == {"not applicable"}
    remark = quick_audit(Recurrent(), VALUES, loss=mean, targets=CLASSES)["ignored_targets"].remarks
    assert remark == ("the loss of a batch without any target is nan",)


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
