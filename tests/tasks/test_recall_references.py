from collections import Counter
from collections.abc import Callable
from math import log

import pytest
import torch
from torch import nn

from clew.data import Batch, RecallSizes, sample_episodes, sample_recall_splits
from clew.tasks import CueRecall

Make = Callable[..., nn.Module]


@pytest.fixture(params=["fixed", "random"])
def cue_position(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def rows(cue_position: str) -> dict[str, dict[str, float]]:
    splits = sample_recall_splits(8, RecallSizes(train=400, validation=8, test=200), cue_position=cue_position)
    return {row["name"]: row for row in CueRecall(8, cue_position).references(splits.train, splits.test)}


def test_chance_oracle_and_constant_have_their_closed_forms(
    rows: dict[str, dict[str, float]], cue_position: str
) -> None:
    floor = CueRecall(8, cue_position).all_loss_floor_nats
    assert list(rows) == ["chance", "oracle", "uniform_movement", "constant", "most_common_move"]
    scores = {name: (row["accuracy"], row["cue_loss_nats"], row["all_loss_nats"]) for name, row in rows.items()}
    assert scores["chance"] == (0.25, log(4), None)
    assert scores["oracle"] == (1.0, 0.0, floor)
    assert scores["uniform_movement"] == (0.25, log(4), pytest.approx(floor + log(4) / 12))
    assert scores["constant"] == (0.25, None, None)
    assert all(row["words"] for row in rows.values())


def test_the_uniform_movement_row_is_what_such_a_model_scores(recall_predictor: Make) -> None:
    splits = sample_recall_splits(8, RecallSizes(train=16, validation=8, test=40))
    task = CueRecall(8)
    row = task.references(splits.train, splits.test)[2]
    metrics = task.evaluate(recall_predictor(8, answer="uniform"), splits.test)
    assert metrics["all_loss_nats"] == pytest.approx(row["all_loss_nats"]) == 10 * log(4) / 12
    assert metrics["cue_loss_nats"] == pytest.approx(row["cue_loss_nats"])


def test_the_most_common_move_shares_ties_and_counts_the_cue(cue_position: str) -> None:
    test = Batch(sample_episodes(60, 5, torch.Generator().manual_seed(4), cue_position))
    accuracy, loss = 0.0, 0.0
    for ids in test.inputs.tolist():
        seen, answer = Counter(token for token in ids[:7] if token < 4), ids[8]
        best = [move for move, count in seen.items() if count == max(seen.values())]
        accuracy += (answer in best) / len(best) / 60
        loss -= log(seen[answer] / 6) / 60
    task = CueRecall(5, cue_position)
    row = task.references(test, test)[4]
    assert row["accuracy"] == pytest.approx(accuracy)
    assert row["cue_loss_nats"] == pytest.approx(loss)
    assert row["all_loss_nats"] == pytest.approx(task.all_loss_floor_nats + loss / 9)


def test_the_most_common_move_is_right_as_often_as_its_share_says() -> None:
    # Given the counts, each of the delay + 1 moves is equally likely to be the cue: the best has its share.
    episodes = sample_episodes(20_000, 8, torch.Generator().manual_seed(5))
    test = Batch(episodes)
    counts = torch.stack([(episodes[:, 1:10] == move).sum(dim=1) for move in range(4)], dim=1)
    expected = (counts.amax(dim=1) / 9).mean().item()
    row = CueRecall(8).references(test, test)[4]
    assert row["accuracy"] == pytest.approx(expected, abs=0.012)
    assert row["accuracy"] > 0.35
