from collections.abc import Callable
from math import log

import pytest
import torch
from torch import nn

from clew.data import Batch, RecallSizes, sample_episodes, sample_recall_splits
from clew.data.recall_episodes import BOS, EOS, RECALL
from clew.errors import ConfigError, DataError, ShapeError
from clew.tasks import TASKS, CueRecall, NextToken, Task, task_from_config

Make = Callable[..., nn.Module]
TEST = sample_recall_splits(8, RecallSizes(train=64, validation=8, test=40)).test


def test_the_query_is_the_row_of_recall() -> None:
    task = CueRecall(3)
    aligned = task.align(Batch(torch.tensor([[BOS, 2, 0, 3, 1, RECALL, 2, EOS]])))
    assert aligned.inputs[0, task.query] == RECALL and aligned.targets[0, task.query] == 2
    assert aligned.scored is None and aligned.inputs.shape[1] == task.input_steps
    assert CueRecall(8).input_positions(TEST) == 40 * 12 == CueRecall(8).scored_targets(TEST)


@pytest.mark.parametrize("cue_position", ["fixed", "random"])
def test_a_perfect_predictor_meets_the_oracle(recall_predictor: Make, cue_position: str) -> None:
    task = CueRecall(7, cue_position)
    batch = Batch(sample_episodes(400, 7, torch.Generator().manual_seed(0), cue_position))
    model = recall_predictor(7, cue_position)
    metrics = task.evaluate(model, batch)
    assert metrics["cue_accuracy"] == task.oracle_accuracy == 1.0
    assert metrics["cue_loss_nats"] == pytest.approx(0.0, abs=1e-9)
    assert 0.15 < metrics["move_accuracy"] <= 0.3
    assert task.correct(model, batch).all()
    tolerance = 1e-9 if cue_position == "fixed" else 0.02
    assert metrics["all_loss_nats"] == pytest.approx(task.all_loss_floor_nats, abs=tolerance)


def test_the_floor_with_a_fixed_cue_is_met_in_every_episode(recall_predictor: Make) -> None:
    task = CueRecall(8)
    losses = task.episode_losses(recall_predictor(8), TEST)
    assert task.all_loss_floor_nats == pytest.approx(9 * log(4) / 12)
    assert (losses.all_nats - task.all_loss_floor_nats).abs().max() < 1e-9
    assert losses.cue_nats.abs().max() < 1e-9


@pytest.mark.parametrize("delay", [1, 2, 3, 6, 9])
def test_the_floor_with_a_random_cue_is_the_mean_over_its_places(recall_predictor: Make, delay: int) -> None:
    # The perfect predictor's loss depends on the place of BOS alone, and all places are equally likely.
    rows = [[0] * lead + [BOS, 1] + [2] * (delay - lead) + [RECALL, 1, EOS] for lead in range(delay // 2 + 1)]
    task = CueRecall(delay, "random")
    mean = task.evaluate(recall_predictor(delay, "random"), Batch(torch.tensor(rows)))["all_loss_nats"]
    assert task.all_loss_floor_nats == pytest.approx(mean, abs=1e-9)


def test_a_predictor_without_the_cue_scores_chance(recall_predictor: Make) -> None:
    task = CueRecall(8)
    metrics = task.evaluate(recall_predictor(8, answer="uniform"), TEST)
    assert metrics["cue_loss_nats"] == pytest.approx(task.chance_loss_nats)
    assert metrics["all_loss_nats"] == pytest.approx(10 * log(4) / 12)
    assert task.evaluate(recall_predictor(8, answer="constant"), TEST)["cue_accuracy"] == task.chance_accuracy == 0.25


def test_a_uniform_predictor_scores_the_logarithm_of_the_vocabulary(uniform: Make) -> None:
    metrics = CueRecall(8).evaluate(uniform(7), TEST)
    assert metrics["cue_loss_nats"] == pytest.approx(log(7)) == metrics["all_loss_nats"]
    assert CueRecall(8).loss(uniform(7), TEST).item() == pytest.approx(log(7))


def test_training_loss_counts_all_positions_and_metrics_do_not_depend_on_the_chunk(predictor: Make) -> None:
    table = torch.randn(7, 7, generator=torch.Generator().manual_seed(1))
    model, task = predictor(lambda ids: table[ids]), CueRecall(8)
    whole = task.evaluate(model, TEST)
    assert task.loss(model, TEST).item() == pytest.approx(whole["all_loss_nats"], abs=1e-6)
    assert task.evaluate(model, TEST, chunk=7) == pytest.approx(whole, abs=1e-12)
    assert task.correct(model, TEST, chunk=3).double().mean().item() == whole["cue_accuracy"]
    losses = task.episode_losses(model, TEST, chunk=9)
    assert losses.all_nats.mean().item() == pytest.approx(whole["all_loss_nats"])
    assert losses.cue_nats.mean().item() == pytest.approx(whole["cue_loss_nats"])


def test_move_accuracy_counts_cue_and_moves_but_not_the_answer(predictor: Make) -> None:
    def knows_moves_only(ids: torch.Tensor) -> torch.Tensor:
        following = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], EOS)], dim=1)
        following[:, 10] = EOS
        return 20 * torch.nn.functional.one_hot(following, 7).float()

    metrics = CueRecall(8).evaluate(predictor(knows_moves_only), TEST)
    assert (metrics["move_accuracy"], metrics["cue_accuracy"]) == (1.0, 0.0)


