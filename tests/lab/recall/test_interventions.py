from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from clew.data import Batch, sample_episodes
from clew.data.recall_episodes import BOS, RECALL, cue_places
from clew.errors import ConfigError
from clew.lab.recall.interventions import hide_cue, intervene, reset_state, run_interventions, swap_cue
from clew.models import SequenceModel, build
from clew.tasks import CueRecall, NextToken

DELAY, QUERY = 4, 6
TASK = CueRecall(DELAY)
TEST = Batch(sample_episodes(200, DELAY, torch.Generator().manual_seed(1)))
NAMES = [
    "swap_cue",
    "blank_cue",
    "resample_distractors",
    "reset_state_before_step_4",
    "hide_cue",
    "run_at_delay_2",
    "run_at_delay_8",
]
Records = dict[str, dict]


class Output(NamedTuple):
    logits: Tensor


class Recorder(nn.Module):
    """Always answers 2 and keeps the ids that it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def forward(self, inputs: Tensor) -> Output:
        self.seen.append(inputs)
        return Output(nn.functional.one_hot(torch.full_like(inputs, 2), 7).float())


@pytest.fixture
def gru() -> SequenceModel:
    """A GRU that remembers the cue by construction, at any delay and cue position.

    Unit 4 says that BOS was just read; units 0 to 3 keep what they hold unless it does, and then take the move.
    """
    model = build("gru", vocab=7, outputs=7, hidden=5, embedding=7)
    tensors = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    large, units = 30.0, 5
    update, candidate = slice(units, 2 * units), slice(2 * units, 3 * units)
    tensors["inputs.embedding.weight"] = torch.eye(7)
    tensors["encoder.recurrent.0.bias_ih"][update] = torch.tensor([large] * 4 + [-large])
    tensors["encoder.recurrent.0.weight_hh"][update][:4, 4] = -2 * large
    tensors["encoder.recurrent.0.weight_ih"][candidate] = large * torch.eye(7)[:5]
    tensors["head.linear.weight"][:4, :4] = large * torch.eye(4)
    model.load_state_dict(tensors)
    return model


@pytest.fixture
def transformer() -> SequenceModel:
    """A causal Transformer whose one head points at position 1, with a table of eight positions, by construction.

    Features 0 to 6 hold the token, 7 marks position 1, 8 to 11 take the move found there.
    """
    options = {"hidden": 12, "heads": 1, "head_dim": 1, "value_dim": 4, "mlp": 1, "max_positions": 8}
    model = build("transformer", vocab=7, outputs=7, causal=True, **options)  # pyright: ignore[reportArgumentType]
    tensors = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    for name in tensors:
        if name.endswith("norm.weight"):
            tensors[name] += 1.0
    tensors["inputs.embedding.weight"][:, :7] = torch.eye(7)
    tensors["encoder.positions.weight"][1, 7] = 3.0
    attention = "encoder.blocks.0.attention."
    tensors[attention + "input_map.bias"][0] = 30.0
    tensors[attention + "input_map.weight"][1, 7] = 1.0
    tensors[attention + "input_map.weight"][2:, :4] = torch.eye(4)
    tensors[attention + "output_map.weight"][8:] = 10 * torch.eye(4)
    tensors["head.linear.weight"][:4, 8:] = torch.eye(4)
    model.load_state_dict(tensors)
    return model


def records_of(model: nn.Module) -> Records:
    return {record["intervention"]: record for record in intervene(model, TASK, TEST)}


def test_a_model_with_memory_follows_the_cue_and_nothing_else(gru: SequenceModel) -> None:
    assert TASK.evaluate(gru, TEST)["cue_accuracy"] == 1.0
    records = records_of(gru)
    assert list(records) == NAMES
    assert (records["swap_cue"]["followed"], records["swap_cue"]["accuracy"]) == (1.0, 0.0)
    assert (records["resample_distractors"]["followed"], records["resample_distractors"]["accuracy"]) == (1.0, 1.0)
    for name in ("blank_cue", "reset_state_before_step_4"):
        assert abs(records[name]["accuracy"] - 0.25) < 4 * (0.25 * 0.75 / 200) ** 0.5
        assert records[name]["followed"] is None
    assert not records["hide_cue"]["applicable"]
    assert records["hide_cue"]["reason"] == (
        "only attention has a mask; the state of a recurrent model is its one path, see reset_state"
    )
    assert records["hide_cue"]["accuracy"] is None
    assert records["run_at_delay_2"]["accuracy"] == records["run_at_delay_8"]["accuracy"] == 1.0


def test_a_transformer_is_asked_by_its_mask_and_its_table(transformer: SequenceModel) -> None:
    assert TASK.evaluate(transformer, TEST)["cue_accuracy"] == 1.0
    records = records_of(transformer)
    assert list(records) == NAMES
    assert records["swap_cue"]["followed"] == 1.0
    for name in ("blank_cue", "hide_cue"):
        assert abs(records[name]["accuracy"] - 0.25) < 4 * (0.25 * 0.75 / 200) ** 0.5
    assert records["reset_state_before_step_4"]["reason"] == (
        "only a recurrent encoder carries a state from step to step"
    )
    assert records["run_at_delay_2"]["accuracy"] == 1.0
    assert not records["run_at_delay_8"]["applicable"]
    assert records["run_at_delay_8"]["reason"] == "delay 8 has 12 input steps, the position table 8 rows"


def test_a_model_that_reads_the_answer_is_betrayed_by_the_blanked_cue() -> None:
    class ReadsAhead(nn.Module):
        def forward(self, inputs: Tensor) -> Output:
            return Output(nn.functional.one_hot(inputs.roll(-1, dims=1), 7).float())

    records = records_of(ReadsAhead())
    assert records["blank_cue"]["accuracy"] == 1.0
    assert records["swap_cue"]["followed"] == 0.0


def test_a_pointer_to_a_place_fails_where_the_cue_has_no_place(transformer: SequenceModel, gru: SequenceModel) -> None:
    task = CueRecall(DELAY, "random")
    test = Batch(sample_episodes(200, DELAY, torch.Generator().manual_seed(1), "random"))
    assert task.evaluate(gru, test)["cue_accuracy"] == 1.0
    assert task.evaluate(transformer, test)["cue_accuracy"] < 0.7
    assert {record["followed"] for record in intervene(gru, task, test)} == {1.0, None}


def test_a_constant_answer_scores_a_quarter_everywhere() -> None:
    records = records_of(Recorder())
    assert records["blank_cue"]["accuracy"] == records["swap_cue"]["accuracy"] == 0.25
    assert abs(records["swap_cue"]["followed"] - 0.25) < 0.15
    assert records["resample_distractors"]["followed"] == 1.0
    assert [name for name in NAMES if not records[name]["applicable"]] == ["reset_state_before_step_4", "hide_cue"]


@pytest.mark.parametrize("cue_position", ["fixed", "random"])
def test_each_intervention_changes_only_what_it_names(cue_position: str) -> None:
    task = CueRecall(DELAY, cue_position)
    test = Batch(sample_episodes(80, DELAY, torch.Generator().manual_seed(1), cue_position))
    model, original = Recorder(), test.inputs[:, :-1]
    intervene(model, task, test)
    swapped, blanked, resampled = model.seen[:3]
    is_cue = torch.arange(QUERY + 2) == cue_places(original).unsqueeze(1)
    is_move = (original < 4) & ~is_cue & (torch.arange(QUERY + 2) < QUERY)
    assert torch.equal(swapped != original, is_cue)
    assert (swapped[is_cue] < 4).all() and len(set(swapped[is_cue].tolist())) == 4
    assert torch.equal(blanked, torch.where(is_cue, BOS, original))
    assert not ((resampled != original) & ~is_move).any()
    changed = (resampled != original)[is_move].double().mean().item()
    assert abs(changed - 0.75) < 0.1
    assert [inputs.shape[1] for inputs in model.seen[4:]] == [6, 12]


def test_equal_seeds_ask_every_model_with_the_same_episodes(gru: SequenceModel) -> None:
    first, second = Recorder(), Recorder()
    intervene(first, TASK, TEST)
    torch.manual_seed(0)
    intervene(second, TASK, TEST)
    assert all(torch.equal(*pair) for pair in zip(first.seen, second.seen, strict=True))
    assert intervene(gru, TASK, TEST) == intervene(gru, TASK, TEST)


def test_the_state_can_be_reset_at_any_step(gru: SequenceModel) -> None:
    before = reset_state(gru, TASK, TEST, step=1)
    assert before.intervention == "reset_state_before_step_1"
    assert before.accuracy is not None and before.accuracy < 0.5  # this model waits for BOS
    assert before.expected == "accuracy unmoved where the cue comes after the reset"
    assert "near 1/4" in reset_state(gru, TASK, TEST, step=2).expected
    for step in (0, QUERY + 1):
        with pytest.raises(ConfigError, match=r"step must be in \[1, query=6\]"):
            run_interventions(gru, TASK, TEST, torch.Generator(), reset_step=step)


def test_after_a_reset_the_answer_is_still_read_at_recall() -> None:
    model = build("gru", vocab=7, outputs=7, hidden=9, generator=torch.Generator().manual_seed(2))
    inputs = TEST.inputs[:, :-1]
    for step in (1, 3, QUERY):
        given = inputs[:, step:]
        at_recall = given[0].tolist().index(RECALL)
        answers = model(given).logits[:, at_recall, :4].argmax(dim=-1)
        assert reset_state(model, TASK, TEST, step).accuracy == (answers == inputs[:, 1]).double().mean().item()


def test_hiding_leaves_the_cue_visible_to_itself_alone(transformer: SequenceModel) -> None:
    masks = []
    hook = transformer.encoder.register_forward_pre_hook(
        lambda module, arguments, options: masks.append(options["visible"]), with_kwargs=True
    )
    task = CueRecall(DELAY, "random")
    test = Batch(sample_episodes(40, DELAY, torch.Generator().manual_seed(1), "random"))
    hide_cue(transformer, task, test)
    hook.remove()
    expected = torch.ones(40, 8, 8, dtype=torch.bool)
    for row, cue in enumerate(cue_places(test.inputs).tolist()):
        expected[row, :, cue] = False
        expected[row, cue, cue] = True
    assert torch.equal(masks[0], expected)


def test_modes_and_random_numbers_are_left_alone(gru: SequenceModel) -> None:
    gru.train()
    before = torch.get_rng_state()
    intervene(gru, TASK, TEST)
    assert gru.training and torch.equal(torch.get_rng_state(), before)
    assert swap_cue(gru, TASK, TEST, torch.Generator().manual_seed(1)).applicable


def test_another_task_is_refused(gru: SequenceModel) -> None:
    with pytest.raises(ConfigError, match="intervene: task must be 'cue_recall', got 'next_token'"):
        intervene(gru, NextToken(7), TEST)
