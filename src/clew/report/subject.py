"""What a trace is about: a model, what it reads, and the words for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from clew.data.batch import Batch
from clew.errors import DataError, complain
from clew.models import SequenceModel
from clew.tasks import Forecasting, NextToken, Task


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and what it reads.

    Attributes:
        model: In evaluation mode.
        words: A label for each step of each row; of next-token prediction the tokens.
        batch: What the task is given.
        vocabulary: The word of each id; empty where steps are no ids.
        description: The model in words, for a summary.
        task: What the model predicts, and its loss.
        unit: What a step is called.
        title: The rows in words, where the labels of their steps are no text.
    """

    model: SequenceModel
    words: list[list[str]]
    batch: Batch
    vocabulary: Sequence[str]
    description: str
    task: Task
    unit: str = "word"
    title: str = ""

    @property
    def is_shifted(self) -> bool:
        """Whether the last step of a row is only predicted where there is a loss."""
        return isinstance(self.task, NextToken)

    @property
    def reading(self) -> Batch:
        """What the model is given where no loss is wanted."""
        if not isinstance(self.task, Forecasting):
            return self.batch
        aligned = self.task.align(self.batch)
        return Batch(aligned.inputs, aligned.valid)


def count_of(number: int, word: str) -> str:
    """Write a number with its noun.

    >>> count_of(1, "step"), count_of(2, "patch")
    ('1 step', '2 patches')
    """
    return f"{number} {word}{'' if number == 1 else 'es' if word == 'patch' else 's'}"


def batch_of(rows: list[list[str]], vocabulary: Sequence[str]) -> Batch:
    """Look words up, and pad rows on the right."""
    places = {word: token for token, word in enumerate(vocabulary)}
    longest = max(map(len, rows))
    ids = [[places[word] for word in row] + [0] * (longest - len(row)) for row in rows]
    if len({len(row) for row in rows}) == 1:
        return Batch(torch.tensor(ids))
    lengths = torch.tensor([len(row) for row in rows])
    return Batch(torch.tensor(ids), torch.arange(longest) < lengths.unsqueeze(1))


def require_known(rows: list[list[str]], known: Sequence[str]) -> None:
    """Raise DataError for the first word that a model does not know."""
    for number, row in enumerate(rows):
        for place, word in enumerate(row):
            if word not in known:
                got = f"'{word}' at position {place}{f' of line {number}' if len(rows) > 1 else ''}"
                remedy = f"Known words: {', '.join(known)}."
                raise DataError(complain("clew trace", "words", "known to the model", got, remedy))
