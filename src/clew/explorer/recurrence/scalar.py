"""The scalar model: a slider for each of its weights, and what follows: states, slopes, terms, contributions.

A slider is a form of its own that adds an edit of one weight to the address, in the place of an earlier edit of the
same weight. Start with `scalar_html`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup
from torch import Tensor

from clew.explorer.recurrence.choice import Choice
from clew.explorer.recurrence.forms import slider, submit
from clew.explorer.scalar import HalfSquaredError
from clew.layers import RNNLayer
from clew.rendering.markup import element
from clew.rendering.numbers import format_number
from clew.rendering.page import fragments, paragraph, subsection
from clew.rendering.symbols import with_indices
from clew.rendering.tables import Cell, Column, Group, Table, table_html

HEAD, HEAD_BIAS = "head.linear.weight", "head.linear.bias"
REACH = 2.5
MOST_STEPS = 12


@dataclass(frozen=True)
class ScalarWeight:
    """One weight of the scalar model: its letter, what it is, and its name in the model."""

    letter: str
    words: str
    name: str


def is_scalar(choice: Choice) -> bool:
    """Whether this is the chapter's scalar model, whose loss alone the formulas here hold for."""
    return isinstance(choice.scene.subject.task, HalfSquaredError) and len(choice.order) <= MOST_STEPS


def scalar_html(choice: Choice) -> Markup:
    """Show the sliders and, below them, the forward and the backward pass in numbers."""
    return fragments(
        paragraph(
            "Move a weight: the model runs again, forward and backward. Each slider is an edit in the address; undo "
            "takes it back."
        ),
        element("div", {"class": "sliders"}, *(_slider(choice, weight) for weight in _weights(choice))),
        _prediction(choice),
        subsection("Forward and backward, step by step"),
        _steps(choice),
        subsection("Contributions to the shared weights"),
        _contributions(choice),
    )


def _weights(choice: Choice) -> list[ScalarWeight]:
    return [
        ScalarWeight("w_x", "input weight", choice.parameter("weight_ih")),
        ScalarWeight("w_h", "recurrent weight", choice.parameter("weight_hh")),
        ScalarWeight("w_o", "output weight", HEAD),
    ]


def _weight(choice: Choice, name: str) -> Tensor:
    return choice.scene.subject.model.get_parameter(name).detach()


def _slider(choice: Choice, weight: ScalarWeight) -> Markup:
    """Write the form of one weight; it carries every edit but those of this very place.

    The page's script sends it when the slider is let go; without a script its button does.
    """
    address = choice.scene.address
    place = f"weight:{weight.name}.0.0"
    others = address.with_edits([edit for edit in address.edits if edit.partition("=")[0] != place])
    value = _weight(choice, weight.name).item()
    reach = max(REACH, abs(value))
    identifier = f"slider-{weight.letter.replace('_', '-')}"
    words = with_indices(f"{weight.letter}, {weight.words}")
    attributes = {
        "method": "get",
        "action": address.path,
        "class": "slider",
        "id": f"{identifier}-form",
        "data-submit": "change",
    }
    field = slider(f"edit:{place}", identifier, words, value, -reach, reach)
    return element("form", attributes, others.hidden_inputs(), field, submit("Set", f"{identifier}-set"))


def _prediction(choice: Choice) -> Markup:
    ledger, row = choice.scene.ledger, choice.scene.row
    predicted = ledger.quantity("head.linear.output").at(batch=row)
    targets = choice.scene.subject.batch.targets
    offset = _offset_words(choice, {"b_o": HEAD_BIAS})
    words = f"ŷ = w_o h_{choice.order[-1]}{offset} = {format_number(predicted.value.item())}"
    if choice.scene.has_backward and targets is not None:
        error = predicted.value.item() - targets[row].item()
        words += f", e = ŷ - y = {format_number(error)}, L = ½ e² = {format_number(choice.scene.trace.loss_nats)}"
    return element("p", {"class": "proof"}, with_indices(f"{words}."))


def _offset_words(choice: Choice, biases: Mapping[str, str]) -> str:
    """Write the biases that an edit made other than zero as further summands of a formula."""
    return "".join(f" + {letter}" for letter, name in biases.items() if _weight(choice, name).item() != 0)


def _steps(choice: Choice) -> Markup:
    state, inside = choice.of("state"), choice.of("preactivation")
    module = choice.module
    assert isinstance(module, RNNLayer)
    slopes = module.activation.slope(inside.value, state.value)
    names = ["z_t", "h_t", "φ'(z_t)", "w_h φ'(z_t)"]
    names += ["direct", "later", "g^h_t", "g^z_t"] if choice.scene.has_backward else []
    rows: list[list[str | Cell]] = []
    for place, step in enumerate(choice.order):
        factor = _factor(choice, step) if place else None
        numbers = [inside.value[step].item(), state.value[step].item(), slopes[step].item(), factor]
        if choice.scene.has_backward:
            numbers += [state.terms[name][step].item() for name in ("direct", "later")]
            numbers += [state.sensitivity[step].item(), inside.sensitivity[step].item()]
        shown = (Cell(("no transition",), "muted") if one is None else Cell((format_number(one),)) for one in numbers)
        rows.append([with_indices(choice.scene.tokens[step]), *shown])
    columns = [Column("step", "left"), *(Column(with_indices(name)) for name in names)]
    offset = _offset_words(choice, {"b_x": choice.parameter("bias_ih"), "b_h": choice.parameter("bias_hh")})
    notes = [f"z_t = w_x x_t + w_h h_(t-1){offset}, h_t = φ(z_t)"]
    notes += ["φ'(z_t): slope of the activation; w_h φ'(z_t) = dh_t/dh_(t-1), the factor of the transition"]
    notes += ["g^h_t = direct + later; g^z_t = g^h_t φ'(z_t)"] if choice.scene.has_backward else []
    table = Table("States, slopes and sensitivities", columns, [Group(rows)], [with_indices(note) for note in notes])
    return table_html(table)


def _factor(choice: Choice, step: int) -> float:
    return choice.scene.ledger.jacobian(choice.layer, choice.scene.row, step).value.item()


def _contributions(choice: Choice) -> Markup:
    if not choice.scene.has_backward:
        return paragraph("Not computed: there is no loss.")
    ledger, row = choice.scene.ledger, choice.scene.row
    columns = [
        Column("gradient", "left"),
        *(Column(f"step {step}") for step in choice.order),
        Column("sum"),
        Column(".grad"),
    ]
    rows: list[list[str | Cell]] = []
    for weight, equation in zip(_weights(choice)[:2], ("Σ g^z_t x_t", "Σ g^z_t h_(t-1)"), strict=True):
        parts = ledger.contributions(weight.name, row).value.flatten()
        numbers = [parts[step].item() for step in choice.order] + [parts.sum().item()]
        rows.append(
            [with_indices(f"dL/d{weight.letter} = {equation}"), *map(format_number, numbers), _grad(choice, weight)]
        )
    output = _weights(choice)[2]
    found = choice.gradient(HEAD)
    own = "not computed" if found is None else format_number(found.item())
    unused = [Cell(("no use",), "muted") for _ in choice.order[:-1]]
    last = choice.order[-1]
    rows.append([with_indices(f"dL/dw_o = e h_{last}"), *unused, own, own, _grad(choice, output)])
    return table_html(Table("Contributions, a step a column", columns, [Group(rows)]))


def _grad(choice: Choice, weight: ScalarWeight) -> str:
    found = choice.gradient(weight.name)
    return "not computed" if found is None else format_number(found.item())
