"""Cue recall: next-token prediction in which one query, the move after RECALL, needs the cue from the start.

    token ids   BOS  2    0 3 1   RECALL  2    EOS        delay 3
    inputs      BOS  2    0 3 1   RECALL  2
    targets     2    0    3 1 RECALL  2   EOS
    query                         ^ predicts 2

All positions train the model; the query alone says whether it remembers. Even a perfect model cannot predict the random
moves, so that the loss over all tokens has a floor far above zero, under which memory hides.
"""

from math import log
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.data.recall_episodes import (
    EXTRA_TOKENS,
    MOVES,
    RECALL,
    VOCAB,
    check_cue_position,
    check_delay,
    lead_choices,
)
from clew.errors import DataError, ShapeError, complain
from clew.tasks.memory_signal import memory_signal
from clew.tasks.next_token import NextToken, TokenScores
from clew.tasks.recall_references import CHANCE_ACCURACY, CHANCE_LOSS_NATS, recall_references
from clew.tasks.sequences import Sequences, whole
from clew.tasks.task import Aligned, Task

DIAGNOSED_EPISODES = 128


class EpisodeLosses(NamedTuple):
    """Cross-entropy of each episode: at the query, and as the mean over all its targets."""

    cue_nats: Float[Tensor, " episodes"]
    all_nats: Float[Tensor, " episodes"]


