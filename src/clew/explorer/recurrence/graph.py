"""The unrolled graph: inputs, states and what is above them, the state carried forward, sensitivities sent back.

Every state shows its units, value beside sensitivity, and leads to its step. Of a long sequence the first and the last
steps and those around the open one are drawn. Start with `graph_html`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from torch import Tensor

from clew.explorer.recurrence.choice import Choice
from clew.explorer.recurrence.tables import norm_of, places_around, scale_of, shown_words
from clew.ledger.grids import cells, window
from clew.rendering.axes import label_at, line_between, tooltip
from clew.rendering.colours import HeatScale
from clew.rendering.markup import element, joined
from clew.rendering.numbers import Number, Value, format_number

AROUND, MOST_STEPS, MOST_UNITS = 2, 9, 16
_NARROW, _WIDE, _GAP, _BOX, _LEFT = 104.0, 170.0, 46.0, 58.0, 78.0
_WIDTH = 1100.0
_TOP, _ROOM = 34.0, 62.0
_LONGEST_WORD = 12


@dataclass(frozen=True)
class _Step:
    """What is drawn of one step."""

    step: int
    values: Sequence[Value]
    sensitivities: Sequence[Value] | None
    direct: float | None
    later: float | None
    input_norm: float | None


@dataclass(frozen=True)
class _Picture:
    """Where things are: width of a column, height of a unit and of the states; and the scales of the colours."""

    choice: Choice
    column: float
    unit: float
    height: float
    of_values: HeatScale
    of_sensitivities: HeatScale

    @property
    def state_top(self) -> float:
        return _TOP + 28 + _ROOM

    @property
    def state_bottom(self) -> float:
        return self.state_top + self.height

    @property
    def input_top(self) -> float:
        return self.state_bottom + _ROOM

    @property
    def bottom(self) -> float:
        return self.input_top + 46


def graph_html(choice: Choice) -> Markup:
    """Draw the graph in a box that scrolls where the screen is narrower."""
    in_text_order = sorted(choice.order)
    place = in_text_order.index(choice.step)
    places = places_around(len(in_text_order), place, MOST_STEPS, AROUND)
    shown = [None if at is None else in_text_order[at] for at in places]
    state = choice.of("state")
    units = window(choice.hidden, MOST_UNITS)
    steps = [None if step is None else _step(choice, state.value, step, units) for step in shown]
    drawn = [step for step in steps if step is not None]
    unit = 40.0 if choice.hidden == 1 else min(max(120 / len(units), 7.5), 26.0)
    room = (_WIDTH - _LEFT - _GAP * (len(steps) - len(drawn))) / len(drawn)
    picture = _Picture(
        choice,
        min(max(room, _NARROW), _WIDE),
        unit,
        unit * len(units),
        scale_of([step.values for step in drawn]),  # pyright: ignore[reportArgumentType]
        scale_of([step.sensitivities or [] for step in drawn]),  # pyright: ignore[reportArgumentType]
    )
    lefts = _lefts(steps, picture.column)
    width = round(lefts[-1] + (_GAP if steps[-1] is None else picture.column))
    parts = [_row_names(picture)]
    for number, (one, left) in enumerate(zip(steps, lefts, strict=True)):
        parts.append(_gap(picture, left) if one is None else _column(picture, one, left))
        if number + 1 < len(steps):
            parts.append(_carried(picture, one, steps[number + 1], left, lefts[number + 1]))
    attributes: dict[str, str | float | int | None] = {
        "class": "unrolled",
        "viewBox": f"0 0 {width} {picture.bottom:.0f}",
        "width": width,
        "height": round(picture.bottom),
        "role": "group",
        "aria-label": _described(choice, len(drawn)),
    }
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Graph of the steps"}
    cuts = [shown_words("steps", places, len(in_text_order)), shown_words("units", units, choice.hidden)]
    note = element("p", {"class": "made"}, f"{' and '.join(cut for cut in cuts if cut)}.") if any(cuts) else ""
    return element("div", box, element("svg", attributes, *parts)) + note


def _described(choice: Choice, drawn: int) -> str:
    count = len(choice.order)
    which = f"all {count} steps" if drawn == count else f"{drawn} of {count} steps"
    return f"The unrolled graph, {which}; each state is a link to its step"


def _step(choice: Choice, values: Tensor, step: int, places: Sequence[int | None]) -> _Step:
    state = choice.of("state")
    kept = [place for place in places if place is not None]
    if not state.has_sensitivity:
        return _Step(step, _with_gap(values[step, kept], places), None, None, None, None)
    direct, later = (norm_of(state.terms[name][step]) for name in ("direct", "later"))
    sent = _input_sensitivity(choice)
    return _Step(
        step,
        _with_gap(values[step, kept], places),
        _with_gap(state.sensitivity[step, kept], places),
        direct,
        later,
        None if sent is None else norm_of(sent[step]),
    )


def _with_gap(values: Tensor, places: Sequence[int | None]) -> list[Value]:
    numbers = iter(cells(values))
    return ["gap" if place is None else next(numbers) for place in places]


def _input_sensitivity(choice: Choice) -> Tensor | None:
    """What the layer sends back to the rows it reads, where no other layer reads them."""
    if choice.layer != choice.layers[0] or choice.is_from_end or choice.layer.endswith("_layer"):
        return None
    for name in ("inputs.output", "inputs.embedding.output"):
        if name in choice.scene.ledger:
            found = choice.scene.ledger.quantity(name)
            if found.has_sensitivity and found.axes[:2] == ("batch", "time"):
                return found.sensitivity[choice.scene.row]
    return None


def _lefts(steps: Sequence[_Step | None], column: float) -> list[float]:
    lefts, left = [], _LEFT
    for step in steps:
        lefts.append(left)
        left += _GAP if step is None else column
    return lefts


def _above(choice: Choice) -> str:
    """Name what reads the layer's states."""
    last = choice.layers[-1].split(".recurrent.")[-1].split(".")[0]
    own = choice.layer.split(".recurrent.")[-1].split(".")[0]
    return "head" if own == last else f"layer {int(own) + 1}"


