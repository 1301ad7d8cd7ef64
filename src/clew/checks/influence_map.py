"""Who reads whom, as cells of a picture or of a text: moved though forbidden, moved as permitted, or not moved.

Long sequences are drawn in cells of several steps. Where only blocks of sources were varied, a movement counts as
forbidden if the whole block is forbidden to an output; where some of it is permitted, it counts as permitted.
Start with `InfluenceMap`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Literal

import numpy
from markupsafe import Markup
from numpy.typing import NDArray

from clew.rendering.cell_maps import CellKind, Edges, Line, MapCell, cell_map, upper_half
from clew.rendering.colours import diverging, sequential
from clew.rendering.numbers import format_number

Kind = Literal["forbidden", "permitted", "unread", "still", "unknown"]
KINDS: dict[Kind, CellKind] = {
    "forbidden": CellKind("moved though forbidden", "hatch", "heat-d16"),
    "permitted": CellKind("moved as permitted", "", "heat-s12"),
    "unread": CellKind("may be read, and did not move", "dot", "heat-none"),
    "still": CellKind("forbidden, and did not move", "", "heat-none"),
    "unknown": CellKind("not varied", "dash", "heat-hidden"),
}
CHARACTERS: dict[Kind, tuple[str, str]] = {
    "forbidden": ("✗", "X"),
    "permitted": ("o", "o"),
    "unread": ("·", "."),
    "still": (" ", " "),
    "unknown": ("?", "?"),
}
MOST_CELLS, MOST_CHARACTERS = 64, 16
_MOST_PIECES = 2100
_HEATS: dict[Kind, list[str]] = {
    "forbidden": upper_half(diverging([])),
    "permitted": sequential().level_classes[3:],
}


@dataclass(frozen=True, eq=False)
class Cell:
    """Some outputs and some sources together: which kind they are, and the largest movement."""

    kind: Kind
    movement: float


@dataclass(frozen=True, eq=False)
class Cells:
    """A map in cells: where their rows and columns begin and end, in steps, and the cells of each row."""

    rows: list[int]
    columns: list[int]
    cells: list[list[Cell]]

    def has(self, kind: Kind) -> bool:
        """Say whether there is a cell of a kind."""
        return any(cell.kind == kind for row in self.cells for cell in row)


@dataclass(frozen=True, eq=False)
class InfluenceMap:
    """What moved, what may move, and what was found.

    Attributes:
        movement: How far each output moved when a source was varied, (outputs, time); NaN where it was not.
        allowed: Which output may read which source, (outputs, time).
        step: Steps of a block; 1 if each source was varied alone.
        floor: Movement above which it is no rounding.
        example: (output, source) of the smallest counterexample, if there is one.
    """

    movement: NDArray[numpy.float64]
    allowed: NDArray[numpy.bool_]
    step: int
    floor: float
    example: tuple[int, int] | None = None

    def cells(self, most: int) -> Cells:
        """Join outputs and sources until there are at most `most` cells a side."""
        outputs, time = self.movement.shape
        columns = _starts(time, self.step, most)
        rows = _starts(outputs, 1, most)
        kinds = self._kinds()
        joined = [
            [self._joined(kinds, top, bottom, left, right) for left, right in pairwise(columns)]
            for top, bottom in pairwise(rows)
        ]
        return Cells(rows, columns, joined)

    def _kinds(self) -> NDArray[numpy.int64]:
        """Rank each output and source: the place of its kind in `_RANKS`; a block may be read if some of it may."""
        starts = numpy.arange(0, self.movement.shape[1], self.step)
        by_block = numpy.logical_or.reduceat(self.allowed, starts, axis=1)
        may_read = by_block.repeat(self.step, axis=1)[:, : self.movement.shape[1]]
        ranks = numpy.where(may_read, _RANKS.index("unread"), _RANKS.index("still"))
        is_moved = self.movement > self.floor
        ranks[is_moved & may_read] = _RANKS.index("permitted")
        ranks[is_moved & ~may_read] = _RANKS.index("forbidden")
        ranks[numpy.isnan(self.movement)] = _RANKS.index("unknown")
        return ranks

    def _joined(self, kinds: NDArray[numpy.int64], top: int, bottom: int, left: int, right: int) -> Cell:
        """Give a cell the most telling kind in it, and the largest movement of that kind."""
        ranks, moved = kinds[top:bottom, left:right], self.movement[top:bottom, left:right]
        rank = int(ranks.max())
        values = moved[ranks == rank]
        return Cell(_RANKS[rank], float(values.max()))

    def picture(self) -> Markup:
        """Draw the map as SVG for a page of clew."""
        found = self.cells(MOST_CELLS)
        reach = max((self._decades(cell.movement) for row in found.cells for cell in row), default=0.0)
        drawn = [
            [self._drawn(cell, found, row, column, max(reach, 1.0)) for column, cell in enumerate(line)]
            for row, line in enumerate(found.cells)
        ]
        shown: list[Kind] = [kind for kind in KINDS if kind == "forbidden" or found.has(kind)]
        key = [(self._key(kind, found), _HEATS.get(kind, []) if found.has(kind) else []) for kind in shown]
        has_heat = found.has("forbidden") or found.has("permitted")
        return cell_map(
            "Which source moves which output",
            drawn,
            Edges("outputs", found.rows),
            Edges("sources", found.columns),
            key,
            self._region(found),
            "may be read: everything" if self.allowed.all() else "may be read: inside this line",
            self.example,
            "" if self.example is None else f"smallest example: source {self.example[1]}, output {self.example[0]}",
            f"heat, left to right: 1 to {format_number(10.0**reach, 1)} times the floor" if has_heat else "",
            self.description(),
        )

    def description(self) -> str:
        """Say in a sentence what the map shows."""
        outputs, time = self.movement.shape
        kinds = self._kinds()[:, :: self.step]
        leaks = int((kinds == _RANKS.index("forbidden")).sum())
        blocks = f"{time} sources in blocks of {self.step}" if self.step > 1 else f"{time} sources"
        return f"{outputs} outputs, {blocks}: {leaks} of {kinds.size} pairs moved though forbidden"

    def _key(self, kind: Kind, found: Cells) -> CellKind:
        known = KINDS[kind]
        return known if found.has(kind) else CellKind(f"{known.words}: none", known.sign, known.css_class)

    def _decades(self, moved: float) -> float:
        """Give the movement over the floor as a power of ten; 0 for what is not above it, or not finite."""
        floor = max(self.floor, float(numpy.finfo(numpy.float64).tiny))
        if not numpy.isfinite(moved) or moved <= floor:
            return 0.0
        return float(numpy.log10(moved) - numpy.log10(floor))

    def _drawn(self, cell: Cell, found: Cells, row: int, column: int, reach: float) -> MapCell:
        kind = KINDS[cell.kind]
        heat = _HEATS.get(cell.kind)
        share = 1.0 if numpy.isposinf(cell.movement) else self._decades(cell.movement) / reach
        css_class = kind.css_class if heat is None else heat[round(share * (len(heat) - 1))]
        output = _span("output", found.rows[row], found.rows[row + 1])
        source = _span("source", found.columns[column], found.columns[column + 1])
        by = "" if cell.kind == "unknown" else f", by {format_number(cell.movement)}"
        return MapCell(kind, css_class, f"{output}, {source}: {kind.words}{by}")

    def _region(self, found: Cells) -> list[Line]:
        """List the pieces of the line around what may be read; between cells only, where it is too ragged."""
        outputs, time = self.allowed.shape
        exact = _outline(self.allowed, range(outputs + 1), range(time + 1))
        pieces = list(islice(exact, _MOST_PIECES + 1))
        if len(pieces) <= _MOST_PIECES:
            return pieces
        by_row = numpy.logical_or.reduceat(self.allowed, found.rows[:-1], axis=0)
        coarse = numpy.logical_or.reduceat(by_row, found.columns[:-1], axis=1)
        return list(_outline(coarse, found.rows, found.columns))

    def text(self, plain: bool = False, indent: str = "") -> list[str]:
        """Draw the map in characters, at most 16 a side, with a line that says what they mean."""
        found = self.cells(MOST_CHARACTERS)
        width = len(str(found.rows[-2]))
        lines = [f"{indent}{' ' * width}  sources {found.columns[0]} to {found.columns[-1] - 1}, to the right"]
        for start, line in zip(found.rows, found.cells, strict=False):
            marks = " ".join(CHARACTERS[cell.kind][plain] for cell in line)
            lines.append(f"{indent}{start:>{width}} |{marks}|")
        shown: list[Kind] = [kind for kind in KINDS if kind != "still" and found.has(kind)]
        key = ", ".join(f"{CHARACTERS[kind][plain]} {KINDS[kind].words}" for kind in shown)
        size = found.columns[1] - found.columns[0]
        each = f"; a column is {size} sources" if size > 1 else ""
        return [*lines, f"{indent}outputs downwards{each}", f"{indent}{key}"]


_RANKS: Sequence[Kind] = ("unknown", "still", "unread", "permitted", "forbidden")


def _starts(length: int, step: int, most: int) -> list[int]:
    """List where cells begin and the last ends: each of as many blocks as it takes to have at most `most`."""
    blocks = -(-length // step)
    size = step * max(1, -(-blocks // most))
    return [*range(0, length, size), length]


def _span(name: str, start: int, end: int) -> str:
    return f"{name} {start}" if end == start + 1 else f"{name}s {start} to {end - 1}"


def _outline(allowed: NDArray[numpy.bool_], rows: Sequence[int], columns: Sequence[int]) -> Iterator[Line]:
    """Walk along the edges between True and False, straight runs joined; rows and columns give their places."""
    padded = numpy.pad(allowed, 1)
    across = padded[1:, 1:-1] != padded[:-1, 1:-1]
    for row, line in enumerate(across):
        for start, end in _runs(line):
            yield columns[start], rows[row], columns[end], rows[row]
    down = padded[1:-1, 1:] != padded[1:-1, :-1]
    for column, line in enumerate(down.T):
        for start, end in _runs(line):
            yield columns[column], rows[start], columns[column], rows[end]


def _runs(line: NDArray[numpy.bool_]) -> Iterator[tuple[int, int]]:
    edges = numpy.flatnonzero(numpy.diff(numpy.pad(line.astype(numpy.int8), 1)))
    yield from ((int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True))
