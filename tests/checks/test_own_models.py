"""The project's own layers and models under the audit: all pass everything, padded on the left and on the right."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from clew.checks import audit
from clew.checks.report import AuditReport
from clew.data.batch import Batch
from clew.layers import (
    MLP,
    BidirectionalLayer,
    Dropout,
    Embedding,
    GRULayer,
    LayerNorm,
    LearnedPositions,
    Linear,
    LSTMLayer,
    MultiHeadAttention,
    Patches,
    RNNLayer,
    SinusoidalPositions,
)
from clew.models import BertModel, build
from clew.tasks.next_token import NextToken
from clew.visibility import causal, from_documents, from_valid, full, windowed

torch.set_num_threads(1)
DRAWS = torch.Generator().manual_seed(2)
VALUES = torch.randn(3, 6, 8, generator=DRAWS)
IDS = torch.randint(0, 11, (3, 6), generator=DRAWS)
RIGHT = torch.arange(6) < torch.tensor([[6], [4], [5]])
LEFT = RIGHT.flip(1)
VISIBILITIES: dict[str, Callable[[int], Tensor]] = {
    "full": full,
    "causal": causal,
    "window": lambda time: windowed(time, 3),
    "two_sided": lambda time: windowed(time, 2, causal=False),
}
BOUNDARIES = {"full": "full", "causal": "causal", "window": windowed(6, 3), "two_sided": windowed(6, 2, causal=False)}
OF_PADDING = ("padding_content", "mask_polarity", "padding_amount", "empty_row")


@pytest.fixture(autouse=True)
def as_a_user_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checked shapes: hundreds of passes each."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def slow(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


SIDES = pytest.mark.parametrize("valid", [slow(RIGHT), LEFT], ids=["right", "left"])


def padded(model: nn.Module, inputs: Tensor, valid: Tensor | None) -> Any:
    return model(inputs, valid=valid)


def require_clean(report: AuditReport, *names: str) -> None:
    """Nothing failed, and the named checks were not left out."""
    assert report.failures == []
    assert {name: report[name].status for name in names} == dict.fromkeys(names, "passed")


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [
        slow(RNNLayer, "derived"),
        slow(RNNLayer, "fused"),
        slow(RNNLayer, "explicit"),
        slow(GRULayer, "derived"),
        (GRULayer, "fused"),
        slow(GRULayer, "explicit"),
        slow(LSTMLayer, "derived"),
        slow(LSTMLayer, "fused"),
        slow(LSTMLayer, "explicit"),
    ],
)
def test_recurrent_layers_pass_in_every_kernel_with_their_state_as_cache(kind: type[nn.Module], kernel: str) -> None:
    def call(model: nn.Module, values: Tensor, valid: Tensor | None) -> Tensor:
        return model(values, valid, kernel=kernel)[0]

    def step(model: nn.Module, new: Tensor, state: Any) -> Any:
        return model(new, None, state, kernel=kernel)

    report = audit(kind(8, 5), VALUES, valid=LEFT, call=call, step=step)
    require_clean(report, "future", *OF_PADDING, "padding_side", "gradients", "modes", "cache")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RNNLayer, GRULayer, LSTMLayer])
def test_a_reversed_layer_reads_only_what_comes_later(kind: type[nn.Module]) -> None:
    later = torch.ones(6, 6, dtype=torch.bool).triu()
    call = lambda model, values, valid: model(values, valid, reverse=True)[0]  # noqa: E731
    require_clean(audit(kind(8, 5), VALUES, later, valid=LEFT, call=call), "boundary", "position", *OF_PADDING)


@SIDES
@pytest.mark.parametrize("kind", [slow(RNNLayer), slow(GRULayer), LSTMLayer])
def test_both_directions_never_read_padding(kind: type[nn.Module], valid: Tensor) -> None:
    call = lambda model, values, valid: model(values, valid)[0]  # noqa: E731
    report = audit(BidirectionalLayer(kind(8, 5), kind(8, 5)), VALUES, "full", valid=valid, call=call)
    require_clean(report, "position", *OF_PADDING, "padding_side")


@SIDES
@pytest.mark.parametrize("kernel", ["derived", slow("fused"), slow("explicit")])
@pytest.mark.parametrize("name", [slow("full"), slow("causal"), "window", slow("two_sided")])
def test_attention_reads_what_is_visible_and_nothing_else(name: str, kernel: str, valid: Tensor) -> None:
    def call(model: nn.Module, values: Tensor, valid: Tensor) -> Tensor:
        visible = VISIBILITIES[name](values.shape[1]) & from_valid(valid)
        return model(values.masked_fill(~valid.unsqueeze(2), 0), visible, kernel=kernel)

    report = audit(MultiHeadAttention(8, 2), VALUES, BOUNDARIES[name], valid=valid, call=call, ordered=False)
    require_clean(report, *OF_PADDING, "modes", *{"causal": ["future"], "full": []}.get(name, ["boundary"]))


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        (MLP(8, 6), VALUES),
        (LayerNorm(8), VALUES),
        (Linear(8, 4), VALUES),
        (Dropout(0.5), VALUES),
        (Embedding(11, 4), IDS),
        (LearnedPositions(16, 8), VALUES),
        (SinusoidalPositions(8, 16), VALUES),
    ],
    ids=lambda one: type(one).__name__,
)
def test_layers_of_single_rows_read_their_own_row_alone(layer: nn.Module, inputs: Tensor) -> None:
    require_clean(audit(layer, inputs, torch.eye(6, dtype=torch.bool)), "future", "boundary", "batch_mates")


def test_a_patch_reads_its_own_rows_of_the_image() -> None:
    images = torch.randn(3, 6, 2, 4, generator=DRAWS)  # rows of pixels take the place of time
    bands = torch.eye(3, dtype=torch.bool).repeat_interleave(2, dim=1)
    call = lambda model, images, _: model(images.permute(0, 3, 1, 2))  # noqa: E731
    report = audit(Patches(6, 2, channels=4, patch=2, features=5), images, bands, call=call)
    require_clean(report, "boundary", "position")


GRID = [
    slow({"preset": "rnn"}, "causal"),
    slow({"preset": "gru", "head": "last"}, "full"),
    ({"preset": "lstm", "head": "mean", "bidirectional": True}, "full"),
    slow({"preset": "gru", "bidirectional": True}, "full"),
    ({"preset": "transformer", "causal": True}, "causal"),
    slow({"preset": "transformer", "causal": True, "norm": "post", "positions": "sinusoidal"}, "causal"),
    ({"preset": "transformer", "head": "class_token", "norm": "post"}, "full"),
    slow({"preset": "transformer", "head": "mean", "positions": "sinusoidal"}, "full"),
]
ALL_OF_THEM = [
    ({"preset": preset, "head": head, "bidirectional": two}, "full" if two else "causal")
    for preset in ("rnn", "gru", "lstm")
    for head in ("rows", "last", "mean")
    for two in (False, True)
] + [
    (
        {"preset": "transformer", "head": head, "causal": is_causal, "norm": norm, "positions": positions},
        "causal" if is_causal else "full",
    )
    for head in ("rows", "last", "mean", "class_token")
    for is_causal in (False, True)
    for norm in ("pre", "post")
    for positions in ("learned", "sinusoidal", "none")
    if not (head == "class_token" and is_causal)
]


def model_of(config: dict, **more: int) -> nn.Module:
    sizes = {"heads": 2, "mlp": 8} if config["preset"] == "transformer" else {}
    return build(**config, **sizes, **more, outputs=5, hidden=8, layers=2, dropout=0.1)


def audited(config: dict, boundary: str, kind: str, valid: Tensor) -> AuditReport:
    ordered = config.get("positions") != "none"
    if kind == "ids":
        return audit(model_of(config, vocab=11), IDS, boundary, valid=valid, call=padded, vocab=11, ordered=ordered)
    return audit(model_of(config, features=8), VALUES, boundary, valid=valid, call=padded, ordered=ordered)


@pytest.mark.parametrize(("config", "boundary"), GRID)
def test_models_pass_everything(config: dict, boundary: str) -> None:
    require_clean(audited(config, boundary, "ids", LEFT), *OF_PADDING, "padding_side", "position", "gradients", "modes")


@pytest.mark.slow
@SIDES
@pytest.mark.parametrize("kind", ["ids", "features"])
@pytest.mark.parametrize(("config", "boundary"), ALL_OF_THEM)
def test_every_combination_passes_everything(config: dict, boundary: str, kind: str, valid: Tensor) -> None:
    report = audited(config, boundary, kind, valid)
    position = [] if config.get("positions") == "none" else ["position"]
    require_clean(report, *OF_PADDING, "padding_side", "gradients", "modes", *position)


@pytest.mark.parametrize("valid", [slow(None), slow(RIGHT), LEFT], ids=["none", "right", "left"])
@pytest.mark.parametrize("name", [slow("causal"), "window", slow("two_sided")])
def test_a_given_visibility_is_kept_by_a_whole_model(name: str, valid: Tensor | None) -> None:
    def call(model: nn.Module, ids: Tensor, valid: Tensor | None) -> Any:
        return model(ids, valid=valid, visible=VISIBILITIES[name](ids.shape[1]))

    model = build("transformer", vocab=11, outputs=5, hidden=8, heads=2, mlp=8)
    report = audit(model, IDS, BOUNDARIES[name], valid=valid, call=call, vocab=11)
    require_clean(report, "future" if name == "causal" else "boundary", *(OF_PADDING if valid is not None else ()))


@pytest.mark.slow
def test_documents_in_one_row_do_not_read_each_other() -> None:
    documents = torch.tensor([[0, 0, 0, 1, 1, 2]])
    rule = causal(6) & from_documents(documents)[0]
    call = lambda model, ids, _: model(ids, visible=from_documents(documents.expand(len(ids), 6)))  # noqa: E731
    model = build("transformer", vocab=11, outputs=5, hidden=8, heads=2, mlp=8, layers=2, causal=True)
    require_clean(audit(model, IDS, rule, call=call, vocab=11), "future", "boundary", "position")


@pytest.mark.parametrize("valid", [slow(RIGHT), LEFT], ids=["right", "left"])
@pytest.mark.parametrize("method", ["forward", slow("sequence_vectors")])
def test_bert_passes(method: str, valid: Tensor) -> None:
    model = BertModel(vocab=11, width=8, heads=2, mlp=8, layers=2, dropout=0.1)
    call = lambda model, ids, valid: getattr(model, method)(ids, valid=valid)  # noqa: E731
    report = audit(model, IDS, "full", valid=valid, call=call, vocab=11)
    require_clean(report, *OF_PADDING, "padding_side", "position", "gradients", "modes")


class Given(nn.Module):
    """Answers with logits that are there already."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, inputs: Tensor, valid: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.logits)


