"""What of attention is chosen: layer, stage, query, head and cell, read from the address; and what of it is shown.

A short sequence is shown whole. Of a long one the first places, those around the chosen query and the last ones are, so
that a page stays small whatever the length. Start with `Choice.read`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from clew.errors import complain
from clew.explorer.address import WHERE, Address
from clew.explorer.attention.reading import AttentionReading, Stage, attention_layers, twin_of
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import Scene

MOST_CELLS = 2800
"""Cells of all maps of a page together, values and sensitivities."""
MOST_PLACES = 36
MOST_HEADS = 16
MOST_NUMBERED = 12
"""Places of an axis up to which a map has its numbers written into its cells."""
_NUMBER = re.compile(r"[0-9]{1,6}")
Places = list[int | None]


@dataclass(frozen=True, eq=False)
class Choice:
    """What is looked at.

    Attributes:
        reading: The layer's numbers.
        twin: The same without the edits; None without edits, or where nothing can be compared.
        layers: Names of all attention layers.
        stage: The stage that the maps show.
        query: The query whose sources are listed.
        head: The head whose numbers are listed where there are too many heads for all.
        cell: (head, query, source) whose arithmetic is open; None if none is.
        has_parts: Whether each source's contribution is listed, feature by feature.
    """

    address: Address
    reading: AttentionReading
    twin: AttentionReading | None
    layers: Sequence[str]
    stage: Stage
    query: int
    head: int
    cell: tuple[int, int, int] | None
    has_parts: bool

    @classmethod
    def read(cls, scene: Scene) -> "Choice":
        """Read the choice from the address of a scene that has attention; the last query is chosen by default.

        Raises:
            ExplorerError: If something chosen is not there.
        """
        shown, layers = scene.address.shown, attention_layers(scene.ledger)
        reading = AttentionReading(scene, layers[_place("layer", shown.get("layer", "0"), len(layers))])
        stages = {stage.key: stage for stage in reading.stages}
        stage = shown.get("stage", "weights")
        if stage not in stages:
            raise ExplorerError(complain(WHERE, "stage", f"one of {', '.join(stages)}", f"'{stage[:40]}'"), 404)
        cell = _cell(shown["cell"], reading) if "cell" in shown else None
        if cell is None:
            query = _place("query", shown.get("query", str(reading.queries - 1)), reading.queries)
            head = _place("head", shown.get("head", "0"), reading.heads)
        else:
            head, query, _ = cell
        twin = twin_of(reading, scene.base)
        return cls(scene.address, reading, twin, layers, stages[stage], query, head, cell, shown.get("parts") == "1")

    @property
    def is_numbered(self) -> bool:
        """Whether the maps are small enough for numbers in their cells."""
        return self.reading.sources <= MOST_NUMBERED and self.reading.heads <= 4

    @cached_property
    def heads(self) -> Places:
        """The heads whose maps are shown."""
        return window_around(self.reading.heads, MOST_HEADS, self.head)

    @cached_property
    def most_places(self) -> int:
        """How many places an axis of each map shows."""
        maps = 2 * sum(head is not None for head in self.heads)
        return min(MOST_PLACES, max(8, math.isqrt(MOST_CELLS // maps)))

    @cached_property
    def shown_queries(self) -> Places:
        """The queries that the maps show."""
        return window_around(self.reading.queries, self.most_places, self.query)

    @cached_property
    def shown_sources(self) -> Places:
        """The sources that the maps show: around the chosen cell's, or else the query's own place."""
        centre = self.query if self.cell is None else self.cell[2]
        return window_around(self.reading.sources, self.most_places, centre)

    @cached_property
    def shown_cells(self) -> int:
        """How many cells the maps of all heads show together."""
        return len(self.shown_queries) * len(self.shown_sources) * len(self.heads)

    def word(self, step: int) -> str:
        """Name a step: its place and its word."""
        return f"{step} {self.reading.words[step]}".strip()

    @property
    def layer_words(self) -> str:
        """Name the layer for a reader: "block 0"."""
        return layer_words(self.reading.layer)


def layer_words(layer: str) -> str:
    """Name an attention layer for a reader.

    >>> layer_words("encoder.blocks.1.attention")
    'block 1'
    """
    found = re.search(r"blocks\.(\d+)", layer)
    return f"block {found[1]}" if found else layer or "attention"


def window_around(count: int, most: int, centre: int) -> Places:
    """List the places that are shown: all, or the first, those around a centre, and the last, with None at gaps.

    >>> window_around(3, 4, 0), window_around(20, 6, 9)
    ([0, 1, 2], [0, None, 7, 8, 9, 10, None, 19])
    """
    if count <= most:
        return list(range(count))
    edge = max(1, most // 6)
    middle = most - 2 * edge
    start = min(max(centre - middle // 2, edge), count - edge - middle)
    kept = [*range(edge), *range(start, start + middle), *range(count - edge, count)]
    places: Places = []
    for place in kept:
        previous = next((known for known in reversed(places) if known is not None), -1)
        places += [None, place] if place > previous + 1 else [place]
    return places


def left_out_words(what: str, shown: Places, count: int) -> str:
    """Say which places of an axis are not shown; empty if all are.

    >>> left_out_words("sources", window_around(20, 6, 9), 20)
    'sources 1 to 6 and 11 to 18 of 20 are left out'
    """
    kept = [place for place in shown if place is not None]
    gaps = [(before + 1, after - 1) for before, after in pairwise(kept) if after > before + 1]
    if not gaps:
        return ""
    words = " and ".join(str(first) if first == last else f"{first} to {last}" for first, last in gaps)
    return f"{what} {words} of {count} are left out"


def _place(name: str, given: str, count: int) -> int:
    if not _NUMBER.fullmatch(given) or int(given) >= count:
        rule = f"a whole number in [0, {count})"
        raise ExplorerError(complain(WHERE, name, rule, f"'{given[:40]}'"), 404)
    return int(given)


def _cell(given: str, reading: AttentionReading) -> tuple[int, int, int]:
    parts = given.split(".")
    sizes = {"head": reading.heads, "query": reading.queries, "source": reading.sources}
    if len(parts) != len(sizes):
        raise ExplorerError(complain(WHERE, "cell", "head.query.source, such as 0.4.1", f"'{given[:40]}'"))
    head, query, source = (
        _place(f"{name} of the cell", part, sizes[name]) for name, part in zip(sizes, parts, strict=True)
    )
    return head, query, source