def test_evidence_clears_the_oracle_and_convicts_who_reads_ahead(recall_predictor: Make, predictor: Make) -> None:
    task = CueRecall(8)
    honest = task.evidence(recall_predictor(8), TEST)
    assert honest["loss_nats"] >= honest["floor_nats"] - 1e-9 and honest["move_count"] == 40 * 9
    assert honest["move_correct"] < 0.35 * honest["move_count"]

    def reads_ahead(ids: torch.Tensor) -> torch.Tensor:
        following = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], EOS)], dim=1)
        return 20 * torch.nn.functional.one_hot(following, 7).float()

    leaky = task.evidence(predictor(reads_ahead), TEST)
    assert leaky["move_correct"] == leaky["move_count"]
    assert leaky["loss_nats"] < leaky["floor_nats"]
    assert task.evidence(recall_predictor(8), TEST.select(torch.tensor([0]))) == {}


def test_episodes_of_another_kind_are_refused(uniform: Make) -> None:
    with pytest.raises(ShapeError) as error:
        CueRecall(9).loss(uniform(7), TEST)
    assert str(error.value) == (
        "CueRecall: inputs must be episodes of delay + 5 = 14 tokens without padding, got shape (40, 13). "
        "Sample the episodes with the task's delay."
    )
    with pytest.raises(ShapeError, match=r"got shape \(40, 13\) with padding"):
        CueRecall(8).align(Batch(TEST.inputs, torch.ones_like(TEST.inputs, dtype=torch.bool)))
    inputs = TEST.inputs.clone()
    inputs[3, 10] = 2
    for use in (CueRecall(8).evaluate, CueRecall(8).correct, CueRecall(8).diagnose):
        with pytest.raises(DataError, match=r"the token at step 10 must be RECALL \(6\), got 2 at row 3"):
            use(uniform(7), Batch(inputs))


def test_a_model_of_another_kind_has_no_diagnosis(uniform: Make) -> None:
    assert CueRecall(8).diagnose(uniform(7), TEST) == {}
    assert NextToken(7).diagnose(uniform(7), TEST) == {}


@pytest.mark.parametrize("task", [NextToken(11), CueRecall(8), CueRecall(16, "random")], ids=repr)
def test_every_task_is_made_again_from_its_config(task: Task) -> None:
    again = task_from_config(task.name, task.config())
    assert type(again) is type(task) is TASKS[task.name]
    assert again.config() == task.config() and repr(again) == repr(task)
    assert task.boundary == "causal"


def test_labels_name_the_setting() -> None:
    assert CueRecall(8).label == "delay 8"
    assert CueRecall(8, "random").label == "delay 8, random cue position"
    assert NextToken(7).label == ""


def test_a_wrong_configuration_names_all_that_is_wrong() -> None:
    with pytest.raises(ConfigError) as error:
        task_from_config("cue_recal", {})
    assert str(error.value) == (
        "task_from_config: task must be a known task, got 'cue_recal'. Did you mean 'cue_recall'?"
    )
    with pytest.raises(ConfigError) as error:
        task_from_config("cue_recall", {"dlay": 8})
    assert str(error.value) == (
        "task_from_config('cue_recall'): config must be made of the keys delay, cue_position, "
        "got unknown key 'dlay': Did you mean 'delay'?; missing key 'delay'."
    )
    for delay in (0, -3):
        with pytest.raises(ConfigError, match="CueRecall: delay must be a whole number of at least 1"):
            task_from_config("cue_recall", {"delay": delay})
    with pytest.raises(ConfigError, match="Did you mean 'random'"):
        CueRecall(8, "randm")
