import json

import pytest
import torch
from torch import nn

from clew.data import Batch, sample_episodes
from clew.errors import ConfigError
from clew.lab.recall.episode_view import view_episode
from clew.models import SequenceModel, build
from clew.tasks import CueRecall

DELAY, TIME = 5, 9
TASK = CueRecall(DELAY)
TEST = Batch(sample_episodes(8, DELAY, torch.Generator().manual_seed(1)))
QUANTITIES = {
    "rnn": {"preactivation", "state"},
    "gru": {"reset_gate", "update_gate", "candidate", "state"},
    "lstm": {"input_gate", "forget_gate", "cell_candidate", "output_gate", "cell", "state"},
}


def make_model(kind: str, **options: object) -> SequenceModel:
    return build(kind, vocab=7, outputs=7, hidden=6, dropout=0.2, layers=2, **options).train()  # pyright: ignore


@pytest.mark.parametrize("kind", list(QUANTITIES))
def test_gates_and_state_are_those_of_the_first_layer(kind: str) -> None:
    model = make_model(kind, embedding=4)
    view = view_episode(model, TASK, TEST, row=3)
    assert json.loads(json.dumps(view)) == view
    assert QUANTITIES[kind] <= view["quantities"].keys()
    quantities = {name: torch.tensor(value) for name, value in view["quantities"].items()}
    assert all(value.shape == (TIME, 6) for value in quantities.values())
    rows, _ = model.encoder.recurrent[0](model.embed(TEST.inputs[3:4, :-1]))
    torch.testing.assert_close(quantities["state"], rows[0].detach(), atol=1e-5, rtol=0)
    assert model.training and "attention" not in view


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["learned", "none"])
def test_attention_is_what_really_mixed_the_rows_of_the_first_block(norm: str, positions: str) -> None:
    model = make_model("transformer", heads=2, mlp=8, causal=True, norm=norm, positions=positions).eval()
    seen = {}
    attention = model.encoder.blocks[0].attention
    hook = attention.register_forward_hook(lambda _, given, output: seen.update(rows=given[0], output=output))
    view = view_episode(model, TASK, TEST, row=2)
    hook.remove()
    weights = torch.tensor(view["attention"])
    assert weights.shape == (2, TIME, TIME)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, TIME))
    assert (weights.triu(1) == 0).all()
    visible = torch.ones(TIME, TIME, dtype=torch.bool).tril()
    real = attention.quantities(seen["rows"], visible)
    torch.testing.assert_close(weights, real["weights"][0].detach(), atol=1e-6, rtol=0)
    torch.testing.assert_close(real["output"], seen["output"], atol=1e-5, rtol=0)


def test_tokens_query_and_answer_are_words() -> None:
    model = make_model("gru", embedding=4).eval()
    view = view_episode(model, TASK, Batch(torch.tensor([[4, 2, 0, 1, 3, 3, 0, 6, 2, 5]])))
    assert view["tokens"] == ["BOS", "down", "up", "right", "left", "left", "up", "RECALL", "down"]
    assert (view["query"], view["target"]) == (7, "down")
    assert view["tokens"][view["query"]] == "RECALL"
    assert view["answer"] in ("up", "right", "down", "left", "BOS", "EOS", "RECALL")


def test_a_bidirectional_layer_is_seen_in_its_forward_direction() -> None:
    model = make_model("gru", embedding=4, bidirectional=True).eval()
    view = view_episode(model, TASK, TEST)
    rows = model.encoder.recurrent[0].forward_layer(model.embed(TEST.inputs[:1, :-1]))[0]
    torch.testing.assert_close(torch.tensor(view["quantities"]["state"]), rows[0].detach(), atol=1e-5, rtol=0)


def test_what_cannot_be_seen_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"row must be in \[0, 8\), got 8"):
        view_episode(make_model("gru"), TASK, TEST, row=8)
    with pytest.raises(ConfigError, match="model must be a SequenceModel, got Identity"):
        view_episode(nn.Identity(), TASK, TEST)
