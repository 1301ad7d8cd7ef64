"""Predictors without learning, for the results table: what chance, simple habits and perfect memory score on the test.

A result means something beside these only: 1/4 is no knowledge of the cue, `most_common_move` is what a bag of the
moves is worth without their order, and the oracle's all-token loss is the floor that random moves leave to everyone.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clew.data.batch import Batch
from clew.data.recall_episodes import MOVES, cue_places
from clew.tasks.cue_recall import CueRecall


@dataclass(frozen=True)
class Reference:
    """One row of the table; a loss is None where the predictor gives no probabilities there.

    Attributes:
        delay: Random moves of the episodes.
        name: One word.
        words: What the predictor does.
        accuracy: Expected fraction of correct answers to the recall query.
        cue_loss_nats: Cross-entropy at the query.
        all_loss_nats: Cross-entropy of all tokens, all others being predicted as well as they can be.
    """

    delay: int
    name: str
    words: str
    accuracy: float
    cue_loss_nats: float | None
    all_loss_nats: float | None


def reference_rows(task: CueRecall, train: Batch, test: Batch) -> list[dict[str, Any]]:
    """Score every reference predictor on the test split; what is learnt at all is learnt from the training split."""
    references = [
        chance(task),
        oracle(task),
        uniform_movement(task),
        constant(task, train, test),
        most_common_move(task, test),
    ]
    return [asdict(reference) for reference in references]


def chance(task: CueRecall) -> Reference:
    """Guess among the four moves at the query."""
    words = "guesses the answer among the four moves; says nothing about other tokens"
    return Reference(task.delay, "chance", words, task.chance_accuracy, task.chance_loss_nats, None)


def oracle(task: CueRecall) -> Reference:
    """Know all that can be known: the cue at the query, nothing about random moves."""
    words = "remembers the cue; random moves stay unpredictable, so its loss over all tokens is the floor"
    return Reference(task.delay, "oracle", words, 1.0, 0.0, task.all_loss_floor_nats)


def uniform_movement(task: CueRecall) -> Reference:
    """Know where moves stand, and nothing about which ones."""
    words = "gives each move probability 1/4 wherever a move stands, and is as certain as possible elsewhere"
    loss = task.chance_loss_nats
    return Reference(task.delay, "uniform_movement", words, task.chance_accuracy, loss, _all_loss(task, loss))


def constant(task: CueRecall, train: Batch, test: Batch) -> Reference:
    """Answer always with the most common cue of the training split; with balanced test cues this scores 1/4."""
    answer = torch.bincount(_cues(train), minlength=MOVES).argmax()
    accuracy = (_cues(test) == answer).double().mean().item()
    words = "always gives the most common cue of the training episodes as its answer"
    return Reference(task.delay, "constant", words, accuracy, None, None)


def most_common_move(task: CueRecall, test: Batch) -> Reference:
    """Answer with the move seen most often before the query, the cue among them; ties are shared equally.

    Without the order of the moves nothing does better: given how often each move occurred, the cue is move m with
    probability count(m) / (delay + 1). These shares are the predictor's probabilities.
    """
    counts, cues = _move_counts(task, test), _cues(test).unsqueeze(1)
    is_best = counts == counts.amax(dim=1, keepdim=True)
    shares = (is_best.double() / is_best.sum(dim=1, keepdim=True)).gather(1, cues)
    loss = -(counts / counts.sum(dim=1, keepdim=True)).gather(1, cues).log().mean().item()
    words = "gives the move seen most often in the episode, the best answer without the order of the moves"
    name = "most_common_move"
    return Reference(task.delay, name, words, shares.mean().item(), loss, _all_loss(task, loss))


def _all_loss(task: CueRecall, cue_loss_nats: float) -> float:
    """All-token loss of a predictor that is perfect everywhere but at the query."""
    return task.all_loss_floor_nats + cue_loss_nats / task.input_steps


def _cues(split: Batch) -> Int[Tensor, " episodes"]:
    return split.inputs.gather(1, cue_places(split.inputs).unsqueeze(1)).squeeze(1)


def _move_counts(task: CueRecall, split: Batch) -> Float[Tensor, "episodes moves"]:
    seen = split.inputs[:, : task.query]
    return torch.stack([(seen == move).sum(dim=1) for move in range(MOVES)], dim=1).double()
