"""What moved between two passes, as one table: each quantity with its largest and its relative change, in both passes.

Read the forward columns downwards and the backward ones upwards, from the loss: that is how they were computed. The
first place where something moved is named. Start with `counted_html`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from clew.explorer.change.movement import Movement, Pair, weight_movements
from clew.explorer.scene import Scene
from clew.rendering.colours import sequential
from clew.rendering.markup import element
from clew.rendering.numbers import format_number, format_percent, join_words
from clew.rendering.page import fragments, paragraph, subsection
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_ROWS = 240
RELATIVE = sequential(0.0, 1.0)
STATUS_WORDS = {"equal": "equal", "rounding": "equal to rounding", "none": ""}


@dataclass(frozen=True)
class Sides:
    """What the two passes are called, such as "before" and "after", and where the tables lead.

    Attributes:
        first, second: Names of the passes.
        parameter: Name of the parameter of the address that opens a quantity.
        link: Writes an address with some parameters set.
        every: Whether quantities that did not move are listed too.
        opened: The quantity that is open; empty if none is.
    """

    first: str
    second: str
    parameter: str
    link: Callable[..., str]
    every: bool
    opened: str


def moved_html(pairs: Sequence[Pair], first: Scene, second: Scene, sides: Sides) -> Markup:
    """List the quantities and the weights that moved, or all of them."""
    weights = weight_movements(first.subject.model, second.subject.model)
    listed = [pair for pair in pairs if sides.every or _is_apart(pair)]
    weights_listed = [pair for pair in weights if sides.every or _is_apart(pair)]
    other = {"every": None if sides.every else "1"}
    words = "Show only what moved" if sides.every else "Show every quantity"
    toggle = element("a", {"href": sides.link(**other), "id": f"{sides.parameter}-every", "data-live": ""}, words)
    parts = [paragraph(toggle)]
    if listed:
        parts.append(_quantities_table(listed, pairs, sides))
    if weights_listed:
        parts += [subsection("Weights and their gradients"), _weights_table(weights_listed, sides)]
    return fragments(*parts)


def first_moved(pairs: Sequence[Pair], is_backward: bool) -> str | None:
    """Name the quantity where two passes part: forward from the first layer, backward from the loss."""
    for pair in reversed(pairs) if is_backward else pairs:
        if (pair.backward if is_backward else pair.forward).is_apart:
            return pair.name
    return None


def quantity_link(name: str, sides: Sides) -> Markup:
    """Give the link that opens a quantity."""
    return element("a", {"href": f"{sides.link(**{sides.parameter: name})}#{sides.parameter}-open"}, name)


def _is_apart(pair: Pair) -> bool:
    return pair.forward.is_apart or pair.backward.is_apart


def counted_html(pairs: Sequence[Pair], sides: Sides) -> Markup:
    """Count quantities by what became of them, and say where each pass first differs."""
    lines: list[Markup] = []
    for is_backward, what in ((False, "Forward"), (True, "Backward, from the loss")):
        found = [pair.backward if is_backward else pair.forward for pair in pairs]
        counted = [one for one in found if one.status != "none"]
        if not counted:
            continue
        words = [element("strong", None, what), f": {_count_words(counted, sides)}."]
        start = first_moved(pairs, is_backward)
        if start is not None:
            words += [" The first to differ is ", quantity_link(start, sides), "."]
        lines.append(element("li", None, *words))
    return element("ul", {"class": "change-counts"}, *lines)


def _count_words(found: Sequence[Movement], sides: Sides) -> str:
    kinds = {
        "moved": "moved",
        "equal": "exactly equal, bit for bit",
        "rounding": "equal to rounding",
        "shape": "of another shape",
        "first": f"only {sides.first}",
        "second": f"only {sides.second}",
    }
    counts = [(sum(one.status == status for one in found), words) for status, words in kinds.items()]
    told = [f"{count} {words}" for count, words in counts if count]
    return f"of {len(found)} quantities {join_words(told)}"


def _quantities_table(listed: Sequence[Pair], pairs: Sequence[Pair], sides: Sides) -> Markup:
    starts = {first_moved(pairs, is_backward) for is_backward in (False, True)}
    shown = listed[:MOST_ROWS]
    groups = [
        Group([_row(pair, sides, pair.name in starts) for pair in own], above)
        for above, own in groupby(shown, lambda pair: pair.name.rpartition(".")[0])
    ]
    notes = [
        "Values are computed from the top down, sensitivities from the loss at the bottom up.",
        "relative: norm of the change over the norm of what there was.",
        "equal to rounding: apart by at most 64 spacings of the numbers at the largest of them. Cells that a rule "
        "hides in both passes are left out.",
    ]
    if len(listed) > len(shown):
        notes.append(f"The first {len(shown)} of {len(listed)} are shown.")
    return table_html(
        Table(
            f"Quantities in the order of computation, {sides.first} and {sides.second}",
            _columns("value", "sensitivity"),
            groups,
            notes,
        )
    )


def _weights_table(weights: Sequence[Pair], sides: Sides) -> Markup:
    rows = [_row(pair, sides, False, is_weight=True) for pair in weights[:MOST_ROWS]]
    notes = [f"The first {MOST_ROWS} of {len(weights)} are shown."] if len(weights) > MOST_ROWS else []
    return table_html(
        Table(f"Weights, {sides.first} and {sides.second}", _columns("weight", "gradient"), [Group(rows)], notes)
    )


def _columns(forward: str, backward: str) -> list[Column]:
    return [
        Column("quantity" if forward == "value" else "weight", "left"),
        Column(f"{forward}: cells that moved", "left"),
        Column("largest change"),
        Column("relative"),
        Column(f"{backward}: cells that moved", "left"),
        Column("largest change"),
        Column("relative"),
    ]


def _row(pair: Pair, sides: Sides, is_start: bool, is_weight: bool = False) -> list[str | Cell]:
    name: Markup | str = pair.name
    if not is_weight:
        name = element(
            "a",
            {
                "href": f"{sides.link(**{sides.parameter: pair.name})}#{sides.parameter}-open",
                "id": f"{sides.parameter}-{pair.name}",
                "aria-current": "true" if pair.name == sides.opened else None,
            },
            pair.name.rpartition(".")[2],
        )
        if is_start:
            name = fragments(name, " ", element("span", {"class": "change-start"}, "first to move"))
    return [name, *_movement_cells(pair.forward, sides), *_movement_cells(pair.backward, sides)]


def _movement_cells(found: Movement, sides: Sides) -> list[str | Cell]:
    if found.status in STATUS_WORDS:
        largest = format_number(found.largest, 2) if found.status == "rounding" else ""
        return [Cell((STATUS_WORDS[found.status],), "muted"), Cell((largest,), "muted"), ""]
    if found.status != "moved":
        words = {"shape": "another shape", "first": f"only {sides.first}", "second": f"only {sides.second}"}
        return [Cell((words[found.status],), "strong"), "", ""]
    heat = RELATIVE.classes_of([min(found.relative, 1.0) if found.relative == found.relative else "NaN"])[0]
    where = f"{found.cells:,} of {found.count:,}"
    return [where, format_number(found.largest), Cell((relative_words(found.relative),), css_class=heat)]


def relative_words(relative: float) -> str:
    """Write a relative change; there is none of a quantity that was 0 everywhere.

    >>> relative_words(0.0312), relative_words(float("inf"))
    ('3.12\\xa0%', 'from 0')
    """
    return "from 0" if relative == float("inf") else format_percent(relative if relative == relative else "NaN")
