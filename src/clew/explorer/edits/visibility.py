"""Edits of who may read whom: a rule for all positions, or a single cell of the mask.

A rule takes the place of the model's own causality and of cells that were hidden or shown before it; cells that are
hidden or shown after it change it. Padding is never shown. Only attention can hide a source from one query alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clew import visibility
from clew.errors import ConfigError, complain, did_you_mean
from clew.explorer.edits.draft import Draft, Edit, Read, read_steps, whole_numbers, within
from clew.explorer.edits.inputs import require_no_place
from clew.models.heads import ClassTokenHead
from clew.models.transformer_encoder import TransformerEncoder

RULES = ("full", "causal", "window-N")


@dataclass(frozen=True)
class VisibleEdit(Edit):
    """Another rule for all positions: full, causal, or causal within a window."""

    kind: ClassVar[str] = "visible"
    rule: str
    window: int | None = None

    @classmethod
    def parse(cls, place: str, value: str) -> "VisibleEdit":
        """Read `visible=full`, `visible=causal` or `visible=window-N`."""
        require_no_place(cls.kind, place)
        rule, dash, size = value.partition("-")
        if rule == "window" and dash:
            (window,) = whole_numbers("visible", "window", size, 1)
            if window < 1:
                raise ConfigError(complain("visible", "window", "at least 1, the position itself", window))
            return cls("window", window)
        if value not in ("full", "causal"):
            remedy = did_you_mean(value, RULES)
            raise ConfigError(complain("visible", "rule", "full, causal or window-N", f"'{value}'", remedy))
        return cls(value)

    @property
    def address(self) -> tuple[str, ...]:
        """There is one rule."""
        return (self.kind,)

    def apply(self, draft: Draft, row: int) -> None:
        """Replace the encoder's causality, and any mask that was given."""
        encoder = encoder_with_attention(draft, self.kind)
        if self.rule != "full" and isinstance(draft.model.head, ClassTokenHead):
            remedy = "It stands first and could read nothing."
            raise ConfigError(complain("visible", "rule", "full with a class token", f"'{self.rule}'", remedy))
        encoder.causal = self.rule != "full"
        mask = None
        if self.window is not None:
            time = read_steps(draft)
            # What comes later is hidden by causality, which has its own name; the mask adds what is too far back.
            mask = visibility.windowed(time, self.window) | ~visibility.causal(time)
        _give(draft, mask)

    def words(self, before: Read, row: int) -> str:
        """Say the rule."""
        if self.window is not None:
            reach = "itself alone" if self.window == 1 else f"itself and the {self.window - 1} before it"
            return f"visibility: each {before.unit} reads {reach}"
        seen = "itself and all before it" if self.rule == "causal" else "every other"
        return f"visibility: {self.rule}, each {before.unit} reads {seen}"

    def remarks(self, before: Read) -> list[str]:
        """Warn of a prediction that has read its answer."""
        return [_has_read()] if self.rule == "full" and before.task.boundary == "causal" else []


@dataclass(frozen=True)
class CellEdit(Edit):
    """One query and one source."""

    kind: ClassVar[str]
    query: int
    source: int

    @classmethod
    def parse(cls, place: str, value: str) -> "CellEdit":
        """Read `hide:QUERY.SOURCE` or `show:QUERY.SOURCE`."""
        if value:
            raise ConfigError(complain(cls.kind, "edit", f"of the form {cls.kind}:QUERY.SOURCE", f"'={value}'"))
        return cls(*whole_numbers(cls.kind, "cell", place, 2))

    @property
    def address(self) -> tuple[str, ...]:
        """The cell, whatever happens to it."""
        return "cell", str(self.query), str(self.source)

    def _mask(self, draft: Draft) -> Tensor:
        encoder = encoder_with_attention(draft, self.kind)
        time = read_steps(draft)
        within(self.kind, "query", self.query, time)
        within(self.kind, "source", self.source, time)
        given = draft.encoder_visible if isinstance(draft.model.head, ClassTokenHead) else draft.visible
        mask = torch.ones(time, time, dtype=torch.bool) if given is None else given.clone()
        if self.kind == "show" and encoder.causal and self.source > self.query:
            # One later source can only be shown where causality is no rule of its own any more but part of the mask.
            mask &= visibility.causal(time)
            encoder.causal = False
        return mask


class HideEdit(CellEdit):
    """A query does not read a source."""

    kind: ClassVar[str] = "hide"

    def apply(self, draft: Draft, row: int) -> None:
        """Take the cell out of the mask."""
        mask = self._mask(draft)
        mask[self.query, self.source] = False
        _give(draft, mask)

    def words(self, before: Read, row: int) -> str:
        """Name query and source."""
        return f"hidden: {_label(before, row, self.query)} does not read {_label(before, row, self.source)}"


class ShowEdit(CellEdit):
    """A query reads a source that was hidden."""

    kind: ClassVar[str] = "show"

    def apply(self, draft: Draft, row: int) -> None:
        """Put the cell into the mask."""
        mask = self._mask(draft)
        mask[self.query, self.source] = True
        _give(draft, mask)

    def words(self, before: Read, row: int) -> str:
        """Name query and source."""
        return f"shown: {_label(before, row, self.query)} reads {_label(before, row, self.source)}"

    def remarks(self, before: Read) -> list[str]:
        """Warn of a prediction that has read its answer."""
        return [_has_read()] if self.source > self.query and before.task.boundary == "causal" else []


def encoder_with_attention(read: Read, kind: str) -> TransformerEncoder:
    """Give the encoder whose queries can be kept from a source.

    Raises:
        ConfigError: If the model is recurrent.
    """
    if isinstance(read.model.encoder, TransformerEncoder):
        return read.model.encoder
    remedy = "Its state carries all that was read to every later step; use padding=N, or choose a transformer."
    raise ConfigError(complain(kind, "mask", "asked for in a model with attention", "a recurrent one", remedy))


def _give(draft: Draft, mask: Tensor | None) -> None:
    mask = None if mask is None or bool(mask.all()) else mask
    if isinstance(draft.model.head, ClassTokenHead):
        draft.encoder_visible = mask
    else:
        draft.visible = mask


def _has_read() -> str:
    return "A position now reads what it predicts: its loss no longer says how well it predicts."


def _label(read: Read, row: int, step: int) -> str:
    labels = read.words[row]
    word = labels[step] if step < len(labels) else ""
    return f"{step} {word}".strip() if word else f"{read.unit} {step}"
