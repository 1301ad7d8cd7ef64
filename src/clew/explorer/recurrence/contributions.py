"""What each step contributes to a shared weight, and the proof that the contributions add up to its gradient.

Start with `contributions_html`.
"""

from collections.abc import Sequence

import torch
from markupsafe import Markup
from torch import Tensor

from clew.errors import LedgerError
from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.bounds import require_contributed
from clew.explorer.recurrence.choice import PARAMETERS, Choice
from clew.explorer.recurrence.tables import (
    SHORT,
    STYLES,
    boxes,
    norm_of,
    places_around,
    refused,
    shown_words,
    weight_scale,
    weight_table,
)
from clew.rendering.axes import Axis, axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.markup import element
from clew.rendering.numbers import format_number, format_percent
from clew.rendering.page import figure, fragments, paragraph, subsection
from clew.rendering.tables import Cell, Column, Group, Table, table_html

WORDS = {
    "weight_ih": "W_x, from the inputs",
    "weight_hh": "W_h, from the state before",
    "bias_ih": "b_x, offset beside the inputs",
    "bias_hh": "b_h, offset beside the state",
}
MOST_ROWS = 16


def contributions_html(choice: Choice) -> Markup:
    """Show the contributions to the chosen parameter: a norm a step, the matrix of the open step, the sum."""
    name = choice.parameter(choice.weight)
    try:
        require_contributed(choice)
        found = choice.scene.ledger.contributions(name, choice.scene.row).value
        others = _other_rows(choice, name, found)
    except (ExplorerError, LedgerError) as error:
        return _chooser(choice) + refused(error)
    words = (
        "The layer uses the same weights at every step. Each use adds its part to the gradient; the parts of all steps "
        "together are what the optimizer finds in .grad."
    )
    return fragments(
        paragraph(words),
        _chooser(choice),
        _along_time(choice, found),
        subsection(f"The contribution of {choice.title(choice.step)}, the sum, and the gradient"),
        _gates(choice),
        _matrices(choice, found, others),
        _proof(choice, found, others),
    )


def _chooser(choice: Choice) -> Markup:
    items = []
    for name in PARAMETERS:
        attributes = {
            "href": choice.scene.address.link(weight=name),
            "id": f"weight-{name}",
            "aria-current": "true" if name == choice.weight else None,
        }
        items.append(element("li", None, element("a", attributes, f"{name}: {WORDS[name]}")))
    return element("ul", {"class": "choices", "aria-label": "Shared weight"}, *items)


def _other_rows(choice: Choice, name: str, own: Tensor) -> Tensor | None:
    """What the other rows of the batch add; None where there are none."""
    if len(choice.scene.subject.words) == 1:
        return None
    return choice.scene.ledger.contributions(name).value.sum(0) - own.sum(0)


def _along_time(choice: Choice, found: Tensor) -> Markup:
    norms = [norm_of(found[step]) for step in range(max(choice.order) + 1)]
    line = Line(choice.weight, STYLES["contribution"], list(enumerate(norms)), (choice.step, norms[choice.step]))
    y = axis_over("norm of the contribution", norms, include=[0.0])
    title = f"Contributions to {choice.weight}"
    picture = line_chart(title, Axis("step", 0, max(len(norms) - 1, 1)), y, [line], description=f"{title}, by step")
    caption = "The norm of each step's contribution; the open step is marked."
    return element("div", {"class": "beside"}, _norm_table(choice, norms), figure(picture, caption))


def _norm_table(choice: Choice, norms: Sequence[float]) -> Markup:
    total = sum(norms)
    steps = sorted(choice.order)
    shown = places_around(len(steps), steps.index(choice.step), MOST_ROWS)
    rows: list[list[str | Cell]] = []
    for place in shown:
        if place is None:
            rows.append(["…", "", ""])
            continue
        step = steps[place]
        link = {"href": choice.scene.address.link(step=step), "id": f"contribution-step-{step}"}
        share = format_percent(norms[step] / total) if total else "-"
        tone = "strong" if step == choice.step else "plain"
        label = element("a", link, choice.label(step))
        rows.append([Cell((label,), tone), Cell((format_number(norms[step]),), tone), Cell((share,), tone)])
    cut = shown_words("steps", shown, len(steps))
    notes = ["share: of the sum of the norms; contributions of opposite signs can still cancel"]
    columns = [Column("step", "left"), Column("norm"), Column("share")]
    table = Table(
        f"Contributions to {choice.weight}, by step", columns, [Group(rows)], [*notes, *([cut] if cut else [])]
    )
    return element("div", None, table_html(table))


def _matrices(choice: Choice, found: Tensor, others: Tensor | None) -> Markup:
    summed, gradient = found.sum(0), choice.gradient(choice.parameter(choice.weight))
    shown = {f"Contribution of step {choice.step}": found[choice.step], _sum_words(choice, others): summed}
    if others is not None:
        shown["What the other rows add"] = others
    if gradient is not None:
        shown[f"{choice.weight}.grad"] = gradient
    shared = weight_scale(choice, *list(shown.values())[1:])
    tables = [
        weight_table(choice, caption, values, None if place == 0 else shared)
        for place, (caption, values) in enumerate(shown.items())
    ]
    return boxes(*tables)


def _gates(choice: Choice) -> Markup:
    """Links to the gates, whose rows lie below each other in each weight; none where there is a single block."""
    if len(choice.gates) == 1:
        return Markup("")
    items = []
    for place, name in enumerate(choice.gates):
        attributes = {
            "href": choice.scene.address.link(gate=name),
            "id": f"gate-{name}",
            "aria-current": "true" if place == choice.gate else None,
        }
        items.append(element("li", None, element("a", attributes, f"rows of {SHORT[name]}")))
    return element("ul", {"class": "choices", "aria-label": "Gate"}, *items)


def _sum_words(choice: Choice, others: Tensor | None) -> str:
    count = len(choice.order)
    which = f"Sum over {count} steps" if count > 1 else "Sum over the one step"
    return which if others is None else f"{which} of row {choice.scene.row}"


def _proof(choice: Choice, found: Tensor, others: Tensor | None) -> Markup:
    gradient = choice.gradient(choice.parameter(choice.weight))
    if gradient is None:
        return paragraph(f"{choice.weight}.grad: not computed.")
    total = found.sum(0) if others is None else found.sum(0) + others
    apart, largest = float((total - gradient).abs().max()), float(gradient.abs().max())
    digits = "double" if gradient.dtype == torch.float64 else "single"
    words = (
        f"The contributions add up to {choice.weight}.grad: no entry differs by more than {format_number(apart)}, and "
        f"the largest entry is {format_number(largest)} ({digits} precision)."
    )
    return element("p", {"class": "proof"}, words)
