"""Edits: each changes exactly what it must, numbers against torch alone."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from clew import visibility
from clew.data.batch import Batch
from clew.errors import ClewError
from clew.explorer.address import Address
from clew.explorer.edits.parsing import Draft, apply_edits, parse_edit, with_edit
from clew.explorer.scene import Scene, play
from clew.explorer.sources import Source
from clew.models import build
from clew.models.saving import build_from_config
from clew.report.subject import Subject, batch_of
from clew.tasks import Classification, Forecasting, NextToken, Regression, Tagging
from explorer.transformer_twin import run_twin

MakeScene = Callable[..., Scene]
WORDS = ("a", "journey", "of", "a", "thousand", "miles", "begins")
HIDDEN_MAP = "encoder.blocks.0.mlp.hidden_map.weight"
EXACT = {"atol": 1e-12, "rtol": 0.0}


def played(subject: Subject, *edits: str) -> Scene:
    """Run a subject after edits, with the scene without them as its base."""
    source = Source("own", "Own", None, False, None, lambda *_: subject)
    address = Address("change", "own")
    base = play(address, source, subject, None)
    return play(address.with_edits(edits), source, base.subject, base) if edits else base


def tokens_model(preset: str = "transformer", rows: Sequence[Sequence[str]] = (WORDS,), **options: object) -> Subject:
    """Give a double-precision model with two heads, three rows' worth of vocabulary and two blocks."""
    vocabulary = list(dict.fromkeys(word for row in rows for word in row))
    sizes = {"heads": 2, "mlp": 12, "causal": True, "layers": 2} | options if preset == "transformer" else options
    model = build(preset, vocab=len(vocabulary), outputs=len(vocabulary), hidden=8, **sizes)  # type: ignore[arg-type]
    labels = [list(row) for row in rows]
    task = NextToken(len(vocabulary))
    return Subject(model.double().eval(), labels, batch_of(labels, vocabulary), vocabulary, "own", task)


def numbers_model(task: Tagging | Classification | Regression | Forecasting, preset: str = "gru") -> Subject:
    """Give a model of real-valued inputs, two rows of five steps, and targets of the task."""
    draw = torch.Generator().manual_seed(3)
    inputs = torch.randn(2, 5, 3, generator=draw, dtype=torch.float64)
    head = "rows" if isinstance(task, Tagging | Forecasting) else "last"
    features = task.features if isinstance(task, Forecasting) else 3
    model = build(preset, features=features, outputs=task.outputs, hidden=4, head=head, generator=draw)
    targets: Tensor | None = None
    if isinstance(task, Tagging):
        targets = torch.tensor([[0, 2, 1, 1, 0], [1, 1, 2, 0, -1]])
    elif isinstance(task, Classification):
        targets = torch.tensor([2, 0])
    elif isinstance(task, Regression):
        targets = torch.randn(2, task.outputs, generator=draw, dtype=torch.float64)
    steps = 5 if not isinstance(task, Forecasting) else 5 - 1 - task.lead
    labels = [[f"s{step}" for step in range(steps)] for _ in range(2)]
    return Subject(model.double().eval(), labels, Batch(inputs, None, targets), (), "own", task, "step")


def values(scene: Scene, name: str) -> Tensor:
    """Give a quantity's values."""
    return scene.ledger.quantity(name).value


def gradients(scene: Scene) -> dict[str, Tensor]:
    """Give the gradients that the backward pass left."""
    found = {name: part.grad for name, part in scene.subject.model.named_parameters()}
    return {name: part for name, part in found.items() if part is not None}


def assert_bit_equal(first: Scene, second: Scene) -> None:
    """See that two passes agree in every number of the ledger, loss and gradients."""
    assert first.ledger.names() == second.ledger.names()
    assert first.ledger.compare(second.ledger) is None
    assert first.trace.loss_nats == second.trace.loss_nats
    for name, gradient in gradients(first).items():
        assert torch.equal(gradient, gradients(second)[name]), name


