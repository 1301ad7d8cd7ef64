"""Recording changes nothing, in every way in which a model is called and trained, and raises no false alarm."""

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import clew
from clew.data import Batch
from clew.errors import LedgerError
from clew.layers import BidirectionalLayer, Embedding, GRULayer, LSTMLayer
from clew.layers.dropout import Dropout
from clew.layers.recurrent import KERNELS
from clew.ledger import Ledger, recording
from clew.models import BertModel, RecurrentEncoder, build
from clew.tasks import NextToken
from ledger.cases import assert_equal, valid_steps
from ledger.explicit_cells import gradient

VOCAB, TIME = 7, 6
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("rnn", {}),
    ("gru", {"layers": 2, "bidirectional": True, "dropout": 0.3}),
    ("lstm", {"layers": 2, "bidirectional": True}),
    ("lstm", {"head": "mean"}),
    ("transformer", {"heads": 2, "causal": True, "dropout": 0.2}),
    ("transformer", {"heads": 2, "norm": "post", "positions": "sinusoidal", "head": "last"}),
    ("transformer", {"heads": 2, "head": "class_token"}),
]


def tokens(seed: int = 0) -> Tensor:
    return torch.randint(0, VOCAB, (3, TIME), generator=torch.Generator().manual_seed(seed))


def model_of(preset: str, options: dict[str, Any] | None = None, **more: Any) -> nn.Module:
    sizes: dict[str, Any] = {"vocab": VOCAB, "outputs": VOCAB, "hidden": 6}
    return build(preset, **(sizes | (options or {}) | more))


def train_once(model: nn.Module, inputs: Tensor, valid: Tensor | None) -> list[Tensor]:
    """Give outputs, loss and gradients of a loss that reads logits and rows, with dropout drawn anew."""
    for layer in model.modules():
        if isinstance(layer, Dropout):
            layer.generator.manual_seed(5)
    model.zero_grad()
    out = model(inputs, valid=valid)
    loss = out.logits.square().sum() + out.rows.sin().sum()
    loss.backward()
    return [out.logits, out.rows, loss, *(gradient(weight).clone() for weight in model.parameters())]


@pytest.mark.parametrize("padding", ["left", "empty row"])
@pytest.mark.parametrize(("preset", "options"), MODELS)
def test_recording_changes_no_bit(preset: str, options: dict[str, Any], padding: str) -> None:
    model = model_of(preset, options)
    valid = None if padding == "none" else valid_steps(padding, 3, TIME)
    plain = train_once(model, tokens(), valid)
    with clew.record(model) as ledger:
        recorded = train_once(model, tokens(), valid)
    assert all(torch.equal(one, other) for one, other in zip(plain, recorded, strict=True))
    assert all(distance.is_rounding for distance in ledger.distances)
    for quantity in ledger.quantities():
        if quantity.has_sensitivity and quantity.terms:
            total = torch.stack(list(quantity.terms.values())).sum(0)
            torch.testing.assert_close(total, quantity.sensitivity, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [GRULayer, LSTMLayer])
def test_recording_changes_no_bit_of_any_kernel(kind: type[GRULayer], kernel: str, dtype: torch.dtype) -> None:
    layer = kind(3, 4).to(dtype)
    inputs = torch.randn(3, TIME, 3, generator=torch.Generator().manual_seed(0), dtype=dtype)

    def run() -> list[Tensor]:
        layer.zero_grad()
        read = inputs.clone().requires_grad_()
        rows, final = layer(read, valid_steps("gaps", 3, TIME), kernel=kernel)
        (rows.square().sum() + final[-1].sum()).backward()
        return [rows, *final, *(gradient(tensor) for tensor in (read, *layer.parameters()))]

    plain = run()
    with clew.record(layer):
        recorded = run()
    assert all(torch.equal(one, other) for one, other in zip(plain, recorded, strict=True))


def test_names_are_those_of_the_roles() -> None:
    with clew.record(model_of("lstm", {"layers": 2})) as ledger:
        NextToken(VOCAB).loss(model_of("lstm"), Batch(tokens(), None))
    assert ledger.names() == []
    model = model_of("transformer", {"heads": 2})
    with clew.record(model) as ledger:
        NextToken(VOCAB).loss(model, Batch(tokens(), valid_steps("right", 3, TIME)))
    names = ledger.names()
    assert names[:3] == ["inputs.embedding.ids", "inputs.embedding.output", "inputs.output"]
    assert names[-4:] == ["loss.logits", "loss.probabilities", "loss.per_position", "loss.loss"]
    norms = ledger["*.final_norm.*"]
    assert isinstance(norms, Ledger)
    assert [name.rsplit(".")[-1] for name in norms] == ["mean", "variance", "normalized", "output"]
    assert len(norms) == 4
    assert "encoder.final_norm.mean" in norms
    assert "loss.loss" not in norms


