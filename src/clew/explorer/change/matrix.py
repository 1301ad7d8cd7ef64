"""One matrix of a quantity, cut to what a page can show: its first and last places, and those around a chosen one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from clew.explorer.change.movement import index_of
from clew.explorer.scene import Scene
from clew.ledger.grids import TOKEN_AXES, Rows, cells, window
from clew.ledger.quantity import Quantity
from clew.rendering.colours import HeatScale, diverging, sequential

MOST_ROWS, MOST_COLUMNS = 24, 12
SINGULAR = {"heads": "head", "batch": "row"}
Places = Sequence[int | None]


@dataclass(frozen=True)
class Side:
    """One side of a matrix: its axis, its length, the places that are shown (None: a gap), and their labels."""

    axis: str
    count: int
    places: Places
    labels: Sequence[str]

    @property
    def taken(self) -> list[int]:
        """The places without the gaps."""
        return [place for place in self.places if place is not None]


@dataclass(frozen=True)
class Matrix:
    """A matrix of a quantity.

    Attributes:
        place: Where it lies in the quantity, such as "head 1"; empty if it is the whole of it.
        down, across: Its sides.
        values: A row for each place that is shown, "hidden" where a rule hid a cell.
        sensitivities: Likewise; None where there are none.
        value_range: Least and largest value of the whole matrix that is a number and not hidden.
        sensitivity_range: Likewise.
    """

    place: str
    down: Side
    across: Side
    values: Rows
    sensitivities: Rows | None
    value_range: tuple[float, float]
    sensitivity_range: tuple[float, float]


def matrix_count(quantity: Quantity) -> int:
    """Count the matrices of a row: one a head, for instance."""
    return math.prod(size for axis, size in _ahead(quantity))


def matrix_place(quantity: Quantity, number: int) -> str:
    """Say where a matrix lies, such as "head 1"."""
    ahead = _ahead(quantity)
    index = index_of(number, [size for _, size in ahead])
    return ", ".join(f"{SINGULAR.get(axis, axis)} {at}" for (axis, _), at in zip(ahead, index, strict=True))


def matrix_of(quantity: Quantity, scene: Scene, number: int, around: Mapping[str, int]) -> Matrix:
    """Cut one matrix out of a quantity.

    Args:
        quantity: With or without rows of a batch.
        scene: Gives the row, and words for steps.
        number: Which matrix.
        around: Places on some axes that are to be seen.
    """
    place = matrix_place(quantity, number)
    ahead = _ahead(quantity)
    index = index_of(number, [size for _, size in ahead])
    one = quantity.at(batch=scene.row) if "batch" in quantity.axes else quantity
    for (axis, _), at in zip(ahead, index, strict=True):
        one = one.at(**{axis: at})
    is_column = len(one.axes) == 1 and one.axes[0] in TOKEN_AXES
    axes = {0: ("", ""), 1: (*one.axes, "") if is_column else ("", *one.axes), 2: one.axes}[len(one.axes)]
    shape = {0: (1, 1), 1: (-1, 1) if is_column else (1, -1), 2: one.shape}[len(one.axes)]
    values, hidden = one.value.reshape(shape), one.is_hidden()
    hidden = None if hidden is None else hidden.reshape(shape)
    sensitivity = one.sensitivity.reshape(shape) if one.has_sensitivity else None
    down, across = (
        _side(axis, size, most, scene, around)
        for axis, size, most in zip(axes, values.shape, (MOST_ROWS, MOST_COLUMNS), strict=True)
    )
    return Matrix(
        place,
        down,
        across,
        _cut(values, hidden, down, across),
        None if sensitivity is None else _cut(sensitivity, hidden, down, across),
        _range(values, hidden),
        (0.0, 0.0) if sensitivity is None else _range(sensitivity, hidden),
    )


def scale_of(ranges: Sequence[tuple[float, float]]) -> HeatScale:
    """Make one scale for several matrices: from 0 up where no number is negative, else with 0 at its middle."""
    least, largest = min(low for low, _ in ranges), max(high for _, high in ranges)
    return sequential(0.0, largest or 1.0) if least >= 0 else diverging([least, largest])


def places_around(count: int, most: int, around: int | None) -> Places:
    """List the places of an axis that are shown, with None for each gap.

    >>> places_around(9, 4, None), places_around(90, 9, 40)
    ([0, 1, None, 7, 8], [0, 1, 2, None, 39, 40, 41, None, 87, 88, 89])
    """
    plain = window(count, most)
    if around is None or around in plain:
        return plain
    third = most // 3
    start = min(max(around - third // 2, third), count - 2 * third)
    middle = range(start, start + third)
    gaps = [[None] if start > third else [], [None] if start + third < count - third else []]
    return [*range(third), *gaps[0], *middle, *gaps[1], *range(count - third, count)]


def gap_words(side: Side) -> str:
    """Say which places are not shown; empty if all are.

    >>> gap_words(Side("time", 9, [0, 1, None, 7, 8], []))
    'time 2 to 6 of 9 are cut'
    """
    told = []
    for gap, place in enumerate(side.places):
        if place is None:
            before, after = side.places[gap - 1], side.places[gap + 1]
            assert before is not None and after is not None
            told.append(f"{before + 1} to {after - 1}")
    return f"{side.axis or 'place'} {' and '.join(told)} of {side.count} are cut" if told else ""


def _ahead(quantity: Quantity) -> list[tuple[str, int]]:
    """Give the axes before the last two, without the batch."""
    axes = [(axis, size) for axis, size in zip(quantity.axes, quantity.shape, strict=True) if axis != "batch"]
    return axes[: max(len(axes) - 2, 0)]


def _side(axis: str, size: int, most: int, scene: Scene, around: Mapping[str, int]) -> Side:
    places = places_around(size, most, around.get(axis))
    return Side(axis, size, places, [_label(axis, place, scene.tokens) for place in places if place is not None])


def _label(axis: str, place: int, tokens: Sequence[str]) -> str:
    if axis in TOKEN_AXES:
        return f"{place} {tokens[place] if place < len(tokens) else 'padding'}"
    return "" if axis in ("", "one") else str(place)


def _cut(values: Tensor, hidden: Tensor | None, down: Side, across: Side) -> Rows:
    shown = values[down.taken][:, across.taken]
    return cells(shown, None if hidden is None else hidden[down.taken][:, across.taken])


def _range(values: Tensor, hidden: Tensor | None) -> tuple[float, float]:
    counted = values.isfinite() if hidden is None else values.isfinite() & ~hidden
    numbers = values[counted]
    return (numbers.min().item(), numbers.max().item()) if numbers.numel() else (0.0, 0.0)
