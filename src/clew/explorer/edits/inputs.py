"""Edits of what is read: a token, a number, and how many of the last steps are padding."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from clew.errors import ConfigError, complain
from clew.explorer.edits.draft import Draft, Edit, Read, held, number, step_words, whole_numbers, within
from clew.explorer.edits.vocabulary_words import id_of_word
from clew.models.patch_input import PatchInput
from clew.rendering.numbers import format_number
from clew.report.subject import count_of
from clew.tasks import Forecasting, NextToken


@dataclass(frozen=True)
class TokenEdit(Edit):
    """Another token at a step; of next-token prediction the target of the step before it changes too."""

    kind: ClassVar[str] = "token"
    step: int
    word: str

    @classmethod
    def parse(cls, place: str, value: str) -> "TokenEdit":
        """Read `token:STEP=WORD`."""
        (step,) = whole_numbers("token", "step", place, 1)
        return cls(step, value)

    @property
    def address(self) -> tuple[str, ...]:
        """The step."""
        return self.kind, str(self.step)

    def apply(self, draft: Draft, row: int) -> None:
        """Replace the id and the label."""
        _require_ids(draft)
        within("token", f"step of a {draft.unit}", self.step, len(draft.words[row]))
        token = id_of_word(f"token at step {self.step}", self.word, draft.vocabulary)
        inputs = draft.batch.inputs.clone()
        inputs[row, self.step] = token
        draft.batch = replace(draft.batch, inputs=inputs)
        draft.words[row] = [*draft.words[row]]
        draft.words[row][self.step] = draft.vocabulary[token]

    def words(self, before: Read, row: int) -> str:
        """Name the step, the old word and the new one."""
        labels = before.words[row]
        old = labels[self.step] if self.step < len(labels) else "nothing"
        return f"{step_words(before, row, self.step)}: {old} → {self.word}"


@dataclass(frozen=True)
class ValueEdit(Edit):
    """Another number in real-valued inputs, or another pixel of an image."""

    kind: ClassVar[str] = "value"
    place: tuple[int, ...]
    value: float

    @classmethod
    def parse(cls, place: str, value: str) -> "ValueEdit":
        """Read `value:STEP.FEATURE=NUMBER`, of an image `value:CHANNEL.ROW.COLUMN=NUMBER`."""
        return cls(whole_numbers("value", "place", place), number("value", value))

    @property
    def address(self) -> tuple[str, ...]:
        """The cell."""
        return self.kind, *map(str, self.place)

    def apply(self, draft: Draft, row: int) -> None:
        """Replace the number."""
        inputs = draft.batch.inputs
        axes = axes_of_values(draft)
        if len(self.place) != len(axes):
            rule, got = f"{'.'.join(axes)}", ".".join(map(str, self.place))
            raise ConfigError(complain("value", "place", f"of the form {rule.upper()}", f"'{got}'"))
        for name, place, size in zip(axes, self.place, inputs.shape[1:], strict=True):
            within("value", name, place, size)
        inputs = inputs.clone()
        inputs[(row, *self.place)] = held("value", self.value, inputs.dtype)
        draft.batch = replace(draft.batch, inputs=inputs)
        self._relabel(draft, row)

    def _relabel(self, draft: Draft, row: int) -> None:
        """Write the new number where a step's label holds its only one, such as "x_1 = -1.0"."""
        step, labels = self.place[0], draft.words[row]
        if draft.batch.inputs.ndim == 3 and draft.batch.inputs.shape[2] == 1 and step < len(labels):
            name, equals, _ = labels[step].partition(" = ")
            if equals:
                draft.words[row] = [*labels[:step], f"{name} = {self.value}", *labels[step + 1 :]]

    def words(self, before: Read, row: int) -> str:
        """Name the cell, the old number and the new one."""
        inputs = before.batch.inputs
        old = "nothing"
        if len(self.place) == inputs.ndim - 1 and all(
            at < size for at, size in zip(self.place, inputs.shape[1:], strict=True)
        ):
            old = format_number(float(inputs[(row, *self.place)]))
        names = axes_of_values(before) if inputs.ndim in (3, 4) else ("place",) * len(self.place)
        where = ", ".join(f"{name} {at}" for name, at in zip(names, self.place, strict=False))
        return f"input at {where}: {old} → {format_number(self.value)}"

    def remarks(self, before: Read) -> list[str]:
        """Say that a series is also what is predicted."""
        if isinstance(before.task, Forecasting) and len(self.place) == 2 and self.place[1] < before.task.series:
            return ["This number is also what the step before it is scored against, and what later lags read."]
        return []