def test_a_layer_alone_has_the_names_of_its_quantities() -> None:
    with clew.record(GRULayer(2, 3)) as ledger:
        pass
    assert ledger.names() == []
    layer = BidirectionalLayer(GRULayer(2, 3), GRULayer(2, 3))
    with clew.record(layer) as ledger:
        layer(torch.zeros(2, 4, 2), valid_steps("left", 2, 4).logical_or(torch.tensor([False, True, True, True])))
    assert ledger.names()[0] == "forward_layer.reset_gate"
    assert ledger.names()[-1] == "output"


def test_several_calls_are_passes_and_their_gradients_add_up() -> None:
    model = model_of("gru")
    with clew.record(model) as ledger:
        first, second = model(tokens()).logits, model(tokens(1), valid=valid_steps("left", 3, TIME)).logits
        (first.square().sum() + second.sum()).backward()
    assert len(ledger.passes) == 2
    name = "encoder.recurrent.0.weight_hh"
    parts = [one.contributions(name).value.sum(0) for one in ledger.passes]
    torch.testing.assert_close(parts[0] + parts[1], model.get_parameter(name).grad)
    assert torch.equal(ledger.quantity("inputs.embedding.ids").value, tokens(1) * valid_steps("left", 3, TIME))


def test_a_second_backward_pass_adds_to_what_was_read_before() -> None:
    model = model_of("lstm").double()
    with clew.record(model) as ledger:
        logits = model(tokens()).logits
        logits.sum().backward(retain_graph=True)
        once = ledger.quantity("encoder.recurrent.0.cell").sensitivity.clone()
        (2 * logits.sum()).backward()
    assert_equal(ledger.quantity("encoder.recurrent.0.cell").sensitivity, 3 * once)


def test_sensitivities_are_verified_when_backward_runs_after_the_block() -> None:
    model = model_of("gru")
    with clew.record(model) as ledger:
        loss = model(tokens()).logits.sum()
    quantity = ledger.quantity("encoder.recurrent.0.update_gate")
    with pytest.raises(LedgerError, match=r"Call loss.backward\(\) first"):
        _ = quantity.sensitivity
    assert not quantity.has_sensitivity
    loss.backward()
    assert quantity.sensitivity.abs().max() > 0
    assert {distance.what for distance in ledger.verify().distances} == {"value", "sensitivity", "gradient"}


def test_a_step_of_the_optimizer_changes_nothing_that_the_ledger_says() -> None:
    model = model_of("transformer", {"heads": 2})
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with clew.record(model) as ledger:
        logits = model(tokens()).logits
        logits.square().sum().backward()
        optimizer.step()
    assert torch.equal(ledger.quantity("head.linear.output").value, logits.detach())
    name = "encoder.blocks.0.mlp.hidden_map.weight"
    gradient = model.get_parameter(name).grad
    torch.testing.assert_close(ledger.contributions(name).value.sum(0), gradient, rtol=1e-4, atol=1e-4)


def test_what_a_loss_of_ones_own_reads_is_no_alarm() -> None:
    model = model_of("transformer", {"heads": 2}).double()
    with clew.record(model) as ledger:
        out = model(tokens())
        penalty = sum(weight.square().sum() for weight in model.parameters())
        (out.logits.sum() + 3 * out.rows.sum() + penalty).backward()
    terms = ledger.quantity("encoder.final_norm.output").terms
    assert list(terms) == ["head.linear (rows)", "outside the model"]
    assert_equal(terms["outside the model"], torch.full_like(out.rows, 3.0))


def test_two_models_and_a_model_within_a_record_of_itself() -> None:
    one, other = model_of("gru"), model_of("rnn")
    batch = Batch(tokens(), None)
    with clew.record(one) as first, clew.record(other) as second, clew.record(one) as third:
        loss = NextToken(VOCAB).loss(one, batch)
        (loss + NextToken(VOCAB).loss(other, batch)).backward()
    assert torch.equal(first.quantity("loss.loss").value, loss.detach())
    assert not torch.equal(second.quantity("loss.loss").value, loss.detach())
    assert first.names() == third.names() != second.names()
    name = "encoder.recurrent.0.state"
    assert torch.equal(first.quantity(name).sensitivity, third.quantity(name).sensitivity)
    assert not recording.is_on()