def next_token_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The task's own loss: each output becomes a sequence of one input and one target."""
    targets = targets.reshape(-1, 1)
    scored = targets != -100
    batch = Batch(torch.cat([torch.zeros_like(targets), targets.where(scored, 0)], dim=1), scored.expand(-1, 2))
    return NextToken(11).loss(Given(outputs.reshape(-1, 1, 11)), batch)


@pytest.mark.parametrize("valid", [slow(None), slow(RIGHT), LEFT], ids=["none", "right", "left"])
@pytest.mark.parametrize(("preset", "more"), [("gru", {}), slow("lstm", {}), ("transformer", {"causal": True})])
def test_next_token_pairs_each_output_with_the_token_after_it(preset: str, more: dict, valid: Tensor | None) -> None:
    aligned = NextToken(11).align(Batch(IDS, valid))
    hidden = False if aligned.scored is None else ~aligned.scored
    targets = aligned.targets.masked_fill(torch.as_tensor(hidden), -100)

    def step(model: Any, new: Tensor, state: Any) -> Any:
        encoded = model.encoder(model.embed(new), initial=state)
        return model.head(encoded.rows), encoded.final

    report = audit(
        build(preset, vocab=11, outputs=11, hidden=8, **more),
        aligned.inputs,
        valid=aligned.valid,
        call=padded,
        vocab=11,
        loss=next_token_loss,
        targets=targets,
        step=None if more else step,
    )
    require_clean(report, "target_shift", "ignored_targets", "loss_weight", *([] if more else ["cache"]))