def assert_is_twin(scene: Scene, base: Subject, visible: Tensor, **changed: object) -> None:
    """Hold logits, loss and all gradients of a scene against torch.nn.functional with the base's weights."""
    aligned = scene.subject.task.align(scene.subject.batch)
    twin = run_twin(base.model, aligned.inputs, aligned.targets, visible, **changed)  # type: ignore[arg-type]
    torch.testing.assert_close(values(scene, "loss.logits"), twin.logits, **EXACT)
    torch.testing.assert_close(values(scene, "encoder.blocks.0.attention.context"), twin.context, **EXACT)
    assert scene.trace.loss_nats == pytest.approx(twin.loss.item(), abs=1e-12)
    found = gradients(scene)
    assert found.keys() == {name for name in twin.gradients if name in dict(scene.subject.model.named_parameters())}
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, twin.gradients[name], **EXACT)


def causal(time: int = 6) -> Tensor:
    """Give the causal rule."""
    return torch.ones(time, time).tril().bool()


# --- what is read ---


def test_a_token_edit_is_the_model_reading_the_other_word(scene: MakeScene) -> None:
    edited = scene(edits=["token:2=miles"])
    typed = scene(text="a journey miles a thousand miles begins")
    assert edited.subject.words == typed.subject.words
    assert_bit_equal(edited, typed)


@pytest.mark.parametrize("preset", ["worked", "rnn", "gru", "lstm", "transformer"])
def test_a_token_edit_leaves_earlier_rows_bit_equal_and_moves_later_ones(scene: MakeScene, preset: str) -> None:
    edited = scene(preset, edits=["token:3=miles"])
    assert edited.base is not None
    before, after = values(edited.base, "loss.logits"), values(edited, "loss.logits")
    assert torch.equal(before[:, :3], after[:, :3])
    for step in range(3, 6):
        assert not torch.equal(before[:, step], after[:, step])


def test_a_token_edit_changes_the_target_of_the_step_before(scene: MakeScene) -> None:
    edited = scene(edits=["token:6=of"])
    assert edited.base is not None
    assert torch.equal(values(edited.base, "loss.logits"), values(edited, "loss.logits"))
    logits = values(edited, "loss.logits")[0]
    targets = torch.tensor([1, 2, 0, 3, 4, 2])
    assert edited.trace.loss_nats == pytest.approx(cross_entropy(logits, targets).item(), abs=1e-14)


def test_a_token_edit_is_of_its_row_alone() -> None:
    subject = tokens_model(rows=(WORDS, tuple(reversed(WORDS))))
    source = Source("own", "Own", None, False, None, lambda *_: subject)
    base = play(Address("change", "own", row=1), source, subject, None)
    edited = play(Address("change", "own", row=1, edits=("token:1=of",)), source, subject, base)
    assert torch.equal(edited.subject.batch.inputs[0], subject.batch.inputs[0])
    assert edited.subject.words[1][1] == "of" and edited.subject.words[0] == list(WORDS)
    assert subject.words[1][1] == "miles"
    before, after = values(base, "loss.logits"), values(edited, "loss.logits")
    assert torch.equal(before[0], after[0]) and not torch.equal(before[1, 1], after[1, 1])


def test_a_value_edit_is_the_model_reading_the_other_number() -> None:
    subject = numbers_model(Regression(2))
    edited = played(subject, "value:3.1=-0.75")
    inputs = subject.batch.inputs.clone()
    inputs[0, 3, 1] = -0.75
    assert torch.equal(edited.subject.batch.inputs, inputs)
    assert_bit_equal(edited, played(replace(subject, batch=replace(subject.batch, inputs=inputs))))
    assert edited.base is not None
    before, after = (values(one, "encoder.recurrent.0.state") for one in (edited.base, edited))
    assert torch.equal(before[:, :3], after[:, :3]) and not torch.equal(before[0, 3], after[0, 3])
    assert torch.equal(before[1], after[1])


def test_a_value_edit_of_a_series_is_also_what_the_step_before_is_scored_against() -> None:
    task = Forecasting(1, series=1, past=2, lags=(2,))
    subject = numbers_model(task)
    edited = played(subject, "value:3.0=0.5")
    aligned = edited.subject.task.align(edited.subject.batch)
    assert aligned.targets[0, 1, 0] == 0.5  # the lead is one step, and the target is the next one
    (remark,) = parse_edit("value:3.0=0.5").remarks(subject)
    assert remark == "This number is also what the step before it is scored against, and what later lags read."
    assert not parse_edit("value:3.1=0.5").remarks(subject)


