"""Predictors without learning, for the results table: what chance, simple habits and perfect memory score on the test.

A result means something beside these only: 1/4 is no knowledge of the cue, `most_common_move` is what the moves are
worth without their order, and the oracle's all-token loss is the floor that random moves leave to everyone.
"""

from dataclasses import asdict, dataclass
from math import log
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clew.data.batch import Batch
from clew.data.recall_episodes import EXTRA_TOKENS, MOVES, RECALL, cue_places

CHANCE_ACCURACY = 1 / MOVES
CHANCE_LOSS_NATS = log(MOVES)


@dataclass(frozen=True)
class Reference:
    """One row of the table; a loss is None where the predictor gives no probabilities.

    Attributes:
        name: One word.
        words: What the predictor does.
        accuracy: Expected fraction of correct answers to the recall query.
        cue_loss_nats: Cross-entropy at the query.
        all_loss_nats: Cross-entropy of all tokens, all but the answer being predicted as well as they can be.
    """

    name: str
    words: str
    accuracy: float
    cue_loss_nats: float | None
    all_loss_nats: float | None


def recall_references(delay: int, floor_nats: float, train: Batch, test: Batch) -> list[dict[str, Any]]:
    """Score every reference predictor on the test episodes; what is learnt at all is learnt from the training ones.

    Args:
        delay: Random moves of the episodes.
        floor_nats: Expected all-token loss of the best predictor there is.
        train: Training episodes.
        test: Test episodes.
    """
    references = [
        chance(),
        oracle(floor_nats),
        uniform_movement(delay, floor_nats),
        constant(train, test),
        most_common_move(delay, floor_nats, test),
    ]
    return [asdict(reference) for reference in references]


def chance() -> Reference:
    """Guess among the four moves at the query."""
    words = "guesses the answer among the four moves; says nothing about other tokens"
    return Reference("chance", words, CHANCE_ACCURACY, CHANCE_LOSS_NATS, None)


def oracle(floor_nats: float) -> Reference:
    """Know all that can be known: the cue at the query, nothing about random moves."""
    words = "remembers the cue; random moves stay unpredictable, so its loss over all tokens is the floor"
    return Reference("oracle", words, 1.0, 0.0, floor_nats)


def uniform_movement(delay: int, floor_nats: float) -> Reference:
    """Know where moves stand, and nothing about which ones."""
    words = "gives each move probability 1/4 wherever a move stands, and is as certain as possible elsewhere"
    loss = _all_loss(delay, floor_nats, CHANCE_LOSS_NATS)
    return Reference("uniform_movement", words, CHANCE_ACCURACY, CHANCE_LOSS_NATS, loss)


def constant(train: Batch, test: Batch) -> Reference:
    """Answer always with the most common cue of the training episodes; with balanced test cues this scores 1/4."""
    answer = torch.bincount(_cues(train), minlength=MOVES).argmax()
    accuracy = (_cues(test) == answer).double().mean().item()
    words = "always gives the most common cue of the training episodes as its answer"
    return Reference("constant", words, accuracy, None, None)


def most_common_move(delay: int, floor_nats: float, test: Batch) -> Reference:
    """Answer with the move seen most often before the query, the cue among them; ties are shared equally.

    Without the order of the moves nothing does better: given how often each move occurred, the cue is move m with
    probability count(m) / (delay + 1). These shares are the predictor's probabilities.
    """
    counts, cues = _move_counts(test), _cues(test).unsqueeze(1)
    is_best = counts == counts.amax(dim=1, keepdim=True)
    answers = is_best.double() / is_best.sum(dim=1, keepdim=True)
    shares = counts / counts.sum(dim=1, keepdim=True)
    loss = -shares.gather(1, cues).log().mean().item()
    words = "gives the move seen most often in the episode, the best answer without the order of the moves"
    accuracy = answers.gather(1, cues).mean().item()
    return Reference("most_common_move", words, accuracy, loss, _all_loss(delay, floor_nats, loss))


def _all_loss(delay: int, floor_nats: float, cue_loss_nats: float) -> float:
    """All-token loss of a predictor that lacks nothing but the answer."""
    return floor_nats + cue_loss_nats / (delay + EXTRA_TOKENS - 1)


def _cues(episodes: Batch) -> Int[Tensor, " episodes"]:
    return episodes.inputs.gather(1, cue_places(episodes.inputs).unsqueeze(1)).squeeze(1)


def _move_counts(episodes: Batch) -> Float[Tensor, "episodes moves"]:
    """How often each move occurs before RECALL."""
    is_before = (episodes.inputs == RECALL).cumsum(dim=1) == 0
    return torch.stack([((episodes.inputs == move) & is_before).sum(dim=1) for move in range(MOVES)], dim=1).double()
