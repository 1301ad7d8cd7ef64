"""Outputs and inputs of unusual shape: horizons, matrices for each row, empty rows, one row, one step, lost rows."""

import os
import re

import pytest
import torch
from torch import Tensor, nn

from checks.models import Keyword, Recurrent
from clew.checks import audit, quick_audit
from clew.checks.arguments import require_fit
from clew.checks.examination import Options
from clew.errors import AuditError, ShapeError

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
CAUSAL = torch.ones(6, 6, dtype=torch.bool).tril()


class Horizon(Recurrent):
    """Two outputs a row: the states after steps 3 and 5."""

    def forward(self, values: Tensor) -> Tensor:
        return super().forward(values)[:, [3, 5]]


def test_outputs_of_their_own_axis_are_held_against_their_matrix() -> None:
    assert audit(Horizon(), VALUES, boundary=CAUSAL[[3, 5]]).failures == []
    narrow = CAUSAL[[3, 5]].clone()
    narrow[0, 3] = False
    report = audit(Horizon(), VALUES, boundary=narrow)
    assert report.failures == ["boundary"]
    example = report["boundary"].counterexample
    assert example is not None and (example.changed, example.moved) == (3, 0)


def test_a_matrix_for_each_row_is_read() -> None:
    assert audit(Recurrent(), VALUES, boundary=CAUSAL.expand(3, 6, 6)).failures == []


def test_one_row_and_one_step_are_enough() -> None:
    assert audit(Recurrent(), VALUES[:1]).failures == []
    assert audit(Recurrent(), VALUES[:, :1]).failures == []


def test_rows_without_real_steps_are_left_out_of_the_sample() -> None:
    def call(model: nn.Module, values: Tensor, lengths: list[int]) -> Tensor:
        padding = torch.arange(values.shape[1]) >= torch.tensor(lengths).unsqueeze(1)
        return model(values.masked_fill(padding.unsqueeze(2), 0))

    report = audit(Recurrent(), VALUES, lengths=[6, 0, 3], call=call)
    assert report.failures == [] and report["empty_row"].status == "passed"


def test_a_model_of_fixed_length_is_judged_at_that_length() -> None:
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(24, 24)

        def forward(self, values: Tensor) -> Tensor:
            return self.linear(values.flatten(1)).view_as(values)

    assert audit(Fixed(), VALUES, "full").failures == []
    assert audit(Fixed(), VALUES, "causal").failures == ["future"]