def _row_names(picture: _Picture) -> Markup:
    middle = (picture.state_top + picture.state_bottom) / 2
    return joined(
        [
            label_at(0, _TOP + 18, _above(picture.choice), "axis-label"),
            label_at(0, picture.state_top - _ROOM / 2 + 4, "direct", "axis-label backward-name"),
            label_at(0, middle - 2, "state h", "axis-label"),
            label_at(0, middle + 13, "later", "axis-label backward-name"),
            label_at(0, picture.input_top + 18, "input x", "axis-label"),
        ]
    )


def _column(picture: _Picture, one: _Step, left: float) -> Markup:
    """Draw a step: its input, its state, what is above, and the arrows between them."""
    centre, choice = left + _BOX / 2, picture.choice
    above = picture.state_top - 22
    below = picture.state_bottom
    parts = [
        _arrow(centre - 9, picture.input_top - 3, centre - 9, below + 4, "forward"),
        _box(left - 8, picture.input_top, _BOX + 16, 26, "node"),
        label_at(centre, picture.input_top + 17, choice.word(one.step, _LONGEST_WORD), "tick strong", "middle"),
        _linked_state(picture, one, left),
    ]
    if one.input_norm is not None:
        parts.append(_arrow(centre + 9, below + 4, centre + 9, picture.input_top - 3, "backward"))
        parts.append(_number(centre + 14, below + _ROOM / 2 + 5, one.input_norm, "start"))
    if one.direct is None or one.direct > 0:
        parts.append(_arrow(centre - 9, above, centre - 9, _TOP + 31, "forward"))
        parts.append(_box(left - 4, _TOP, _BOX + 8, 28, "node"))
        parts.append(label_at(centre, _TOP + 18, _above(choice), "tick", "middle"))
    if one.direct:
        parts.append(_arrow(centre + 9, _TOP + 31, centre + 9, above, "backward"))
        parts.append(_number(centre + 14, _TOP + 28 + _ROOM / 2 - 6, one.direct, "start"))
    return joined(parts)


