"""What an edit changes: a copy of a model with what it reads and is scored against, and the form that every edit has.

An edit is named by its kind and its place, and changes a draft in place; nothing is computed here. The kinds are in
`clew.explorer.edits.parsing`, where to start.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Bool
from torch import Tensor

from clew.data.batch import Batch
from clew.errors import ConfigError, complain
from clew.models import SequenceModel
from clew.models.heads import ClassTokenHead
from clew.models.patch_input import PatchInput
from clew.tasks import Forecasting, NextToken, Task


@runtime_checkable
class Read(Protocol):
    """A model and what it reads: a `Draft`, or the `Subject` of a trace."""

    @property
    def model(self) -> SequenceModel:
        """The model."""
        ...

    @property
    def words(self) -> list[list[str]]:
        """A label for each step of each row."""
        ...

    @property
    def batch(self) -> Batch:
        """What the task is given."""
        ...

    @property
    def task(self) -> Task:
        """What the model predicts."""
        ...

    @property
    def vocabulary(self) -> Sequence[str]:
        """The word of each id; empty where steps are no ids."""
        ...

    @property
    def unit(self) -> str:
        """What a step is called."""
        ...


@dataclass(eq=False)
class Draft:
    """A model and what it reads, as edits leave them.

    Attributes:
        model: A deep copy, in evaluation mode.
        words: A label for each step of each row; steps behind them are padding.
        batch: What the task is given.
        task: What the model predicts, and its loss.
        vocabulary: The word of each id; empty where steps are no ids.
        unit: What a step is called.
        visible: What the model is to be given as `visible`, for every row; None for nothing.
        encoder_visible: Likewise for an encoder with a class token, whose model takes no mask of that token.
    """

    model: SequenceModel
    words: list[list[str]]
    batch: Batch
    task: Task
    vocabulary: Sequence[str]
    unit: str = "word"
    visible: Bool[Tensor, "query source"] | None = None
    encoder_visible: Bool[Tensor, "query source"] | None = None


class Edit(ABC):
    """One change. Two edits with the same `address` are of the same place: the later one counts."""

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(cls, place: str, value: str) -> "Edit":
        """Read the two sides of `kind:place=value`.

        Raises:
            ConfigError: If one cannot be read.
        """

    @property
    @abstractmethod
    def address(self) -> tuple[str, ...]:
        """What is changed: a later edit with the same address replaces this one."""

    @abstractmethod
    def apply(self, draft: Draft, row: int) -> None:
        """Change the draft.

        Raises:
            ConfigError: If the edit does not apply to this model, or its place or value is out of range.
            DataError: If a word is unknown.
        """

    @abstractmethod
    def words(self, before: Read, row: int) -> str:
        """Say what changes, such as "word 2: journey → miles"; `before` is what there was without any edit."""

    def remarks(self, before: Read) -> Sequence[str]:
        """Say what a reader must know about the change; often nothing."""
        return ()


def read_steps(read: Read) -> int:
    """Count the steps that the encoder reads in a row, padding and a class token included."""
    inputs = read.batch.inputs
    if isinstance(read.model.inputs, PatchInput):
        steps = read.model.inputs.patches.count
    elif isinstance(read.task, NextToken):
        steps = inputs.shape[1] - 1
    elif isinstance(read.task, Forecasting):
        steps = inputs.shape[1] - 1 - read.task.lead
    else:
        steps = inputs.shape[1]
    return steps + isinstance(read.model.head, ClassTokenHead)


def whole_numbers(where: str, what: str, text: str, count: int | None = None) -> tuple[int, ...]:
    """Read numbers such as "2.1".

    Raises:
        ConfigError: If the text is anything else, or has another count of them.
    """
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts) or count not in (
        None,
        len(parts),
    ):
        rule = "whole numbers with a dot between, such as 2.1" if count != 1 else "a whole number, such as 2"
        raise ConfigError(complain(where, what, rule, f"'{text}'"))
    return tuple(map(int, parts))


def number(where: str, text: str) -> float:
    """Read a number; "NaN", "Infinity" and "-Infinity" are some.

    Raises:
        ConfigError: If it is none.
    """
    try:
        if "_" in text:
            raise ValueError
        return float(text.strip().replace("∞", "inf").replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise ConfigError(complain(where, "value", "a number, such as -0.25", f"'{text}'")) from None


def held(where: str, value: float, dtype: torch.dtype) -> float:
    """See that a number can be held by a type of numbers; NaN and infinity can.

    Raises:
        ConfigError: If it is too large.
    """
    if math.isfinite(value) and abs(value) > torch.finfo(dtype).max:
        rule = f"within what {str(dtype).removeprefix('torch.')} holds"
        raise ConfigError(complain(where, "value", rule, f"{value:g}"))
    return value


def within(where: str, what: str, place: int, count: int, rest: str = "") -> None:
    """See that a place is one of `count`.

    Raises:
        ConfigError: If it is not.
    """
    if not 0 <= place < count:
        raise ConfigError(complain(where, what, f"in [0, {count}){rest}", place))


def step_words(read: Read, row: int, step: int) -> str:
    """Name a step by its unit and number: "word 2"."""
    return f"{read.unit} {step}{f' of row {row}' if len(read.words) > 1 else ''}"
