"""What goes into the model in one call: the content that is varied, which steps are real, and what belongs to the rows.

A `Sample` can be cut, reordered, extended and filled with other content; everything that belongs to its rows and steps
goes along. How it is handed to the model, and in which of the conventions padding is told, is its `Form`.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

PaddingForm = Literal["none", "lengths", "valid", "mask", "pad"]
MASK = "attention_mask"
IGNORED = -100


@dataclass(frozen=True)
class Form:
    """How a model takes its inputs.

    Attributes:
        key: Entry of a dict that holds the content; None where the content is the input itself.
        padding: How padding is told: lengths, a bool tensor, an attention_mask entry, the pad id alone, or not at all.
        pad: Id that stands for padding, if there is one.
        vocab: Legal ids for made-up content; None for real-valued content.
        lengths_like: The lengths as given, for their type.
    """

    key: str | None
    padding: PaddingForm
    pad: int | None = None
    vocab: tuple[int, ...] | None = None
    lengths_like: Any = None


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs of one call.

    Attributes:
        content: Ids (batch, time) or real values (batch, time, ...).
        valid: True at a real step; None where padding is unknown to the caller.
        others: Other entries of a dict of inputs.
        form: How the model takes all this.
    """

    content: Shaped[Tensor, "batch time *features"]
    valid: Bool[Tensor, "batch time"] | None
    others: dict[str, Any]
    form: Form

    @property
    def batch(self) -> int:
        """Number of rows."""
        return self.content.shape[0]

    @property
    def time(self) -> int:
        """Number of steps, padding included."""
        return self.content.shape[1]

    @property
    def is_ids(self) -> bool:
        """Whether the content is ids rather than real values."""
        return not self.content.is_floating_point()

    @property
    def real(self) -> Bool[Tensor, "batch time"]:
        """True at a real step; everywhere if nobody said otherwise."""
        if self.valid is not None:
            return self.valid
        return torch.ones(self.content.shape[:2], dtype=torch.bool, device=self.content.device)

    @property
    def has_padding(self) -> bool:
        """Whether any step is padding."""
        return self.valid is not None and not bool(self.valid.all())

    def arguments(self, dtype: torch.dtype | None = None) -> tuple[Any, Any]:
        """Give fresh copies of what the model receives: inputs, and lengths or valid or None.

        Args:
            dtype: Type of real values, where the model is run in another than its own.
        """
        content = self.content.clone()
        if dtype is not None and content.is_floating_point():
            content = content.to(dtype)
        if self.form.key is None:
            return content, self._told_padding()
        others = {name: _copied(value, dtype) for name, value in self.others.items()}
        if self.form.padding == "mask" and self.valid is not None:
            others[MASK] = self.valid.to(self.others[MASK].dtype)
        return others | {self.form.key: content}, self._told_padding()

    def _told_padding(self) -> Any:
        if self.valid is None:
            return None
        if self.form.padding == "valid":
            return self.valid.clone()
        if self.form.padding != "lengths":
            return None
        lengths = self.valid.sum(dim=1)
        like = self.form.lengths_like
        return lengths.to(like.dtype) if isinstance(like, Tensor) else type(like)(lengths.tolist())

    def with_content(self, content: Shaped[Tensor, "batch time *features"]) -> "Sample":
        """Put other content in the same places."""
        return replace(self, content=content)

    def with_valid(self, valid: Bool[Tensor, "batch time"]) -> "Sample":
        """Say that other steps are real."""
        return replace(self, valid=valid)

    def filled(self, content: Shaped[Tensor, "batch time *features"], where: Bool[Tensor, "batch time"]) -> "Sample":
        """Replace the content where a step is marked, and keep it elsewhere."""
        return self.with_content(torch.where(_beside(where, content), content, self.content))

    def rows(self, index: Int[Tensor, " chosen"]) -> "Sample":
        """Take some rows, in the order of `index`; a row may be taken several times."""
        valid = None if self.valid is None else self.valid[index]
        others = {name: value[index] if self._has_rows(value) else value for name, value in self.others.items()}
        return replace(self, content=self.content[index], valid=valid, others=others)

    def steps(self, index: Int[Tensor, " chosen"]) -> "Sample":
        """Take some steps of every row, in the order of `index`."""
        valid = None if self.valid is None else self.valid[:, index]
        others = {name: value[:, index] if self._has_steps(value) else value for name, value in self.others.items()}
        return replace(self, content=self.content[:, index], valid=valid, others=others)

    def with_steps_of_row(self, index: Int[Tensor, "batch time"]) -> "Sample":
        """Reorder the steps of each row by an index of its own."""
        valid = None if self.valid is None else self.valid.gather(1, index)
        others = {name: _gathered(v, index) if self._has_steps(v) else v for name, v in self.others.items()}
        return replace(self, content=_gathered(self.content, index), valid=valid, others=others)

    def extended(self, count: int, fill: Shaped[Tensor, "*features"]) -> "Sample":
        """Add `count` steps of padding behind every row; ignored labels and repeated entries go along."""
        tail = fill.to(self.content.dtype).expand(self.batch, count, *self.content.shape[2:])
        last = torch.cat([torch.arange(self.time), torch.full((count,), self.time - 1)])
        longer = self.steps(last.to(self.content.device))
        for name in ("labels", "label"):
            if self._has_steps(self.others.get(name)):
                longer.others[name][:, self.time :] = IGNORED
        valid = None if self.valid is None else torch.cat([self.valid, self.valid.new_zeros(self.batch, count)], 1)
        return replace(longer, content=torch.cat([self.content, tail], dim=1), valid=valid)

    def together(self, others: "list[Sample]") -> "Sample":
        """Put the rows of several samples of one form and size side by side."""
        count = len(others)
        if count == 1:
            return others[0]
        stacked = self.rows(torch.arange(self.batch).repeat(count).to(self.content.device))
        valid = None if self.valid is None else torch.cat([other.real for other in others])
        return replace(stacked, content=torch.cat([other.content for other in others]), valid=valid)

    def _has_rows(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.ndim > 0 and value.shape[0] == self.batch

    def _has_steps(self, value: Any) -> bool:
        return self._has_rows(value) and value.ndim > 1 and value.shape[1] == self.time


def _copied(value: Any, dtype: torch.dtype | None) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.clone() if dtype is None or not value.is_floating_point() else value.to(dtype, copy=True)


def _beside(flags: Bool[Tensor, "batch time"], content: Tensor) -> Tensor:
    """Give flags the trailing axes of the content."""
    return flags.reshape(*flags.shape, *(1,) * (content.ndim - 2))


def _gathered(values: Tensor, index: Int[Tensor, "batch time"]) -> Tensor:
    """Reorder the second axis by an index for each row."""
    return values[torch.arange(len(values), device=values.device).unsqueeze(1), index]
