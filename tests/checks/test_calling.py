"""How models are called, what is left alone, and what is said when something does not fit."""

import copy

import numpy
import pytest
import torch
from torch import Tensor, nn

from checks.models import Keyword, Recurrent
from clew.checks import audit, quick_audit
from clew.errors import AuditError, ShapeError

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
IDS = torch.randint(0, 9, (3, 6), generator=torch.Generator().manual_seed(1))
MASK = (torch.arange(6) < torch.tensor([[6], [4], [5]])).long()


def test_a_dict_with_mask_and_labels_is_read() -> None:
    inputs = {"input_ids": IDS, "attention_mask": MASK, "labels": IDS}
    report = audit(Keyword(), inputs)
    assert report.failures == ["padding_side"] or report.failures == []
    assert report["padding_content"].status == "passed"
    assert torch.equal(inputs["attention_mask"], MASK)


def test_outputs_can_be_named_or_made() -> None:
    inputs = {"input_ids": IDS, "attention_mask": torch.ones_like(MASK)}
    model = Keyword()
    assert audit(model, inputs, outputs="logits").influence.shape == (6, 6)
    assert audit(model, inputs, outputs=lambda result: result["logits"].sum(dim=1)).influence.shape == (1, 6)
    with pytest.raises(AuditError, match="Did you mean 'logits'"):
        audit(model, inputs, outputs="logit")


def test_call_gets_the_lengths_as_they_were_given() -> None:
    seen = []

    def call(model: nn.Module, inputs: Tensor, lengths: list[int]) -> Tensor:
        seen.append(lengths)
        padding = torch.arange(inputs.shape[1]) >= torch.tensor(lengths).unsqueeze(1)
        return model(inputs.masked_fill(padding.unsqueeze(2), 0))

    report = audit(Recurrent(), VALUES, lengths=[6, 4, 5], call=call)
    assert report.failures == []
    assert seen[0] == [6, 4, 5] and all(isinstance(lengths, list) for lengths in seen)


def test_an_axis_of_classes_as_long_as_time_is_no_time_axis() -> None:
    class Classifier(Recurrent):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(values)[:, -1]

    values = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1))
    assert audit(Classifier(), values).influence.shape == (1, 5)


def test_everything_is_left_as_it_was_found() -> None:
    model = Recurrent()
    model.recurrent.eval()
    model.register_buffer("count", torch.zeros(2))
    model(VALUES).sum().backward()
    before = copy.deepcopy(model.state_dict())
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    values = {name: gradient.clone() for name, gradient in gradients.items() if gradient is not None}
    torch.manual_seed(5)
    numpy.random.seed(5)
    # Python's own generator is put back too, but the checks of types in tests draw from it.
    states = torch.get_rng_state(), numpy.random.get_state()[1].copy()
    inputs = VALUES.clone()
    audit(model, inputs)
    assert torch.equal(inputs, VALUES)
    assert model.training and not model.recurrent.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    for name, parameter in model.named_parameters():
        assert parameter.grad is gradients[name] and torch.equal(parameter.grad, values[name])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (numpy.random.get_state()[1] == states[1]).all()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_plain_function_that_holds_a_module_leaves_it_alone() -> None:
    model = Recurrent()
    assert audit(lambda values: model(values), VALUES).failures == []
    assert model.training and all(parameter.grad is None for parameter in model.parameters())


def test_equal_generators_give_equal_reports() -> None:
    first, second = (audit(Recurrent(), VALUES, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert [one.status for one in first.findings] == [one.status for one in second.findings]


class Raising(nn.Module):
    def forward(self, values: Tensor) -> Tensor:
        raise RuntimeError("no device")


@pytest.mark.parametrize(
    ("model", "inputs", "more", "text"),
    [
        (Raising(), VALUES, {}, "audit: the model must be callable on these inputs, got RuntimeError: no device"),
        (lambda values: "text", VALUES, {}, "audit: the model's result must be or hold a tensor, got str"),
        (lambda values: values.sum(), VALUES, {}, "audit: the output must be of shape (batch, ...)"),
        (lambda values: values * torch.nan, VALUES, {}, "audit: the outputs must be finite at real steps"),
        (lambda values: values[:2], VALUES, {}, "audit: the output must be of shape (batch=3, ...)"),
        (3, VALUES, {}, "audit: model must be a torch module or another callable, got int"),
        (Recurrent(), [1, 2], {}, "audit: inputs must be a tensor, or a dict of keyword tensors, got list"),
        (Recurrent(), IDS[0], {}, "audit: inputs must be ids (batch, time) or real values (batch, time, features)"),
        (Recurrent(), VALUES[:0], {}, "audit: inputs must be of at least one row and one step"),
        (Recurrent(), VALUES * torch.nan, {}, "audit: inputs must be finite at real steps"),
        (Recurrent(), VALUES, {"boundary": "casual"}, "Did you mean 'causal'?"),
        (Recurrent(), VALUES, {"boundary": torch.ones(2, 2).bool()}, "audit: boundary must be of shape (outputs=6,"),
        (Recurrent(), VALUES, {"boundary": torch.ones(6, 6)}, "True means may read"),
        (nn.Embedding(9, 4), IDS, {"vocab": 5}, "audit: ids must be in [0, vocab=5), got"),
        (nn.Embedding(9, 4), IDS * 0, {}, "Say how many ids are legal with vocab="),
    ],
)
def test_what_cannot_be_audited_is_one_clear_error(model: object, inputs: object, more: dict, text: str) -> None:
    with pytest.raises(AuditError) as told:
        audit(model, inputs, **more)
    assert text in str(told.value)
    assert "\n" not in str(told.value)


def test_two_words_for_padding_are_refused() -> None:
    with pytest.raises(ShapeError, match="at most one of lengths= and valid="):
        audit(Recurrent(), VALUES, lengths=[6, 4, 5], valid=MASK.bool())


def test_a_model_without_parameters_is_judged() -> None:
    report = audit(lambda values: values.flip(1).cumsum(dim=1), VALUES, ordered=False)
    assert report.failures == ["future"]
    assert report["gradients"].status == "not applicable"


def test_what_was_never_touched_is_not_applicable() -> None:
    report = audit(nn.GRU(4, 4, batch_first=True), VALUES, boundary="full")
    assert report["future"].status == report["boundary"].status == "not applicable"
    assert report["padding_content"].status == report["cache"].status == "not applicable"
    assert report.power.was_seen is None
    constant = audit(lambda values: torch.ones(len(values), values.shape[1], 2), VALUES)
    assert {"future", "determinism", "batch_mates", "batch_order"} <= {
        finding.name for finding in constant.findings if finding.status == "not applicable"
    }


@pytest.mark.parametrize(("width", "seen"), [(4, 1), (2048, 2)])
def test_small_work_takes_one_thread_and_the_number_is_put_back(width: int, seen: int) -> None:
    counts: set[int] = set()

    def call(model: nn.Module, values: Tensor, _: None) -> Tensor:
        counts.add(torch.get_num_threads())
        return model(values)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        quick_audit(nn.Linear(4, width), torch.randn(4, 1024, 4), "full", call=call, ordered=False)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert counts == {seen}
