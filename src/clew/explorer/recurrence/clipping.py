"""Clipping of the gradient's norm: what an optimizer's step of training would get at a threshold, before and after.

The clipping is the one of `clew.training`: torch's, over the gradients of all parameters as one vector, applied to
copies. Start with `clipping_html`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from markupsafe import Markup
from torch import Tensor, nn

from clew.explorer.recurrence.choice import DEFAULT_THRESHOLD, Choice
from clew.explorer.recurrence.forms import submit
from clew.explorer.recurrence.tables import boxes, norm_of, shown_words, weight_scale, weight_table
from clew.ledger.grids import window
from clew.rendering.markup import element
from clew.rendering.numbers import format_count, format_number
from clew.rendering.page import fragments, paragraph, subsection
from clew.rendering.tables import Cell, Column, Group, Table, table_html

MOST_ROWS = 24


@dataclass(frozen=True)
class Clipped:
    """The gradients of a model, by the names of its parameters.

    Attributes:
        norm: Of all of them as one vector, before.
        before: As the backward pass left them.
        after: As an optimizer would get them.
    """

    norm: float
    before: Mapping[str, Tensor]
    after: Mapping[str, Tensor]

    @property
    def norm_after(self) -> float:
        """Norm of all gradients after clipping."""
        return norm_of(torch.cat([part.double().flatten() for part in self.after.values()]))


def clip(model: nn.Module, threshold: float) -> Clipped:
    """Clip copies of a model's gradients as `clew.training.fit` does."""
    copies: dict[str, nn.Parameter] = {}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            copies[name] = nn.Parameter(parameter.detach().clone())
            copies[name].grad = parameter.grad.detach().clone()
    before = {name: copy.grad.clone() for name, copy in copies.items() if copy.grad is not None}
    norm = nn.utils.clip_grad_norm_(list(copies.values()), threshold, foreach=True)
    return Clipped(norm.item(), before, {name: copy.grad for name, copy in copies.items() if copy.grad is not None})


def clipping_html(choice: Choice) -> Markup:
    """Show the threshold, the factor, and the gradients before and after."""
    found = clip(choice.scene.subject.model, choice.threshold)
    return fragments(
        paragraph(
            "If the gradients of all parameters, taken as one vector, are longer than the threshold, all are scaled by "
            "one factor. The direction stays, and so does each step's share: clipping tames a gradient that is too "
            "long and brings back none that vanished."
        ),
        _form(choice),
        _answer(choice, found),
        _table(found),
        subsection(f"{choice.weight} before and after"),
        _matrices(choice, found),
    )


def _form(choice: Choice) -> Markup:
    carried = choice.scene.address.hidden_inputs("clip")
    field = element(
        "input",
        {
            "type": "number",
            "id": "field-clip",
            "name": "clip",
            "value": f"{choice.threshold:.12g}",
            "min": "0",
            "step": "any",
            "required": "required",
        },
    )
    label = element("label", {"for": "field-clip"}, "Threshold of the norm")
    attributes = {"method": "get", "action": f"{choice.scene.address.path}#clipping", "class": "controls"}
    usual = element("span", {"class": "made"}, f"clew train takes {DEFAULT_THRESHOLD:g} unless told.")
    return element(
        "form",
        attributes,
        carried,
        element("span", {"class": "labelled"}, label, field),
        submit("Clip", "clip-submit"),
        usual,
    )


def _answer(choice: Choice, found: Clipped) -> Markup:
    threshold = f"{choice.threshold:g}"
    if math.isnan(found.norm):
        words = "The gradient's norm is NaN, and so is the factor: after clipping every gradient is NaN."
    elif found.norm > choice.threshold:
        factor = choice.threshold / (found.norm + 1e-6)  # as torch.nn.utils.clip_grad_norm_ has it
        words = (
            f"The gradient's norm is {format_number(found.norm)}, above {threshold}: every gradient is multiplied by "
            f"{format_number(factor)}. The norm after clipping is {format_number(found.norm_after)}."
        )
    else:
        words = (
            f"The gradient's norm is {format_number(found.norm)}, not above {threshold}: the factor is 1 and nothing "
            "changes."
        )
    return element("p", {"class": "proof"}, words)


def _table(found: Clipped) -> Markup:
    names = list(found.before)
    shown = window(len(names), MOST_ROWS)
    rows: list[list[str | Cell]] = []
    for place in shown:
        if place is None:
            rows.append(["…", "", "", ""])
            continue
        name = names[place]
        norms = [format_number(norm_of(one[name])) for one in (found.before, found.after)]
        rows.append([name, format_count(found.before[name].numel()), *norms])
    total = [format_count(sum(part.numel() for part in found.before.values()))]
    total += [format_number(found.norm), format_number(found.norm_after)]
    rows.append([Cell(("all together",), "strong"), *(Cell((words,), "strong") for words in total)])
    columns = [Column("parameter", "left"), Column("numbers"), Column("norm before"), Column("norm after")]
    cut = shown_words("parameters", shown, len(names))
    return table_html(Table("Norms of the gradients", columns, [Group(rows)], [cut] if cut else []))


def _matrices(choice: Choice, found: Clipped) -> Markup:
    name = choice.parameter(choice.weight)
    if name not in found.before:
        return paragraph(f"{choice.weight} is held fixed and has no gradient.")
    before, after = found.before[name], found.after[name]
    scale = weight_scale(choice, before, after)
    captions = {"Gradient before": before, "Gradient after": after}
    return boxes(*(weight_table(choice, words, values, scale) for words, values in captions.items()))
