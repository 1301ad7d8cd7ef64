"""Heads side by side: each a real table, queries downwards and sources to the right, in colours of one scale.

While a sequence is short the numbers stand in the cells, which are buttons that open their arithmetic. Of a long one
the cells are small, and the numbers are there for the pointer and for screen readers. A cell that a rule hid names the
rule. What an edit moved has a marked corner and says by how much. The rows are classes `p0`, `p1`, ... by their place
in the map, so that the style sheet can light the same query up in all heads. Start with `heads_html`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from markupsafe import Markup, escape
from torch import Tensor

from clew.explorer.attention.choice import Choice
from clew.rendering.colours import HeatScale, diverging, sequential
from clew.rendering.markup import element, joined
from clew.rendering.numbers import format_number, format_signed

MOST_NAMED = 1600
"""Small cells that get a name for the pointer; beyond, they only have their number."""
_SIGNS = {"heat-nan": "×", "heat-inf": "∞", "heat-none": "·"}


@dataclass(frozen=True, eq=False)
class Layer:
    """One kind of number in all heads, and what it was before the edits.

    Attributes:
        what: Of the captions, such as "softmax weights".
        values: The numbers.
        before: The numbers without the edits; None where there is nothing to compare.
        moved: True where an edit moved the number by more than rounding.
        names_rules: Whether hidden cells show their rule in the place of a number.
        opens: Whether cells are buttons that open their arithmetic, and rows buttons that choose their query.
        is_by_row: Whether the colours of each row reach from 0 to its own largest number.
    """

    what: str
    values: Float[Tensor, "heads query source"]
    before: Float[Tensor, "heads query source"] | None
    moved: Bool[Tensor, "heads query source"] | None
    names_rules: bool
    opens: bool
    is_by_row: bool = False


def heads_html(choice: Choice, layer: Layer) -> Markup:
    """Draw the maps of the heads that are shown, then the scale of their colours."""
    hidden = choice.reading.hidden if layer.names_rules else None
    scale = sequential() if layer.is_by_row else scale_of(layer.values, hidden)
    maps = [_Map(choice, layer, scale, head).html() for head in choice.heads if head is not None]
    css_class = "attend-heads" if choice.is_numbered else "attend-heads compact"
    return joined([element("div", {"class": css_class}, *maps), scale_html(scale, layer.is_by_row)])


def scale_of(values: Float[Tensor, "*shape"], hidden: Bool[Tensor, "*cells"] | None) -> HeatScale:
    """Choose the colours of a map: from 0 up, or with zero at the middle; hidden and infinite cells do not count."""
    seen = values if hidden is None else values.masked_fill(hidden, 0.0)
    low, high = (bound.item() for bound in torch.aminmax(seen))
    if not (abs(low) < torch.inf and abs(high) < torch.inf):
        low, high = (bound.item() for bound in torch.aminmax(torch.where(seen.isfinite(), seen, 0.0)))
    return sequential(0.0, high or 1.0) if low >= 0 else diverging([low, high])


def scale_html(scale: HeatScale, is_by_row: bool = False) -> Markup:
    """Say which colour is which number."""
    steps = joined(element("i", {"class": css_class}) for css_class in scale.level_classes)
    numbers = (scale.low, (scale.low + scale.high) / 2, scale.high)
    words = [format_number(float(number), 2) for number in numbers]
    words = ["0", "", "the largest of its row"] if is_by_row else words
    ends = element("span", {"class": "ends"}, *(element("span", None, word) for word in words))
    bar = element("span", {"class": "bar", "aria-hidden": "true"}, steps)
    return element("p", {"class": "attend-scale"}, bar, ends)


@dataclass(frozen=True, eq=False)
class _Number:
    """One cell of a map: its number, the rules that hid it, and the same before the edits, if they moved it."""

    value: float
    rules: str
    is_moved: bool = False
    before: float = 0.0
    rules_before: str = ""

    @property
    def words(self) -> str:
        """The number, or the rules in its place."""
        return self.rules or format_number(self.value)

    @property
    def was(self) -> str:
        """What it was before the edits."""
        return f"hidden by {self.rules_before}" if self.rules_before else format_number(self.before)

    @property
    def told(self) -> str:
        """What it is, and what it was if an edit moved it."""
        return f"{self.words}, was {self.was}" if self.is_moved else self.words

    @property
    def by(self) -> str:
        """By how much it moved; a cell that appeared or went away says that."""
        if self.rules_before:
            return "was hidden"
        return f"was {self.was}" if self.rules else format_signed(self.value - self.before)


@dataclass(frozen=True, eq=False)
class _Map:
    """The map of one head."""

    choice: Choice
    layer: Layer
    scale: HeatScale
    head: int

    def html(self) -> Markup:
        choice, layer = self.choice, self.layer
        rows = [self._row(place, query) for place, query in enumerate(choice.shown_queries)]
        caption = element("caption", None, element("span", None, f"head {self.head}: {layer.what}"))
        attributes = {"class": "attend-map", "data-grid": "cells" if layer.opens else None}
        table = element("table", attributes, caption, self._heading(), element("tbody", None, *rows))
        name = f"{layer.what} of head {self.head}, query downwards, source to the right"
        return element("div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": name}, table)

    def _heading(self) -> Markup:
        corner = element("th", {"scope": "col", "class": "corner"}, "query \\ source")
        columns = [
            element("th", {"scope": "col"}, element("span", None, "…" if step is None else self._label(step)))
            for step in self.choice.shown_sources
        ]
        return element("thead", None, element("tr", None, corner, *columns))

    def _label(self, step: int) -> str:
        word = self.choice.reading.words[step]
        return f"{step} {word if len(word) <= 9 else word[:8] + '…'}".strip()

    def _row(self, place: int, query: int | None) -> Markup:
        sources = self.choice.shown_sources
        if query is None:
            empty = Markup("<td></td>") * len(sources)
            return element("tr", {"class": "gap"}, element("th", {"scope": "row"}, "…"), empty)
        css_class = f"p{place} chosen" if query == self.choice.query else f"p{place}"
        header = element("th", {"scope": "row"}, self._header(query))
        return element("tr", {"class": css_class}, header, Markup("".join(self._cells(query))))

    def _header(self, query: int) -> str:
        if not self.layer.opens:
            return self._label(query)
        pressed = "true" if query == self.choice.query else "false"
        attributes = {"name": "query", "value": query, "id": f"map-{self.head}-query-{query}", "aria-pressed": pressed}
        return element("button", attributes, self._label(query))

    def _cells(self, query: int) -> list[str]:
        sources = [source for source in self.choice.shown_sources if source is not None]
        numbers = self._numbers(query, sources)
        top = self.layer.values[self.head, query].max().item() if self.layer.is_by_row else 1.0
        classes = self.scale.classes_of([number.value / (top or 1.0) for number in numbers])
        write = self._cell if self.choice.is_numbered else self._small
        written = {
            source: write(query, source, number, f"{css_class} moved" if number.is_moved else css_class)
            for source, number, css_class in zip(sources, numbers, _hidden(numbers, classes), strict=True)
        }
        return ["<td></td>" if source is None else written[source] for source in self.choice.shown_sources]

    def _numbers(self, query: int, sources: list[int]) -> list[_Number]:
        """Read the cells of a row."""
        layer, choice = self.layer, self.choice
        values = layer.values[self.head, query, sources].tolist()
        rules = choice.reading.rules_of(query) if layer.names_rules else {}
        now = [(value, rules.get(source, "")) for value, source in zip(values, sources, strict=True)]
        if layer.before is None or layer.moved is None or choice.twin is None:
            return [_Number(*pair) for pair in now]
        moved, before = (part[self.head, query, sources].tolist() for part in (layer.moved, layer.before))
        earlier = choice.twin.rules_of(query) if layer.names_rules else {}
        return [
            _Number(*pair, is_moved, old, earlier.get(source, ""))
            for pair, is_moved, old, source in zip(now, moved, before, sources, strict=True)
        ]

    def _cell(self, query: int, source: int, number: _Number, classes: str) -> str:
        """Write a cell with its number; as text at once, since a page has thousands of them."""
        by = f"<small>{escape(number.by)}</small>" if number.is_moved else ""
        inside = f"{escape(number.words)}{by}"
        if self.layer.opens:
            place = f"{self.head}.{query}.{source}"
            pressed = ' aria-pressed="true"' if self.choice.cell == (self.head, query, source) else ""
            inside = f'<button name="cell" value="{place}" id="cell-{place}"{pressed}>{inside}</button>'
        return f'<td class="{classes}"{self._title(query, source, number)}>{inside}</td>'

    def _small(self, query: int, source: int, number: _Number, classes: str) -> str:
        """Write a small cell, whose number is for the pointer and for screen readers."""
        sign = next((mark for name, mark in _SIGNS.items() if classes.startswith(name)), "")
        inside = f"{sign}<i>{escape(number.told)}</i>"
        return f'<td class="{classes}"{self._title(query, source, number)}>{inside}</td>'

    def _title(self, query: int, source: int, number: _Number) -> str:
        """Name a cell for the pointer, unless there are too many."""
        if self.choice.shown_cells > MOST_NAMED:
            return ""
        words = f"{self.choice.word(query)} reads {self.choice.word(source)}: {number.told}"
        return f' title="{escape(words)}"'


def _hidden(numbers: list[_Number], classes: list[str]) -> list[str]:
    return ["heat-hidden" if number.rules else css_class for number, css_class in zip(numbers, classes, strict=True)]