def test_a_layer_that_runs_twice_in_a_call_is_numbered() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.layer = Embedding(VOCAB, 4), GRULayer(4, 4)

        def forward(self, ids: Tensor) -> Tensor:
            return self.layer(self.layer(self.table(ids))[0])[0]

    model = Twice().double()
    with clew.record(model) as ledger:
        model(tokens()).square().sum().backward()
    assert {"layer.state", "layer#2.state"} <= set(ledger.names())
    found = ledger.contributions("layer.weight_hh")
    assert found.shape == (2 * TIME, 12, 4)
    assert_equal(found.value.sum(0), gradient(model.layer.weight_hh))
    assert ledger.jacobian("layer#2", 1, 2).shape == (4, 4)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_there_are_values_and_a_clear_refusal(mode: Any) -> None:
    model = model_of("lstm")
    with clew.record(model) as ledger, mode():
        out = model(tokens(), valid=valid_steps("gaps", 3, TIME))
    assert torch.equal(ledger.quantity("head.linear.output").value, out.logits)
    with pytest.raises(LedgerError, match="none, as it was computed without gradients"):
        _ = ledger.quantity("head.linear.output").sensitivity
    with pytest.raises(LedgerError, match="none for whole numbers"):
        _ = ledger.quantity("inputs.embedding.ids").sensitivity
    assert ledger.jacobian("encoder.recurrent.0", 2, 2).shape == (12, 12)


def test_frozen_weights_have_sensitivities_above_them_only() -> None:
    model = model_of("gru")
    model.get_submodule("inputs").requires_grad_(False)
    model.get_submodule("head").requires_grad_(False)
    with clew.record(model) as ledger:
        model(tokens()).logits.sum().backward()
    assert ledger.quantity("head.linear.output").has_sensitivity
    assert ledger.quantity("encoder.recurrent.0.candidate").has_sensitivity
    assert not ledger.quantity("inputs.embedding.output").has_sensitivity


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
@pytest.mark.parametrize("preset", ["gru", "lstm", "transformer"])
def test_numbers_that_are_not_finite_are_recorded_as_they_are(preset: str, broken: float) -> None:
    model = build(preset, features=2, outputs=2, hidden=4)
    inputs = torch.zeros(2, TIME, 2)
    inputs[1, 2, 0] = broken
    with clew.record(model) as ledger:
        model(inputs).logits.sum().backward()
    assert ledger.quantity("head.linear.output").has_sensitivity
    is_shown = any(not bool(quantity.value.isfinite().all()) for quantity in ledger.quantities())
    assert is_shown or broken == torch.inf  # which saturates a gate


def test_initial_states_and_stacked_layers() -> None:
    encoder = RecurrentEncoder("lstm", 2, 3, layers=2, bidirectional=True).double()
    initial = [tuple(torch.full((3, 6), 0.3 + i, dtype=torch.float64, requires_grad=True) for i in range(2))] * 2
    inputs = torch.randn(3, TIME, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with clew.record(encoder) as ledger:
        encoded = encoder(inputs, valid_steps("empty row", 3, TIME), initial=initial)
        assert encoded.final is not None
        torch.cat([part for layer in encoded.final for part in layer]).square().sum().backward()
    assert "recurrent.1.backward_layer.forget_gate" in ledger.names()
    assert all(distance.is_rounding for distance in ledger.distances)


def test_a_published_kind_of_encoder_is_recorded() -> None:
    model = BertModel(vocab=VOCAB, width=8, heads=2, mlp=12, layers=2)
    with clew.record(model) as ledger:
        model.sequence_vectors(tokens(), valid=valid_steps("left", 3, TIME)).square().sum().backward()
    assert "encoder.blocks.1.mlp_norm.variance" in ledger.names()
    assert ledger.quantity("encoder.entry_norm.output").has_sensitivity


def test_nothing_listens_when_the_ledger_is_gone() -> None:
    model = model_of("gru")
    with clew.record(model) as ledger:
        logits = model(tokens()).logits
        logits.sum().backward(retain_graph=True)
    gone = weakref.ref(ledger.quantity("encoder.recurrent.0.state").value)
    weight = model.get_parameter("head.linear.weight")
    assert weight._backward_hooks
    del ledger
    gc.collect()
    assert not weight._backward_hooks
    assert not model._forward_pre_hooks
    assert gone() is None


def test_autocast_is_refused() -> None:
    model = model_of("transformer", {"heads": 2})
    with (
        pytest.raises(LedgerError, match=r"must be called outside of torch\.autocast"),
        clew.record(model),
        torch.autocast("cpu", torch.bfloat16),
    ):
        model(tokens())


def test_an_error_inside_the_block_is_not_replaced() -> None:
    with pytest.raises(ZeroDivisionError), clew.record(model_of("gru")):
        _ = 1 / 0
    assert not recording.is_on()
