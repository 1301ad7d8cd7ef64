import copy

import pytest
import torch
from torch.nn.functional import cross_entropy

from clew.data import Batch, sample_episodes
from clew.models import SequenceModel, build
from clew.tasks import CueRecall, memory_signal
from clew.tasks.task import evaluation_mode

DELAY, QUERY = 6, 8
KINDS = ["rnn", "gru", "lstm", "transformer"]


def make_model(kind: str, **options: object) -> SequenceModel:
    """Two layers with dropout, in training, in float64."""
    options = {"hidden": 6, "layers": 2, "dropout": 0.3} | options
    options |= {"heads": 2, "mlp": 9, "causal": True} if kind == "transformer" else {"embedding": 5}
    generator = torch.Generator().manual_seed(7)
    return build(kind, vocab=7, outputs=7, generator=generator, **options).double().train()  # pyright: ignore


def sample_inputs(cue_position: str, count: int = 12) -> torch.Tensor:
    return sample_episodes(count, DELAY, torch.Generator().manual_seed(2), cue_position)[:, :-1]


def signal_of_one(model: SequenceModel, ids: torch.Tensor) -> torch.Tensor:
    """Go step by step up to the cue, cut the path there, and read on; or cut out the Transformer's input row."""
    cue = ids[0].tolist().index(4) + 1
    rows = model.embed(ids).detach()
    if model.encoder.state_size(1) == 0 or hasattr(model.encoder, "blocks"):
        rows.requires_grad_()
        logits = model.head(model.encoder(rows).rows)[:, QUERY]
        (gradient,) = torch.autograd.grad(cross_entropy(logits, ids[:, QUERY + 1]), rows)
        return gradient[0, cue].norm()
    state = None
    for step in range(cue + 1):
        state = model.encoder(rows[:, step : step + 1], initial=state).final
    assert state is not None
    state = [tuple(part.detach().requires_grad_() for part in layer) for layer in state]
    logits = model.head(model.encoder(rows[:, cue + 1 :], initial=state).rows)[:, QUERY - cue - 1]
    leaves = [part for layer in state for part in layer]
    gradients = torch.autograd.grad(cross_entropy(logits, ids[:, QUERY + 1]), leaves)
    return torch.cat([gradient.flatten() for gradient in gradients]).norm()


@pytest.mark.parametrize("cue_position", ["fixed", "random"])
@pytest.mark.parametrize("kind", KINDS)
def test_cue_signal_is_the_mean_of_each_episodes_own(kind: str, cue_position: str) -> None:
    model, inputs = make_model(kind), sample_inputs(cue_position)
    with evaluation_mode(model):
        expected = torch.stack([signal_of_one(model, ids.unsqueeze(0)) for ids in inputs]).mean().item()
    assert memory_signal(model, inputs, QUERY)["cue_signal"] == pytest.approx(expected, rel=1e-9)
    assert expected > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_shared_gradient_is_that_of_the_cue_loss_over_all_uses(kind: str) -> None:
    model, inputs = make_model(kind), sample_inputs("random")
    twin = copy.deepcopy(model).eval()
    cross_entropy(twin(inputs).logits[:, QUERY], inputs[:, QUERY + 1]).backward()
    shared = "attention." if kind == "transformer" else "recurrent."
    named = [p.grad.flatten() for name, p in twin.named_parameters() if shared in name and p.grad is not None]
    expected = torch.cat(named).norm().item()
    assert memory_signal(model, inputs, QUERY)["shared_gradient_norm"] == pytest.approx(expected, rel=1e-9)


def test_the_signal_is_the_slope_of_the_loss_against_the_state() -> None:
    model, inputs = make_model("gru", layers=1).eval(), sample_inputs("fixed", count=4)[:1]
    rows = model.embed(inputs).detach()
    (state,) = model.encoder(rows[:, :2]).final[0]

    def loss_at(moved: torch.Tensor) -> torch.Tensor:
        logits = model.head(model.encoder(rows[:, 2:], initial=[(moved,)]).rows)[:, QUERY - 2]
        return cross_entropy(logits, inputs[:, QUERY + 1])

    slopes = [
        (loss_at(state + step) - loss_at(state - step)).item() / 2e-5
        for step in 1e-5 * torch.eye(6, dtype=torch.float64)
    ]
    expected = torch.tensor(slopes).norm().item()
    assert memory_signal(model, inputs, QUERY)["cue_signal"] == pytest.approx(expected, rel=1e-4)


def test_a_dead_path_is_seen_beside_a_live_gradient() -> None:
    model, inputs = make_model("rnn", layers=1), sample_inputs("fixed")
    with torch.no_grad():
        model.encoder.recurrent[0].weight_hh.mul_(1e-3)
    signal = memory_signal(model, inputs, QUERY)
    assert signal["cue_signal"] < 1e-15
    assert signal["shared_gradient_norm"] > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_diagnosis_changes_nothing(kind: str) -> None:
    model = make_model(kind)
    batch = Batch(sample_episodes(140, DELAY, torch.Generator().manual_seed(2)))
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    twin, random_state = copy.deepcopy(model), torch.get_rng_state()
    with torch.no_grad():
        found = CueRecall(DELAY).diagnose(model, batch)
    assert found == memory_signal(model, batch.inputs[:128, :-1], QUERY)
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(module.training for module in model.modules())
    for parameter, before in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(parameter, before) and parameter.grad is not None and (parameter.grad == 3.0).all()
    # Training goes on with the same dropout masks as if nobody had looked.
    assert torch.equal(model(batch.inputs).logits, twin(batch.inputs).logits)


def test_models_that_read_ahead_have_no_single_carrier_of_the_cue() -> None:
    inputs = sample_inputs("fixed")
    assert memory_signal(make_model("gru", bidirectional=True), inputs, QUERY) == {}
    full = build("transformer", vocab=7, outputs=7, hidden=6, heads=2)
    assert memory_signal(full, inputs, QUERY) == {}
