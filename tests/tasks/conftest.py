"""Predictors with known scores: each task's metrics are held against them."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from clew.data.recall_episodes import BOS, EOS, MOVES, RECALL, VOCAB, lead_choices

CERTAIN = 60.0  # logit of what is certain, beside zeros: the others keep e^-60


class Output(NamedTuple):
    """What a model gives, as far as a task looks at it."""

    logits: Tensor


class Predictor(nn.Module):
    """A model made of one function from ids to logits; keeps what it was shown."""

    def __init__(self, logits: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.logits = logits
        self.seen: list[tuple[Tensor, Tensor | None, bool]] = []

    def forward(self, inputs: Tensor, valid: Tensor | None = None) -> Output:
        self.seen.append((inputs, valid, self.training))
        return Output(self.logits(inputs))


class RecallPredictor(nn.Module):
    """The best predictor of recall episodes in all but the answer, of which it knows what `answer` says."""

    def __init__(self, delay: int, cue_position: str = "fixed", answer: str = "cue") -> None:
        super().__init__()
        self.delay, self.choices, self.answer = delay, lead_choices(delay, cue_position), answer

    def forward(self, inputs: Tensor) -> Output:
        probabilities = torch.full((*inputs.shape, VOCAB), 1e-30, dtype=torch.float64)
        for row, ids in enumerate(inputs.tolist()):
            begin = ids.index(BOS)
            for step in range(len(ids)):
                for token, value in self._next(ids, begin, step).items():
                    probabilities[row, step, token] = value
        return Output(probabilities.log())

    def _next(self, ids: list[int], begin: int, step: int) -> dict[int, float]:
        moves = dict.fromkeys(range(MOVES), 1 / MOVES)
        if step < begin:
            # BOS stands at one of the places that are left, all equally likely.
            hazard = 1 / (self.choices - 1 - step)
            return {move: share * (1 - hazard) for move, share in moves.items()} | {BOS: hazard}
        if step <= self.delay:
            return moves
        if step == self.delay + 1:
            return {RECALL: 1.0}
        if step == self.delay + 2:
            return {"cue": {ids[begin + 1]: 1.0}, "uniform": moves, "constant": {2: 1.0}}[self.answer]
        return {EOS: 1.0}


@pytest.fixture
def predictor() -> type[Predictor]:
    return Predictor


@pytest.fixture
def recall_predictor() -> type[RecallPredictor]:
    return RecallPredictor


@pytest.fixture
def uniform(predictor: type[Predictor]) -> Callable[[int], Predictor]:
    """Make a predictor that gives every token the same probability."""
    return lambda vocab: predictor(lambda ids: torch.zeros(*ids.shape, vocab))


@pytest.fixture
def counting(predictor: type[Predictor]) -> Callable[[int], Predictor]:
    """Make a predictor that is certain that each id is followed by the next higher one."""
    return lambda vocab: predictor(lambda ids: CERTAIN * torch.nn.functional.one_hot((ids + 1) % vocab, vocab).float())
