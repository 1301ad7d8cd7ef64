"""One item of the worked example: a titled table of unrounded numbers and words, and perhaps a picture of them.

A subject file of the walkthrough holds functions that take nothing and give one `Item` each, and lists them in reading
order as `ITEMS`. The item's identifier is the function's name with hyphens, so that one item can be found without
making the others. Rounding is the business of whoever shows an item. Start with `Item`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Float
from torch import Tensor

Cell = str | int | float | None  # None: not computed; "hidden": hidden by a mask


@dataclass(frozen=True)
class Curve:
    """One curve of a chart: its name and its points (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class CurveChart:
    """Curves over common axes; `has_log_scale` concerns the vertical axis."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    has_log_scale: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A matrix as colours, `values[row][column]`; the axis names say what its rows and columns are.

    A "sequential" scale runs from 0 to 1 and is for weights and gates; a "diverging" one has zero at its middle.
    """

    title: str
    values: Sequence[Sequence[Cell]]
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    row_axis: str = "positions"
    column_axis: str = "features"
    scale: Literal["sequential", "diverging"] = "diverging"


@dataclass(frozen=True)
class Item:
    """A table, figure, formula's example, exercise or confusion of the text, recomputed.

    Attributes:
        id: Lower-case words joined by hyphens: the name of the function that makes the item.
        title: What the numbers are, in a few words.
        chapter: Its place in the text: "Table 13", "Figure 3", "Formula: ...", "Exercise 2", "Confusion 4", or
            "Pause: ...". A numbered table or figure has one item only.
        columns: A name for each column; the first column names the row.
        rows: Unrounded numbers and words, in the text's order.
        notes: Sentences below the table: what was chosen, what to see.
        panels: What is drawn beside the table.
        caption: What the drawing shows.
    """

    id: str
    title: str
    chapter: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    panels: Sequence[CurveChart | HeatMap] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.id), self.id
        assert self.rows, f"{self.id}: no rows"
        for row in self.rows:
            assert len(row) == len(self.columns), f"{self.id}: {len(row)} cells for {len(self.columns)} columns: {row}"

    def to_json(self) -> dict[str, Any]:
        """Give what `clew walkthrough --json` prints of the item."""
        written: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "chapter": self.chapter,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
        }
        return written | ({"notes": list(self.notes)} if self.notes else {})


Builder = Callable[[], Item]


def id_of(builder: Builder) -> str:
    """Give the identifier of the item that a function makes.

    >>> def one_head_scores() -> Item: ...
    >>> id_of(one_head_scores)
    'one-head-scores'
    """
    return builder.__name__.replace("_", "-")


def labelled_rows(labels: Sequence[str | int], values: Float[Tensor, "rows columns"]) -> list[list[Cell]]:
    """Put a label before each row of a matrix.

    >>> import torch
    >>> labelled_rows(["0: a"], torch.tensor([[0.5, 1.0]]))
    [['0: a', 0.5, 1.0]]
    """
    return [[label, *row] for label, row in zip(labels, values.tolist(), strict=True)]