@dataclass(frozen=True)
class PaddingEdit(Edit):
    """The last steps that are read become padding."""

    kind: ClassVar[str] = "padding"
    count: int

    @classmethod
    def parse(cls, place: str, value: str) -> "PaddingEdit":
        """Read `padding=N`."""
        require_no_place(cls.kind, place)
        return cls(*whole_numbers("padding", "number of steps", value, 1))

    @property
    def address(self) -> tuple[str, ...]:
        """There is one padding."""
        return (self.kind,)

    def apply(self, draft: Draft, row: int) -> None:
        """Mark the steps, and drop their labels."""
        if self.count == 0:
            return
        if isinstance(draft.model.inputs, PatchInput):
            rule, remedy = "asked for in sequences", "The patches of an image are all real."
            raise ConfigError(complain("padding", "padding", rule, "an image", remedy))
        inputs, valid = draft.batch.inputs, draft.batch.valid
        valid = torch.ones(inputs.shape[:2], dtype=torch.bool) if valid is None else valid.clone()
        # A step that is only predicted is not read; where it goes, the target of the last real step goes with it.
        is_ahead = isinstance(draft.task, NextToken | Forecasting)
        lead = draft.task.lead if isinstance(draft.task, Forecasting) else 0
        real = valid[row, lead : -1 if is_ahead else None].nonzero().flatten() + lead
        kept = 2 if isinstance(draft.task, NextToken) else 1
        most = len(real) - kept
        if self.count > most:
            rule = f"at most {max(most, 0)}, so that {count_of(kept, 'real step')} stay{'s' * (kept == 1)}"
            raise ConfigError(complain("padding", "number of steps", rule, self.count))
        first = int(real[-self.count])
        valid[row, first + (1 if isinstance(draft.task, Forecasting) else 0) :] = False
        draft.batch = replace(draft.batch, valid=valid)
        labels = first - lead + isinstance(draft.task, NextToken)
        draft.words[row] = draft.words[row][:labels]

    def words(self, before: Read, row: int) -> str:
        """Say how many steps."""
        if self.count == 1:
            return f"padding: the last {before.unit} that is read"
        return f"padding: the last {count_of(self.count, before.unit)} that are read"


def axes_of_values(read: Read) -> tuple[str, ...]:
    """Name the axes of real-valued inputs.

    Raises:
        ConfigError: If the inputs are ids.
    """
    inputs = read.batch.inputs
    if not inputs.is_floating_point():
        rule, remedy = "asked for in real-valued inputs", "Edit the token: token:STEP=WORD."
        raise ConfigError(complain("value", "value", rule, f"a model that reads {read.unit}s by their id", remedy))
    return ("channel", "row", "column") if inputs.ndim == 4 else ("step", "feature")


def require_no_place(kind: str, place: str) -> None:
    """See that an edit of the whole has no place.

    Raises:
        ConfigError: If it has.
    """
    if place:
        raise ConfigError(complain(kind, "edit", f"of the form {kind}=...", f"'{kind}:{place}=...'"))


def _require_ids(draft: Draft) -> None:
    if draft.batch.inputs.is_floating_point() or draft.batch.inputs.ndim != 2 or not draft.vocabulary:
        rule, remedy = "asked for where steps are tokens", "Edit a number: value:STEP.FEATURE=NUMBER."
        raise ConfigError(complain("token", "token", rule, "a model of real-valued inputs", remedy))