def _linked_state(picture: _Picture, one: _Step, left: float) -> Markup:
    choice = picture.choice
    is_open = one.step == choice.step
    name = choice.title(one.step)
    attributes = {
        "href": f"{choice.scene.address.link(step=one.step)}#unrolled",
        "id": f"graph-step-{one.step}",
        "class": "step open" if is_open else "step",
        "aria-label": f"{name}, open" if is_open else f"{name}: open it",
        "aria-current": "step" if is_open else None,
    }
    number = f"{'▸ ' if is_open else ''}t = {one.step}"
    return element(
        "a",
        attributes,
        tooltip(name),
        label_at(left + _BOX / 2, picture.state_top - 7, number, "tick strong", "middle"),
        _numbers(picture, one, left) if choice.hidden == 1 else _strips(picture, one, left),
        _box(left, picture.state_top, _BOX, picture.height, "frame"),
    )


def _strips(picture: _Picture, one: _Step, left: float) -> Markup:
    """Draw the units of a state as two strips: values and, to their right, sensitivities."""
    columns = [(one.values, picture.of_values)]
    columns += [] if one.sensitivities is None else [(one.sensitivities, picture.of_sensitivities)]
    wide = _BOX / len(columns)
    drawn = (
        _units(values, scale, left + place * wide, picture.state_top, wide, picture.unit)
        for place, (values, scale) in enumerate(columns)
    )
    return element("g", {"class": "cells"}, *drawn)


def _numbers(picture: _Picture, one: _Step, left: float) -> Markup:
    """Write the numbers of a state that has a single unit."""
    box = _box(left, picture.state_top, _BOX, picture.height, "node")
    value = f"h {format_number(one.values[0])}"
    if one.sensitivities is None:
        return box + label_at(left + 7, picture.state_top + 24, value, "number")
    back = f"g {format_number(one.sensitivities[0])}"
    first = label_at(left + 7, picture.state_top + 16, value, "number")
    return box + first + label_at(left + 7, picture.state_top + 33, back, "number back")


def _units(values: Sequence[Value], scale: HeatScale, left: float, top: float, width: float, height: float) -> Markup:
    """Draw the units of a vector one below the other; three dots stand for those that are left out."""
    classes = scale.classes_of([None if value == "gap" else value for value in values])
    parts: list[Markup] = []
    for place, (value, css_class) in enumerate(zip(values, classes, strict=True)):
        y = top + place * height
        if value == "gap":
            parts.append(label_at(left + width / 2, y + height - 1, "⋮", "tick", "middle"))
            continue
        cell = {"x": left, "y": y, "width": width, "height": height, "class": css_class}
        parts.append(element("rect", cell, tooltip(format_number(value))))
    return joined(parts)


def _carried(picture: _Picture, one: _Step | None, following: _Step | None, left: float, next_left: float) -> Markup:
    """Draw the carried state between two columns and, against it, the sensitivity that comes back."""
    start = left + (_BOX if one is not None else _BOX * 0.3) + 4
    end = next_left - 4
    middle = (picture.state_top + picture.state_bottom) / 2
    first, second = (end, start) if picture.choice.is_from_end else (start, end)
    parts = [_arrow(first, middle - 9, second, middle - 9, "forward")]
    receiver = following if picture.choice.is_from_end else one
    if receiver is not None and receiver.later is not None:
        parts.append(_arrow(second, middle + 9, first, middle + 9, "backward"))
        parts.append(_number((start + end) / 2, middle + 22, receiver.later, "middle"))
    return joined(parts)


def _gap(picture: _Picture, left: float) -> Markup:
    middle = (picture.state_top + picture.state_bottom) / 2
    return label_at(left + 8, middle - 4, "…", "chart-title", "middle")


def _number(x: Number, y: Number, value: float, anchor: str) -> Markup:
    return label_at(x, y, format_number(value), "tick back", anchor)


def _box(x: Number, y: Number, width: Number, height: Number, css_class: str) -> Markup:
    return element("rect", {"x": x, "y": y, "width": width, "height": height, "rx": 4, "class": css_class})


def _arrow(x1: Number, y1: Number, x2: Number, y2: Number, css_class: str) -> Markup:
    """Draw an upright or level arrow."""
    right, down = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
    tip = f"M{x2} {y2}L{x2 - 6 * right - 3.5 * down} {y2 - 6 * down - 3.5 * right}"
    tip += f"L{x2 - 6 * right + 3.5 * down} {y2 - 6 * down + 3.5 * right}Z"
    line = line_between(x1, y1, x2 - 4 * right, y2 - 4 * down, css_class)
    return line + element("path", {"d": tip, "class": f"{css_class}-tip"})