def test_a_pixel_is_a_value() -> None:
    model = build("vit", image=4, patch=2, outputs=3, hidden=8, heads=2).double().eval()
    images = torch.rand(1, 1, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    batch = Batch(images, None, torch.tensor([1]))
    labels = [["class", "0.0", "0.1", "1.0", "1.1"]]
    subject = Subject(model, labels, batch, (), "own", Classification(3), "patch")
    edited = played(subject, "value:0.3.0=1")
    assert edited.base is not None
    before, after = (
        values(edited.base, "inputs.patches.projection.output"),
        values(edited, "inputs.patches.projection.output"),
    )
    moved = [patch for patch in range(4) if not torch.equal(before[0, patch], after[0, patch])]
    assert moved == [2]  # the lower left patch


@pytest.mark.parametrize("causality", [True, False])
@pytest.mark.parametrize("preset", ["transformer", "gru", "lstm"])
def test_padding_gives_what_the_shorter_text_gives(preset: str, causality: bool) -> None:
    options = {"causal": causality} if preset == "transformer" else {"bidirectional": not causality}
    padded = played(tokens_model(preset, **options), "padding=2")
    subject = tokens_model(preset, **options)
    short = played(replace(subject, words=[list(WORDS[:5])], batch=Batch(subject.batch.inputs[:, :5])))
    assert padded.tokens == short.tokens == list(WORDS[:4])
    found, expected = values(padded, "loss.logits")[:, :4], values(short, "loss.logits")
    torch.testing.assert_close(found, expected, **EXACT)
    # The word behind the last real one is padding too, so that only three targets of the four are left.
    targets = subject.batch.inputs[0, 1:4]
    assert padded.trace.loss_nats == pytest.approx(cross_entropy(expected[0, :3], targets).item(), abs=1e-12)


@pytest.mark.parametrize("task", [Tagging(3), Classification(3), Regression(1), Forecasting(1, past=2)])
def test_padding_of_other_tasks_is_the_shorter_sequence(
    task: Tagging | Classification | Regression | Forecasting,
) -> None:
    subject = numbers_model(task)
    padded = played(subject, "padding=1")
    batch = subject.batch
    targets = batch.targets[:, :4] if isinstance(task, Tagging) and batch.targets is not None else batch.targets
    short = played(replace(subject, batch=Batch(batch.inputs[:, :4], None, targets)))
    kept = 3 if isinstance(task, Forecasting) else 4
    name = "encoder.recurrent.0.state"
    torch.testing.assert_close(values(padded, name)[0, :kept], values(short, name)[0, :kept], **EXACT)
    assert len(padded.subject.words[0]) == kept and len(padded.subject.words[1]) == len(subject.words[1])
    valid = padded.subject.batch.valid
    assert valid is not None and valid[1].all() and valid[0].sum() == 4


# --- weights ---


def test_a_weight_edit_is_autograd_with_the_other_weight(scene: MakeScene) -> None:
    edited = scene(edits=[f"weight:{HIDDEN_MAP}.1.2=0.75"])
    assert edited.base is not None
    base = edited.base.subject
    weight = base.model.get_parameter(HIDDEN_MAP).detach().clone()
    weight[1, 2] = 0.75
    assert_is_twin(edited, base, causal(), changed={HIDDEN_MAP: weight})
    kept = dict(edited.subject.model.named_parameters())
    for name, parameter in base.model.named_parameters():
        assert torch.equal(parameter, kept[name]) == (name != HIDDEN_MAP)
    for name in ("encoder.positions.output", "encoder.blocks.0.mlp_norm.output"):
        assert torch.equal(values(edited, name), values(edited.base, name))


@pytest.mark.parametrize(("preset", "cell"), [("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_a_recurrent_weight_edit_is_torchs_layer_with_the_other_weight(preset: str, cell: type[nn.RNNBase]) -> None:
    subject = tokens_model(preset)
    edited = played(
        subject, "weight:encoder.recurrent.0.weight_hh.2.5=-0.6", "weight:encoder.recurrent.0.bias_ih.3=0.25"
    )
    layer = cell(8, 8, batch_first=True).double()
    own = dict(subject.model.named_parameters())
    with torch.no_grad():
        for theirs, ours in (("weight_ih_l0", "weight_ih"), ("weight_hh_l0", "weight_hh")):
            layer.get_parameter(theirs).copy_(own[f"encoder.recurrent.0.{ours}"])
        for theirs, ours in (("bias_ih_l0", "bias_ih"), ("bias_hh_l0", "bias_hh")):
            layer.get_parameter(theirs).copy_(own[f"encoder.recurrent.0.{ours}"])
        layer.get_parameter("weight_hh_l0")[2, 5] = -0.6
        layer.get_parameter("bias_ih_l0")[3] = 0.25
    ids = subject.batch.inputs
    rows, _ = layer(own["inputs.embedding.weight"].detach()[ids[:, :-1]])
    logits = nn.functional.linear(rows, own["head.linear.weight"].detach(), own["head.linear.bias"].detach())
    loss = cross_entropy(logits[0], ids[0, 1:])
    loss.backward()
    torch.testing.assert_close(values(edited, "encoder.recurrent.0.state"), rows.detach(), **EXACT)
    assert edited.trace.loss_nats == pytest.approx(loss.item(), abs=1e-12)
    for theirs, ours in (("weight_hh_l0", "weight_hh"), ("weight_ih_l0", "weight_ih"), ("bias_hh_l0", "bias_hh")):
        expected = layer.get_parameter(theirs).grad
        assert expected is not None
        torch.testing.assert_close(gradients(edited)[f"encoder.recurrent.0.{ours}"], expected, **EXACT)


@pytest.mark.parametrize("value", ["NaN", "inf", "-Infinity"])
@pytest.mark.parametrize("preset", ["worked", "gru"])
def test_a_weight_may_be_no_number_and_the_pass_says_so(scene: MakeScene, preset: str, value: str) -> None:
    name = HIDDEN_MAP if preset == "worked" else "encoder.recurrent.0.weight_hh"
    edited = scene(preset, edits=[f"weight:{name}.1.2={value}"])
    assert edited.trace.loss_nats is not None
    assert not torch.isfinite(edited.subject.model.get_parameter(name)[1, 2])


# --- who reads whom ---


def test_a_hidden_cell_is_torchs_attention_with_that_mask(scene: MakeScene) -> None:
    edited = scene(edits=["hide:3.1", "hide:5.0"])
    assert edited.base is not None and edited.visible is not None
    mask = causal()
    mask[3, 1] = mask[5, 0] = False
    assert torch.equal(edited.visible | ~causal(), mask | ~causal())
    assert_is_twin(edited, edited.base.subject, mask)
    before, after = (values(one, "encoder.blocks.0.attention.weights") for one in (edited.base, edited))
    assert torch.equal(before[:, :, [0, 1, 2, 4]], after[:, :, [0, 1, 2, 4]])
    hidden_by = edited.ledger.quantity("encoder.blocks.0.attention.weights").hidden_by
    assert torch.equal(hidden_by["mask"].expand(1, 2, 6, 6)[0, 0].nonzero(), torch.tensor([[3, 1], [5, 0]]))


def test_a_query_that_reads_nothing_gives_zeros_and_no_gradient(scene: MakeScene) -> None:
    edited = scene(edits=["hide:0.0"])
    assert values(edited, "encoder.blocks.0.attention.output")[0, 0].abs().max() == 0
    assert values(edited, "encoder.blocks.0.attention.weights")[0, :, 0].abs().max() == 0


def test_a_shown_cell_of_the_future_is_that_one_alone(scene: MakeScene) -> None:
    edited = scene(edits=["show:1.3"])
    assert edited.base is not None
    mask = causal()
    mask[1, 3] = True
    assert_is_twin(edited, edited.base.subject, mask)
    (remark,) = parse_edit("show:1.3").remarks(edited.base.subject)
    assert remark == "A position now reads what it predicts: its loss no longer says how well it predicts."


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("full", torch.ones(6, 6).bool()),
        ("causal", causal()),
        ("window-1", torch.eye(6).bool()),
        ("window-3", torch.ones(6, 6).tril().triu(-2).bool()),
        ("window-40", causal()),
    ],
)
@pytest.mark.parametrize("causality", [True, False])
def test_a_rule_takes_the_place_of_the_models_own(rule: str, expected: Tensor, causality: bool) -> None:
    subject = tokens_model(causal=causality)
    edited = played(subject, f"visible={rule}")
    assert_is_twin(edited, subject, expected)
    assert edited.is_causal == (rule != "full")
    encoder = subject.model.encoder
    assert encoder.causal == causality  # type: ignore[union-attr]


def test_a_window_says_which_rule_hides_what(scene: MakeScene) -> None:
    hidden_by = scene(edits=["visible=window-2"]).ledger.quantity("encoder.blocks.0.attention.weights").hidden_by
    rules = {name: cells.expand(1, 2, 6, 6)[0, 0] for name, cells in hidden_by.items()}
    assert torch.equal(rules["causal"], ~causal())
    assert torch.equal(rules["mask"], torch.ones(6, 6).tril(-2).bool())


def test_cells_change_the_rule_before_them_and_a_rule_the_cells_before_it(scene: MakeScene) -> None:
    base = scene()
    mask = torch.ones(6, 6).bool()
    mask[3, 1] = False
    assert_is_twin(scene(edits=["visible=full", "hide:3.1"]), base.subject, mask)
    assert_is_twin(scene(edits=["hide:3.1", "visible=full"]), base.subject, torch.ones(6, 6).bool())


def test_a_class_token_can_be_kept_from_a_patch() -> None:
    model = build("vit", image=4, patch=2, outputs=3, hidden=8, heads=2).double().eval()
    images = torch.rand(2, 1, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = [["class", "0.0", "0.1", "1.0", "1.1"]] * 2
    batch = Batch(images, None, torch.tensor([1, 2]))
    edited = played(Subject(model, labels, batch, (), "own", Classification(3), "patch"), "hide:0.3")
    assert edited.base is not None
    before, after = (values(one, "encoder.blocks.0.attention.weights") for one in (edited.base, edited))
    assert after[:, :, 0, 3].abs().max() == 0 and before[:, :, 0, 3].min() > 0
    assert torch.equal(before[:, :, 1:], after[:, :, 1:])
    query, key, value = (values(edited, f"encoder.blocks.0.attention.{name}") for name in ("query", "key", "value"))
    mask = torch.ones(5, 5).bool()
    mask[0, 3] = False
    expected = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(values(edited, "encoder.blocks.0.attention.context"), expected, **EXACT)


# --- layers ---


@pytest.mark.parametrize("activation", ["tanh", "gelu", "sigmoid", "relu"])
def test_an_activation_edit_is_torch_with_the_same_weights(scene: MakeScene, activation: str) -> None:
    edited = scene(edits=[f"activation={activation}"])
    assert_is_twin(edited, scene().subject, causal(), activation=activation)


def test_a_norm_edit_is_torch_with_the_same_weights(scene: MakeScene) -> None:
    edited = scene(edits=["norm=post"])
    assert_is_twin(edited, scene().subject, causal(), norm="post")
    assert "encoder.final_norm.weight" not in dict(edited.subject.model.named_parameters())
    (remark,) = parse_edit("norm=post").remarks(scene().subject)
    assert remark == "Gone: encoder.final_norm.weight, encoder.final_norm.bias; the last sum is normalized already."


@pytest.mark.parametrize(
    ("edit", "options"),
    [
        ("norm=post", {"norm": "post"}),
        ("activation=gelu", {"activation": "gelu"}),
        ("norm=pre", {"norm": "pre"}),
    ],
)
@pytest.mark.parametrize("start", ["pre", "post"])
def test_a_layer_edit_is_a_freshly_built_model_with_the_same_weights(
    edit: str, options: dict[str, str], start: str
) -> None:
    subject = tokens_model(norm=start, positions="sinusoidal")
    assert subject.model.config is not None
    with torch.no_grad():
        for parameter in subject.model.parameters():  # so that no scale is 1 and no shift 0
            parameter.add_(
                torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / 5
            )
    fresh = build_from_config(subject.model.config | {"norm": start} | options).double().eval()
    own = subject.model.state_dict()
    missing, unexpected = fresh.load_state_dict(own, strict=False)
    edited = played(subject, edit)
    assert_bit_equal(edited, played(replace(subject, model=fresh)))
    assert edited.subject.model.config == fresh.config
    assert subject.model.config["norm"] == start
    told = " ".join(parse_edit(edit).remarks(subject))
    assert all(name in told for name in [*missing, *unexpected]) and bool(told) == bool([*missing, *unexpected])


def test_a_recurrent_activation_edit_is_torchs_layer() -> None:
    subject = tokens_model("rnn", layers=2, bidirectional=True)
    edited = played(subject, "activation=relu")
    layer = nn.RNN(8, 8, num_layers=2, nonlinearity="relu", bidirectional=True, batch_first=True).double()
    own = dict(subject.model.named_parameters())
    with torch.no_grad():
        for number in range(2):
            for side, ending in (("forward_layer", ""), ("backward_layer", "_reverse")):
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    theirs = layer.get_parameter(f"{name}_l{number}{ending}")
                    theirs.copy_(own[f"encoder.recurrent.{number}.{side}.{name}"])
    rows, _ = layer(own["inputs.embedding.weight"].detach()[subject.batch.inputs[:, :-1]])
    torch.testing.assert_close(values(edited, "encoder.recurrent.1.output"), rows.detach(), **EXACT)


# --- targets ---


def test_a_target_edit_changes_the_loss_as_computed_by_hand_and_nothing_before_it(scene: MakeScene) -> None:
    edited = scene(edits=["target:2=miles", "target:4=of"])
    assert edited.base is not None
    for name in edited.base.ledger.names():
        is_same = torch.equal(values(edited, name), values(edited.base, name))
        assert is_same == (name not in ("loss.per_position", "loss.loss")), name
    logits = values(edited, "loss.logits")[0]
    targets = torch.tensor([1, 2, 4, 3, 2, 5])
    by_hand = (logits.logsumexp(dim=1) - logits[range(6), targets]).mean().item()
    assert edited.trace.loss_nats == pytest.approx(by_hand, abs=1e-14)
    assert torch.equal(edited.subject.batch.inputs, edited.base.subject.batch.inputs)
    assert edited.subject.words == edited.base.subject.words
    assert_is_twin(edited, edited.base.subject, causal())


def test_a_target_edit_of_tags_classes_and_numbers_is_the_batchs_other_target() -> None:
    tagging = numbers_model(Tagging(3))
    edited = played(tagging, "target:3=2")
    assert edited.subject.batch.targets is not None
    assert edited.subject.batch.targets.tolist() == [[0, 2, 1, 2, 0], [1, 1, 2, 0, -1]]
    logits, targets = values(edited, "loss.logits"), edited.subject.batch.targets
    assert edited.trace.loss_nats == pytest.approx(cross_entropy(logits[targets >= 0], targets[targets >= 0]).item())
    classes = played(numbers_model(Classification(3)), "target=1")
    assert classes.subject.batch.targets is not None and classes.subject.batch.targets.tolist() == [1, 0]
    subject = numbers_model(Regression(2))
    numbers = played(subject, "target:1=0.5")
    assert numbers.base is not None and subject.batch.targets is not None
    predicted = values(numbers, "head.linear.output")
    wanted = subject.batch.targets.clone()
    wanted[0, 1] = 0.5
    assert numbers.trace.loss_nats == pytest.approx((predicted - wanted).square().sum(dim=1).mean().item(), abs=1e-14)


def test_a_target_edit_of_a_forecast_does_not_touch_what_is_read() -> None:
    subject = numbers_model(Forecasting(1, series=2, past=1, lags=(2,)))
    edited = played(subject, "target:1.1=0.5", "target:0.0=-2")
    assert torch.equal(edited.subject.batch.inputs, subject.batch.inputs)
    aligned = subject.task.align(subject.batch)
    wanted = aligned.targets.clone()
    wanted[0, 1, 1], wanted[0, 0, 0] = 0.5, -2.0
    predicted = values(edited, "head.linear.output")
    expected = (predicted - wanted).square().sum(dim=2).mean().item()
    assert edited.trace.loss_nats == pytest.approx(expected, abs=1e-14)
    assert edited.base is not None
    assert torch.equal(predicted, values(edited.base, "head.linear.output"))


# --- together ---

SOME = ("token:2=miles", f"weight:{HIDDEN_MAP}.1.2=0.75", "hide:3.1", "norm=post", "target:1=a", "padding=1")


def test_undo_gives_the_same_bits(scene: MakeScene) -> None:
    undone = scene(edits=["activation=tanh", *SOME])
    assert undone.base is not None
    fresh = scene(view="change", edits=SOME)
    before = scene()
    again = scene(edits=())
    assert_bit_equal(before, again)
    source = fresh.source
    assert_bit_equal(fresh, play(Address("way", edits=SOME), source, source.subject(None, 0, True), before))


def test_edits_leave_the_model_and_the_batch_of_the_base_alone(scene: MakeScene) -> None:
    subject = scene().subject
    kept, batch = deepcopy(subject.model.state_dict()), subject.batch.fingerprint()
    words, config = deepcopy(subject.words), subject.model.encoder.causal  # type: ignore[union-attr]
    scene(edits=["visible=full", *SOME])
    for name, weight in subject.model.state_dict().items():
        assert torch.equal(weight, kept[name])
    assert (subject.batch.fingerprint(), subject.words, subject.model.encoder.causal) == (batch, words, config)  # type: ignore[union-attr]


def test_of_two_edits_of_one_place_the_later_counts(scene: MakeScene) -> None:
    assert_bit_equal(scene(edits=["token:2=miles", "token:2=begins"]), scene(edits=["token:2=begins"]))
    assert_bit_equal(scene(edits=["hide:3.1", "show:3.1"]), scene())
    assert_bit_equal(scene(edits=["norm=post", "norm=pre"]), scene())


def test_a_weight_of_a_rebuilt_model_is_edited_after_it_is_built() -> None:
    subject = tokens_model(norm="post")
    edited = played(subject, "norm=pre", "weight:encoder.final_norm.weight.3=2.5")
    assert edited.subject.model.get_parameter("encoder.final_norm.weight")[3] == 2.5
    with pytest.raises(ClewError, match=r"weight: name must be that of a parameter, got 'encoder\.final_norm"):
        played(subject, "weight:encoder.final_norm.weight.3=2.5", "norm=pre")
    kept = played(subject, f"weight:{HIDDEN_MAP}.0.0=3", "norm=pre", "activation=tanh")
    assert kept.subject.model.get_parameter(HIDDEN_MAP)[0, 0] == 3


def test_a_rebuilt_encoder_keeps_the_rule_that_was_chosen_before(scene: MakeScene) -> None:
    edited = scene(edits=["visible=full", "norm=post"])
    assert_is_twin(edited, scene().subject, torch.ones(6, 6).bool(), norm="post")


@pytest.mark.parametrize(
    ("edits", "new", "expected"),
    [
        ((), "token:2=miles", ("token:2=miles",)),
        (("token:2=miles", "norm=post"), "token:2=of", ("norm=post", "token:2=of")),
        (("hide:3.1", "hide:3.2"), "show:3.1", ("hide:3.2", "show:3.1")),
        (("target:1=a", "target:2=a"), "target:1=of", ("target:2=a", "target:1=of")),
        (("weight:w.1.2=0",), "weight:w.1.3=0", ("weight:w.1.2=0", "weight:w.1.3=0")),
    ],
)
def test_with_edit_replaces_what_is_of_the_same_place(
    edits: tuple[str, ...], new: str, expected: tuple[str, ...]
) -> None:
    assert with_edit(edits, new) == expected


def test_a_draft_is_changed_in_place() -> None:
    subject = tokens_model()
    draft = Draft(deepcopy(subject.model), [list(WORDS)], subject.batch, subject.task, subject.vocabulary, subject.unit)
    apply_edits(draft, ["visible=window-2", "token:0=of"], 0)
    assert draft.words[0][0] == "of" and draft.batch.inputs[0, 0] == 2
    assert draft.visible is not None and torch.equal(draft.visible, visibility.windowed(6, 2) | ~causal())