class CueRecall(Task):
    """Recall the cue of an episode after `delay` random moves.

    A perfect predictor has cue accuracy 1, cue loss 0 and the all-token loss `all_loss_floor_nats`; a predictor without
    the cue has cue accuracy 1/4 and a cue loss of at least log 4, by `chance_accuracy` and `chance_loss_nats`.

    Args:
        delay: Random moves of an episode, at least 1.
        cue_position: "fixed" (the cue stands second) or "random" (BOS and cue stand after 0 to delay // 2 moves).

    Raises:
        ConfigError: If an argument is out of range.

    >>> task = CueRecall(8)
    >>> task.query, round(task.all_loss_floor_nats, 4)
    (10, 1.0397)
    """

    name: ClassVar[str] = "cue_recall"
    kind_of_head: ClassVar[Literal["sequence", "rows"]] = "rows"
    boundary: Literal["causal", "full"] = "causal"
    selection: str = "cue_loss_nats"
    metrics: tuple[str, ...] = ("cue_loss_nats", "cue_accuracy", "all_loss_nats", "move_accuracy")
    chance_accuracy: ClassVar[float | None] = CHANCE_ACCURACY
    oracle_accuracy: ClassVar[float | None] = 1.0
    chance_loss_nats: ClassVar[float] = CHANCE_LOSS_NATS

    def __init__(self, delay: int, cue_position: str = "fixed") -> None:
        check_delay("CueRecall", delay)
        check_cue_position("CueRecall", cue_position)
        self.delay = delay
        self.cue_position = cue_position
        self.query = delay + 2
        self.next_token = NextToken(VOCAB)

    @property
    def label(self) -> str:
        """Name the setting."""
        return f"delay {self.delay}" + (", random cue position" if self.cue_position == "random" else "")

    @property
    def input_steps(self) -> int:
        """Input rows of an episode: all tokens but the last."""
        return self.delay + EXTRA_TOKENS - 1

    @property
    def all_loss_floor_nats(self) -> float:
        """Expected all-token loss of the best predictor there is, in nats a target.

            fixed     (d + 1) log 4 / (d + 4)
            random    (log J + (d + 1) log 4 - H(first)) / (d + 4)
                      H(first) = log(J) / J + (1 - 1/J) log(4 J / (J - 1))

        Cue and d moves are uniform over four; RECALL, the answer and EOS are certain. In the random variant the place
        of BOS is uniform over J = d // 2 + 1, and the first token, which nothing predicts, takes its entropy along.
        """
        entropy = (self.delay + 1) * log(MOVES)
        choices = lead_choices(self.delay, self.cue_position)
        if choices > 1:
            first = log(choices) / choices + (1 - 1 / choices) * log(MOVES * choices / (choices - 1))
            entropy += log(choices) - first
        return entropy / self.input_steps

    def config(self) -> dict[str, Any]:
        """Give the arguments of the task."""
        return {"delay": self.delay, "cue_position": self.cue_position}

    @property
    def outputs(self) -> int:
        """Number of logits: one a token."""
        return VOCAB

    def align(self, batch: Batch) -> Aligned:
        """Shift the ids by one step; every position counts in the training loss.

        Raises:
            ShapeError: If the episodes do not have delay + 5 tokens.
        """
        expected = self.delay + EXTRA_TOKENS
        if batch.inputs.ndim != 2 or batch.inputs.shape[1] != expected or batch.valid is not None:
            rule = f"episodes of delay + {EXTRA_TOKENS} = {expected} tokens without padding"
            got = f"shape {tuple(batch.inputs.shape)}{'' if batch.valid is None else ' with padding'}"
            raise ShapeError(complain("CueRecall", "inputs", rule, got, "Sample the episodes with the task's delay."))
        return self.next_token.align(batch)

    def loss(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Mean next-token cross-entropy of all positions, in nats."""
        self.align(batch)
        return self.next_token.loss(model, batch)

    def evaluate(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, float]:
        """Score the query, all tokens, and the random moves.

        Returns:
            `cue_loss_nats` and `cue_accuracy` at the query; `all_loss_nats` over all targets; `move_accuracy` where the
            target is drawn at random (the cue, and every move), which no predictor brings above 1/4 in expectation.
        """
        scores = self._score(model, batch, chunk)
        return {
            "cue_loss_nats": scores.losses_nats[:, self.query].mean().item(),
            "cue_accuracy": scores.hits[:, self.query].double().mean().item(),
            "all_loss_nats": scores.losses_nats.mean().item(),
            "move_accuracy": scores.hits[self._is_random(scores)].double().mean().item(),
        }

    def predict(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, np.ndarray]:
        """Give `probabilities` of the next token after each input, (batch, delay + 4, tokens)."""
        return self.next_token.predict(model, batch, chunk)

    def correct(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> Bool[Tensor, " batch"]:
        """Say for each episode whether the most probable token after RECALL is the cue."""
        return self._score(model, batch, chunk).hits[:, self.query]

    def episode_losses(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> EpisodeLosses:
        """Give the losses of each episode; their mean is that of `evaluate`.

        With a fixed cue a perfect predictor has exactly the floor in every episode, so that a model whose mean lies
        below it by more than chance reads what it predicts.
        """
        losses = self._score(model, batch, chunk).losses_nats
        return EpisodeLosses(losses[:, self.query], losses.mean(dim=1))

    def evidence(self, model: nn.Module, batch: Sequences, chunk: int = 512) -> dict[str, int | float]:
        """Give the accuracy on random targets, of which at most 1/4 can be known, and the all-token loss."""
        scores = self._score(model, batch, chunk)
        if len(batch) < 2:
            return {}
        is_random, losses = self._is_random(scores), scores.losses_nats.mean(dim=1)
        return {
            "move_correct": int(scores.hits[is_random].sum()),
            "move_count": int(is_random.sum()),
            "loss_nats": losses.mean().item(),
            "standard_error_nats": losses.std().item() / len(losses) ** 0.5,
            "floor_nats": self.all_loss_floor_nats,
        }

    def references(self, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
        """Score chance, oracle, uniform movement, a constant answer and the most common move."""
        return recall_references(self.delay, self.all_loss_floor_nats, whole(train), whole(test))

    def diagnose(self, model: nn.Module, batch: Batch) -> dict[str, float]:
        """Measure the memory signal on the first 128 episodes (see `memory_signal`)."""
        self._check_query(batch)
        return memory_signal(model, self.align(batch).inputs[:DIAGNOSED_EPISODES], self.query)

    def _score(self, model: nn.Module, batch: Sequences, chunk: int) -> TokenScores:
        batch = whole(batch)
        self._check_query(batch)
        return self.next_token.score(model, batch, chunk)

    def _is_random(self, scores: TokenScores) -> Bool[Tensor, "batch time"]:
        """True at targets that are drawn at random: all moves but the answer."""
        is_random = scores.targets < MOVES
        is_random[:, self.query] = False
        return is_random

    def _check_query(self, batch: Batch) -> None:
        is_query = self.align(batch).inputs[:, self.query] == RECALL
        if not bool(is_query.all()):
            row = int((~is_query).nonzero()[0])
            got = f"{int(batch.inputs[row, self.query])} at row {row}"
            raise DataError(complain("CueRecall", f"the token at step {self.query}", f"RECALL ({RECALL})", got))
