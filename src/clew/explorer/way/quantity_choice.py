"""What of a quantity is open: one matrix of it, the places that are shown, and the cell whose arithmetic is told.

Everything comes from the address. What does not fit this quantity any more, as after a shorter text, is left out and
said; what is no number at all is refused. Start with `Choice.read`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from clew.errors import complain
from clew.explorer.address import WHERE
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import Scene
from clew.explorer.way.picture import row_of
from clew.ledger.grids import Side, cells, sides, singular, window
from clew.ledger.matrices import MOST_COLUMNS, MOST_ROWS, Frame
from clew.ledger.quantity import Quantity
from clew.models.heads import ClassTokenHead
from clew.rendering.colours import HeatScale, diverging, sequential
from clew.rendering.numbers import Value

_INDEX = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,5}")
_NUMBER = re.compile(r"[0-9]{1,6}")
CLASS = "class"


@dataclass(frozen=True, eq=False)
class Choice:
    """One matrix of a quantity.

    Attributes:
        scene: What ran.
        name: The quantity.
        ahead: A place on each axis but the last two, such as the head.
        cell: Index of the open cell in the row that is shown; None if none is.
        missing: What was asked for and is not there, in words; empty if nothing.
    """

    scene: Scene
    name: str
    ahead: tuple[int, ...]
    cell: tuple[int, ...] | None
    missing: str

    @classmethod
    def read(cls, scene: Scene, name: str) -> "Choice":
        """Read the choice from the address of a scene.

        Raises:
            ExplorerError: If something is no whole number.
        """
        quantity = row_of(scene, name)
        shape, shown = quantity.shape, scene.address.shown
        cell, missing = _cell(shown.get("cell", "")), ""
        if cell is not None and not _fits(cell, shape):
            missing, cell = f"There is no cell {shown['cell']} here: the shape is {' × '.join(map(str, shape))}.", None
        cell = () if not shape else cell
        ahead = [0] * max(len(shape) - 2, 0)
        for axis, size in enumerate(shape[: len(ahead)]):
            asked = _number(shown, singular(quantity.axes[axis]))
            ahead[axis] = min(asked, size - 1) if asked is not None else cell[axis] if cell is not None else 0
        return cls(scene, name, tuple(ahead), cell, missing)

    @cached_property
    def quantity(self) -> Quantity:
        """The quantity in the row that is shown."""
        return row_of(self.scene, self.name)

    @property
    def axes_ahead(self) -> list[tuple[str, int, int]]:
        """The axes of which one place is shown: name of a place, how many there are, which one is shown."""
        axes = zip(self.quantity.axes, self.quantity.shape, self.ahead, strict=False)
        return [(singular(axis), size, place) for axis, size, place in axes]

    @cached_property
    def frame(self) -> Frame:
        """The sides of the matrix, and the places of them that are shown."""
        axes, shape = self.quantity.axes[len(self.ahead) :], self.quantity.shape[len(self.ahead) :]
        down, across = sides(axes, shape, self.labels)
        place = ", ".join(f"{axis} {place}" for axis, _, place in self.axes_ahead)
        hidden = [rule for rule, where in self.quantity.hidden_by.items() if bool(self._matrix(where).any())]
        row, column = self.open_place or (None, None)
        rows = _shown(len(down.labels), MOST_ROWS, _number(self.scene.address.shown, "down"), row)
        columns = _shown(len(across.labels), MOST_COLUMNS, _number(self.scene.address.shown, "across"), column)
        return Frame(place, down, across, hidden, rows, columns)

    @property
    def labels(self) -> Sequence[str]:
        """A word for each step; a class token in front of the steps is one of them, or is not."""
        words, shape = self.scene.tokens, self.quantity.shape
        steps = {size for axis, size in zip(self.quantity.axes, shape, strict=True) if axis in ("time", "query")}
        if not isinstance(self.scene.subject.model.head, ClassTokenHead) or not steps:
            return words
        if words[:1] != [CLASS] and max(steps) == len(words) + 1:
            return [CLASS, *words]
        return words[1:] if words[:1] == [CLASS] and max(steps) == len(words) - 1 else words

    @property
    def cut_sides(self) -> list[tuple[str, Side]]:
        """The sides that are not shown whole, each with its parameter of the address."""
        frame = self.frame
        found = (("down", frame.down, frame.rows), ("across", frame.across, frame.columns))
        return [(name, side) for name, side, shown in found if len(shown) < len(side.labels) or None in shown]

    def cells(self, values: Tensor) -> dict[int, dict[int, Value]]:
        """Give the numbers at the places that are shown, "hidden" where a rule hid one."""
        rows = [place for place in self.frame.rows if place is not None]
        columns = [place for place in self.frame.columns if place is not None]
        hidden = self.quantity.is_hidden()
        cut, where = (None if one is None else self._matrix(one)[rows][:, columns] for one in (values, hidden))
        assert cut is not None
        numbers = cells(cut, where)
        return {row: dict(zip(columns, line, strict=True)) for row, line in zip(rows, numbers, strict=True)}

    def scale(self, values: Tensor) -> HeatScale:
        """Choose colours that mean the same in all matrices of the quantity."""
        hidden = self.quantity.is_hidden()
        kept = values if hidden is None else values[~hidden]
        kept = kept[kept.isfinite()].double()
        if kept.numel() == 0:
            return diverging([])
        low, high = kept.min().item(), kept.max().item()
        return sequential(0.0, high or 1.0) if low >= 0 else diverging([low, high])

    def index(self, row: int, column: int) -> tuple[int, ...]:
        """Give the index of a cell of the matrix in the row of the batch that is shown."""
        frame = self.frame
        inner = [place for side, place in ((frame.down, row), (frame.across, column)) if side.axis]
        return (*self.ahead, *inner)

    @property
    def open_place(self) -> tuple[int, int] | None:
        """Row and column of the open cell, if it is in the matrix that is shown."""
        if self.cell is None or self.cell[: len(self.ahead)] != self.ahead:
            return None
        inner = self.cell[len(self.ahead) :]
        if len(inner) == 2:
            return inner[0], inner[1]
        axes, shape = self.quantity.axes[len(self.ahead) :], self.quantity.shape[len(self.ahead) :]
        is_down = bool(sides(axes, shape, None)[0].axis)
        return (0, 0) if not inner else (inner[0], 0) if is_down else (0, inner[0])

    def _matrix(self, values: Tensor) -> Tensor:
        """Cut the matrix out of a tensor of the quantity's shape."""
        matrix = values.expand(self.quantity.shape)[self.ahead]
        if matrix.ndim == 2:
            return matrix
        axes, shape = self.quantity.axes[len(self.ahead) :], self.quantity.shape[len(self.ahead) :]
        is_down = bool(sides(axes, shape, None)[0].axis)
        return matrix.reshape(-1, 1) if is_down else matrix.reshape(1, -1)


def _shown(count: int, most: int, asked: int | None, opened: int | None) -> list[int | None]:
    """List the places of a side that are shown: the first and the last, or those around one."""
    usual = window(count, most)
    around = asked if asked is not None else opened if opened not in usual else None
    if around is None or count <= most:
        return usual
    start = min(max(around - most // 2, 0), count - most)
    return list(range(start, start + most))


def _cell(written: str) -> tuple[int, ...] | None:
    if not written:
        return None
    if not _INDEX.fullmatch(written):
        rule = "an index with dots between its numbers, such as 0.2.1"
        raise ExplorerError(complain(WHERE, "cell", rule, f"'{written[:40]}'"))
    return tuple(int(part) for part in written.split("."))


def _fits(cell: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(cell) == len(shape) and all(place < size for place, size in zip(cell, shape, strict=True))


def _number(shown: Mapping[str, str], name: str) -> int | None:
    written = shown.get(name, "")
    if not written:
        return None
    if not _NUMBER.fullmatch(written):
        raise ExplorerError(complain(WHERE, name, "a whole number", f"'{written[:40]}'"))
    return int(written)
