"""Edits of what a prediction is scored against, without touching what the model reads.

Where targets are read off the inputs (the next token, the next value of a series), a task of its own gives others;
where the data brought them, the batch does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

import torch
from torch import Tensor

from clew.data.batch import Batch
from clew.errors import ConfigError, complain
from clew.explorer.edits.draft import Draft, Edit, Read, held, number, step_words, whole_numbers, within
from clew.explorer.edits.vocabulary_words import id_of_word
from clew.rendering.numbers import format_number
from clew.tasks import Classification, Forecasting, NextToken, Regression, Tagging
from clew.tasks.task import Aligned, Task

Targets = Mapping[tuple[int, ...], float | int]


class RetargetedTokens(NextToken):
    """Next-token prediction with other targets at some places (row, step)."""

    def __init__(self, task: NextToken, targets: Targets) -> None:
        super().__init__(task.vocab, task.token_bytes)
        self.targets = dict(targets)

    def align(self, batch: Batch) -> Aligned:
        """Shift the ids, then put the other targets in."""
        aligned = super().align(batch)
        return replace(aligned, targets=_changed(aligned.targets, self.targets))


class RetargetedForecast(Forecasting):
    """Forecasting with other targets at some places (row, step, series)."""

    def __init__(self, task: Forecasting, targets: Targets) -> None:
        super().__init__(**task.config())
        self.targets = dict(targets)

    def align(self, batch: Batch) -> Aligned:
        """Take the next values, then put the other targets in."""
        aligned = super().align(batch)
        return replace(aligned, targets=_changed(aligned.targets, self.targets))


@dataclass(frozen=True)
class TargetEdit(Edit):
    """Another target: a word, a class or a number."""

    kind: ClassVar[str] = "target"
    place: tuple[int, ...]
    value: str

    @classmethod
    def parse(cls, place: str, value: str) -> "TargetEdit":
        """Read `target:STEP=WORD`, `target:STEP.SERIES=NUMBER` or, of a whole sequence, `target=CLASS_OR_NUMBER`."""
        return cls(whole_numbers("target", "place", place) if place else (), value)

    @property
    def address(self) -> tuple[str, ...]:
        """The prediction."""
        return self.kind, *map(str, self.place)

    def apply(self, draft: Draft, row: int) -> None:
        """Change the task's targets, or those of the batch."""
        task, place = draft.task, self._index(draft, row)
        target = self._target(draft)
        aligned = task.align(draft.batch)
        for name, at, size in zip(("step", "series"), place[1:], aligned.targets.shape[1:], strict=False):
            within("target", name, at, size)
        if aligned.scored is not None and not bool(aligned.scored[place[: aligned.scored.ndim]]):
            remedy = "Padding, and a document's first token, are scored against nothing."
            raise ConfigError(complain("target", "step", "one that is scored", self._where(), remedy))
        if isinstance(task, NextToken):
            known = task.targets if isinstance(task, RetargetedTokens) else {}
            draft.task = RetargetedTokens(task, known | {place: target})
        elif isinstance(task, Forecasting):
            known = task.targets if isinstance(task, RetargetedForecast) else {}
            draft.task = RetargetedForecast(task, known | {place: target})
        else:
            assert draft.batch.targets is not None
            at = place[: draft.batch.targets.ndim]
            draft.batch = replace(draft.batch, targets=_changed(draft.batch.targets, {at: target}))

    def words(self, before: Read, row: int) -> str:
        """Name the prediction, the old target and the new one."""
        try:
            place = self._index(before, row)
            old = before.task.align(before.batch).targets[place].item()
        except (ConfigError, IndexError):
            return f"target {self._where()} → {self.value}"
        if isinstance(before.task, NextToken):
            old = before.vocabulary[int(old)]
            return f"target after {step_words(before, row, place[1])}: {old} → {self.value}"
        where = f"target of {step_words(before, row, place[1])}" if len(place) > 1 and self.place else "target"
        return f"{where}: {format_number(old)} → {self.value}"

    def remarks(self, before: Read) -> list[str]:
        """Say what cannot change."""
        return ["The model reads the same: no quantity before the loss changes."]

    def _index(self, read: Read, row: int) -> tuple[int, ...]:
        """Give the target's index in what the task aligns."""
        task = read.task
        wanted: tuple[int, ...] = (1,)
        form = "target:STEP=..."
        if isinstance(task, Forecasting):
            wanted, form = (1, 2) if task.series == 1 else (2,), "target:STEP.SERIES=NUMBER"
        elif isinstance(task, Regression):
            wanted, form = (0, 1) if task.outputs == 1 else (1,), "target:OUTPUT=NUMBER"
        elif isinstance(task, Classification):
            wanted, form = (0,), "target=CLASS"
        if len(self.place) not in wanted:
            got = f"'{self.kind}{':' if self.place else ''}{self._where()}=...'"
            raise ConfigError(complain("target", "edit", f"of the form {form}", got))
        is_numbers = isinstance(task, Forecasting | Regression)
        short = is_numbers and len(self.place) < max(wanted)
        return row, *self.place, *((0,) if short else ())

    def _target(self, draft: Draft) -> float | int:
        task = draft.task
        if isinstance(task, NextToken):
            return id_of_word(f"target after step {self._where()}", self.value, draft.vocabulary)
        if isinstance(task, Tagging | Classification):
            (found,) = whole_numbers("target", "class", self.value, 1)
            within("target", "class", found, task.classes)
            return found
        found = number("target", self.value)
        if not isfinite(found):
            remedy = "A target that is no number is not scored."
            raise ConfigError(complain("target", "value", "finite", self.value, remedy))
        return held("target", found, draft.batch.inputs.dtype if draft.batch.targets is None else _type(draft.batch))

    def _where(self) -> str:
        return ".".join(map(str, self.place))


def _type(batch: Batch) -> torch.dtype:
    assert batch.targets is not None
    return batch.targets.dtype if batch.targets.is_floating_point() else torch.float64


def _changed(targets: Tensor, others: Targets) -> Tensor:
    found = targets.clone()
    for place, target in others.items():
        found[place] = target
    return found


def has_targets(task: Task) -> bool:
    """Whether the targets of a task can be edited."""
    return isinstance(task, NextToken | Forecasting | Tagging | Classification | Regression)