class Attended(nn.Module):
    """Causal attention, written out, with -inf for what is hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, values: Tensor, valid: Tensor) -> Tensor:
        rows = self.linear(values.masked_fill(~valid.unsqueeze(2), 0))
        visible = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool).tril() & valid.unsqueeze(1)
        for _ in range(2):
            rows = rows + (rows @ rows.mT).masked_fill(~visible, -torch.inf).softmax(dim=-1) @ rows
        return rows


def test_a_query_with_nothing_to_read_is_an_empty_row_and_told_once() -> None:
    valid = torch.arange(6) >= torch.tensor([0, 2, 1]).unsqueeze(1)
    assert audit(Attended(), VALUES, valid=valid).failures == ["empty_row"]


def test_a_stateful_model_may_say_so() -> None:
    class Carrying(Recurrent):
        state = None

        def forward(self, values: Tensor) -> Tensor:
            fits = self.state is not None and self.state.shape[1] == len(values)
            out, state = self.recurrent(self.first(values), self.state if fits else None)
            self.state = state.detach()
            return out

    assert audit(Carrying(), VALUES).failures == ["state_carry"]
    assert audit(Carrying(), VALUES, stateful=True).failures == []


def test_a_bag_of_steps_may_say_so() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    bag = lambda model, values, _: model(values).mean(dim=1)  # noqa: E731
    assert audit(model, VALUES, "full", call=bag).failures == ["position"]
    assert audit(model, VALUES, "full", call=bag, ordered=False).failures == []


def sums(values: Tensor, kept: Tensor) -> Tensor:
    """Running sums over the steps that are kept, each step with a weight of its own."""
    weights = torch.arange(1, values.shape[1] + 1, dtype=values.dtype).unsqueeze(1) / 4
    return (values.masked_fill(~kept.unsqueeze(2), 0) * weights).cumsum(dim=1).tanh()


class MaskedInEvaluation(nn.Module):
    def forward(self, values: Tensor, valid: Tensor) -> Tensor:
        return sums(values, valid | self.training).sum(dim=1)


class MaskedWithoutWeights(nn.Module):
    def forward(self, values: Tensor, valid: Tensor, need_weights: bool = False) -> Tensor:
        return sums(values, valid | need_weights).sum(dim=1)


class AmountInTraining(nn.Module):
    def forward(self, values: Tensor, valid: Tensor) -> Tensor:
        rows = sums(values, valid).masked_fill(~valid.unsqueeze(2), 0).sum(dim=1)
        return rows / (values.shape[1] if self.training else valid.sum(dim=1, keepdim=True).clamp(min=1))


VALID = torch.arange(6) < torch.tensor([[6], [4], [5]])


@pytest.mark.parametrize(
    ("model", "name", "setting"),
    [
        (MaskedInEvaluation(), "padding_content", "training"),
        (MaskedWithoutWeights(), "padding_content", "evaluation without gradients, need_weights=True"),
        (AmountInTraining(), "padding_amount", "training without dropout"),
    ],
)
def test_padding_that_counts_in_one_mode_only_is_told_once_with_the_mode(
    model: nn.Module, name: str, setting: str
) -> None:
    report = audit(model, VALUES, "full", valid=VALID)
    assert report.failures == [name]
    assert report[name].setting == setting


def test_a_mask_that_padding_on_the_left_replaces_is_found() -> None:
    class EitherMask(Attended):
        def forward(self, values: Tensor, valid: Tensor) -> Tensor:
            rows = self.linear(values.masked_fill(~valid.unsqueeze(2), 0))
            causal = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool).tril() & valid.unsqueeze(1)
            visible = causal if bool(valid[:, 0].all()) else valid.unsqueeze(1).expand_as(causal)
            visible = visible | torch.eye(rows.shape[1], dtype=torch.bool)
            return rows + (rows @ rows.mT).masked_fill(~visible, -torch.inf).softmax(dim=-1) @ rows

    report = audit(EitherMask(), VALUES, valid=torch.ones(3, 6, dtype=torch.bool))
    assert "future" in report.failures
    assert report["future"].setting == "with padding on the left"


def never_the_same(values: Tensor) -> Tensor:
    return values.cumsum(dim=1) + int.from_bytes(os.urandom(2))


class RaisesAgain(Recurrent):
    def forward(self, values: Tensor) -> Tensor:
        if hasattr(self, "was_called"):
            raise RuntimeError("called twice")
        self.was_called = True
        return super().forward(values)


class WritesIntoInput(Recurrent):
    def forward(self, values: Tensor) -> Tensor:
        return super().forward(values.mul_(2))


@pytest.mark.parametrize(
    ("model", "failures"),
    [(never_the_same, ["determinism"]), (RaisesAgain(), ["state_carry"]), (WritesIntoInput(), ["input_changed"])],
)
def test_a_model_with_bad_manners_fails(model: object, failures: list[str]) -> None:
    assert audit(model, VALUES).failures == failures


class Named(nn.Embedding):
    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids).cumsum(dim=1).tanh()


IDS = torch.randint(0, 9, (3, 6), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("model", "inputs", "more", "text"),
    [
        (Recurrent(), VALUES.to("meta"), {}, "inputs must be dense tensors with values, got a meta tensor"),
        (Recurrent().to("meta"), VALUES, {}, "parameter weight must be filled with values, got a meta tensor"),
        (Recurrent(), VALUES.to_sparse(), {}, "inputs must be dense tensors with values, got torch.sparse_coo"),
        (Recurrent(), VALUES, {"call": lambda model, x, _: model.to("privateuseone")(x)}, "callable on these inputs"),
        (Recurrent(), VALUES[..., None, :].bool(), {}, "inputs must be ids (batch, time) or real values"),
        (
            Recurrent(),
            VALUES.masked_fill(VALUES > 1, torch.nan),
            {},
            "finite at real steps, got NaN or infinity at row",
        ),
        (lambda values: values[..., :0], VALUES, {}, "the output must be of at least one value a row, got (3, 6, 0)"),
        (Named(5, 4), IDS, {}, "the model must be callable on these inputs, got IndexError"),
        (
            Named(9, 4),
            IDS,
            {"vocab": 90},
            "on other ids of the 90 legal ones, got IndexError: index out of range in self",
        ),
        (Named(9, 4), IDS, {"vocab": 4}, "ids must be in [0, vocab=4), got"),
        (Named(9, 4), IDS - 9, {"vocab": 9}, "ids must be in [0, vocab=9), got -"),
        (Recurrent(), VALUES, {"boundary": ~CAUSAL & CAUSAL}, "boundary must be True somewhere, got False everywhere"),
        (Recurrent(), VALUES, {"boundary": CAUSAL[:5]}, "boundary must be of shape (outputs=6, time=6) or"),
        (Recurrent(), VALUES, {"lengths": "abc"}, "lengths must be whole numbers of shape (batch,), got str"),
        (
            Recurrent(),
            VALUES,
            {"outputs": "logits"},
            "outputs must be a name in the model's result, got 'logits'. It is a",
        ),
        (Recurrent(), VALUES, {"outputs": lambda result: result.x}, "outputs must be a function of the model's result"),
        (Recurrent(), VALUES, {"targets": IDS}, "loss and targets must be given together, got targets alone"),
        (Keyword(), {"input_ids": IDS, "attention_mask": IDS[:, :5] * 0 + 1}, {}, "attention_mask must be of shape"),
    ],
)
def test_what_does_not_fit_is_one_line(model: object, inputs: object, more: dict, text: str) -> None:
    for function in (audit, quick_audit):
        with pytest.raises((AuditError, ShapeError)) as told:
            function(model, inputs, **more)
        assert text in str(told.value) and str(told.value).startswith("audit: ")
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("vocab", 9.5, "vocab must be a number of ids, got float"),
        ("pad", "end", "pad must be an id, got str"),
        ("generator", 3, "generator must be a torch.Generator, got int"),
        ("step", 3, "step must be a function, got int"),
        ("call", "call", "call must be a function, got str"),
        ("chosen", 3, "outputs must be a name or a function, got int"),
        ("targets", [1], "targets must be a tensor, got list"),
    ],
)
def test_arguments_of_the_wrong_kind_are_one_line(name: str, value: object, text: str) -> None:
    options = Options()
    given = {"vocab": None, "pad": None, "generator": None}
    if name in given:
        given[name] = value
    else:
        setattr(options, name, value)
    with pytest.raises(AuditError, match=re.escape(text)):
        require_fit(Recurrent(), VALUES, None, given["vocab"], given["pad"], options, given["generator"])


def test_a_quick_audit_tries_what_matters_before_training() -> None:
    report = quick_audit(Recurrent(), VALUES)
    assert report.failures == []
    assert {report[name].status for name in ("determinism", "state_carry", "batch_mates", "future")} == {"passed"}
    for name in ("modes", "gradients", "cache", "position"):
        assert report[name].status == "not applicable"
        assert report[name].reason == "not part of the quick audit"
