"""One number of a pass: the arithmetic that made it, and what its sensitivity is made of, side by side.

Start with `cell_panel`.
"""

import re

from markupsafe import Markup

from clew.explorer.way.quantity_choice import Choice
from clew.ledger.arithmetic import digits
from clew.ledger.grids import TOKEN_AXES, singular
from clew.rendering.markup import element, joined, text
from clew.rendering.numbers import format_number
from clew.rendering.page import definitions, paragraph

_MINUS = re.compile(r"(?<![a-z0-9])-(?=[\d(l])|(?<= )-(?= )")
_TERMS = {
    "direct": "direct: from what reads this step",
    "later": "later: from the steps that read this state",
}
_ONE_OF = {"time": "step", "features": "feature", "hidden": "unit", "classes": "class", "patches": "patch"}
NUDGE = 0.001


def cell_panel(choice: Choice) -> Markup:
    """Tell the arithmetic of the open cell; without one, say how to open one."""
    if choice.cell is None:
        words = "Choose a number in the table: its arithmetic opens here, with the numbers that made it."
        return element("div", {"class": "way-arithmetic", "id": "way-arithmetic"}, paragraph(words))
    return element(
        "div", {"class": "way-arithmetic open", "id": "way-arithmetic"},
        element("h4", None, _heading(choice)),
        element("div", {"class": "way-both"}, _forward(choice), _backward(choice)),
    )  # fmt: skip


def arithmetic_html(words: str) -> Markup:
    """Set arithmetic that is written in plain characters, with signs of multiplication and minus; it wraps at signs.

    >>> print(arithmetic_html("0.6 = -2*(-0.3)"))
    <p class="sum"><strong>0.6</strong> = −2 × (−0.3)</p>
    """
    lines = []
    for line in words.split("\n"):
        written = _MINUS.sub("−", line).replace("*", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}")
        left, sign, right = written.partition(" = ")
        content = element("strong", None, left) + text(f" = {right}") if sign else text(written)
        lines.append(element("p", {"class": "sum"}, _signs(content)))
    return joined(lines)


def _signs(content: Markup) -> Markup:
    return Markup(str(content).replace("^2", "<sup>2</sup>").replace("sqrt(", "√("))


def _heading(choice: Choice) -> str:
    """Say where the cell is: "head 1, query 3 a, source 1 journey"."""
    assert choice.cell is not None
    words = []
    for axis, place in zip(choice.quantity.axes, choice.cell, strict=True):
        label = choice.labels[place] if axis in TOKEN_AXES and place < len(choice.labels) else ""
        words += [f"{_ONE_OF.get(axis, singular(axis))} {place} {label}".strip()] if axis != "one" else []
    return ", ".join(words) or "The one number"


def _places(choice: Choice) -> dict[str, int]:
    """Give the open cell by the names of the axes of the whole quantity."""
    assert choice.cell is not None
    places = {axis: place for axis, place in zip(choice.quantity.axes, choice.cell, strict=True) if axis != "one"}
    whole = choice.scene.ledger.quantity(choice.name)
    return places | ({"batch": choice.scene.row} if "batch" in whole.axes else {})


def _forward(choice: Choice) -> Markup:
    value = choice.quantity.value[choice.cell].item()
    told = choice.scene.ledger.explain(choice.name, **_places(choice))
    exact = definitions([("to all digits", f"{value!r}")])
    return element("div", None, element("h5", None, "Forward"), arithmetic_html(told), exact)


def _backward(choice: Choice) -> Markup:
    """Say what a sensitivity follows from, its parts where they are told apart, and what it means."""
    quantity, heading = choice.quantity, element("h5", None, "Backward")
    if not quantity.has_sensitivity:
        why_not = quantity.never or "not computed, no backward pass has run"
        return element("div", None, heading, paragraph(f"Sensitivity: {why_not}."))
    found = quantity.sensitivity[choice.cell].item()
    told = choice.scene.ledger.explain_sensitivity(choice.name, **_places(choice)) or digits(found)
    parts = [(digits(part[choice.cell].item()), _TERMS.get(name, name)) for name, part in quantity.terms.items()]
    named = definitions([(_MINUS.sub("−", part), words) for part, words in parts]) if parts else Markup("")
    meaning = paragraph(_meaning(choice, found))
    exact = definitions([("to all digits", f"{found!r}")])
    return element("div", None, heading, arithmetic_html(told), named, meaning, exact)


def _meaning(choice: Choice, found: float) -> str:
    trace, unit = choice.scene.trace, ""
    if "loss.loss" in trace.ledger:
        unit = " nats"
    if choice.name == "loss.loss":
        return "The derivative of the loss with respect to itself."
    change = _MINUS.sub("−", format_number(found * NUDGE))
    return f"Were this number {NUDGE} larger, the loss would change by about {change}{unit}."
