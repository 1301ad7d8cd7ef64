"""Forms for one step: its token or numbers, its target, and which sources it reads.

Steps stand in a row as links; the chosen one, `step` among the parameters, has the forms. Start with `step_card`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from torch import Tensor

from clew.explorer.address import Address
from clew.explorer.change.forms import MOST_LISTED, card, choice, chosen_number, edit_form, entry, step_links, view_form
from clew.explorer.edits.draft import read_steps
from clew.explorer.edits.parsing import parse_edit
from clew.explorer.scene import Scene
from clew.ledger.grids import window
from clew.models.heads import ClassTokenHead
from clew.models.transformer_encoder import TransformerEncoder
from clew.rendering.markup import element
from clew.rendering.page import fragments, paragraph
from clew.report.subject import Subject
from clew.tasks import Classification, Forecasting, NextToken, Regression, Tagging

MOST_FEATURES, MOST_SOURCES = 8, 24
PADDING_RULE = "padding"


def step_card(scene: Scene) -> Markup:
    """Give the forms that are about a single step, and those about the target of the whole."""
    labels, unit = _labels(scene), scene.subject.unit
    step = chosen_number(scene.address, "step", len(labels))
    strip = [step_links(scene.address, labels, step, f"Choose a {unit}")] if len(labels) > 1 else []
    columns = [_column(f"Change {_name(step, labels, unit)}", *_forms(scene, step))]
    sources = _reading(scene, step)
    if sources:
        columns.append(_column(f"What {_name(step, labels, unit)} reads", sources))
    return card(f"One {unit}", *strip, element("div", {"class": "change-columns"}, *columns), is_wide=True)


def _column(heading: str, *content: str) -> Markup:
    return element("div", None, element("h4", None, heading), *content)


def _labels(scene: Scene) -> list[str]:
    """Label the steps that can be chosen: those that are read, and a last word that is only predicted."""
    subject = scene.subject
    if subject.batch.inputs.ndim == 4:
        return scene.tokens
    count = subject.batch.inputs.shape[1] if isinstance(subject.task, NextToken) else read_steps(subject)
    words = subject.words[scene.row]
    return [words[step] if step < len(words) else "padding" for step in range(count)]


def _name(step: int, labels: Sequence[str], unit: str) -> str:
    label = labels[step] if step < len(labels) else ""
    return f"{unit} {step} “{label}”" if label else f"{unit} {step}"


def _forms(scene: Scene, step: int) -> list[Markup]:
    """Give the forms for what is read at a step and what it is scored against."""
    subject = scene.subject
    if subject.batch.inputs.ndim == 4:
        forms = [_pixel_form(scene)]
    elif subject.batch.inputs.is_floating_point():
        forms = _value_forms(scene, step)
    elif subject.vocabulary and step < len(subject.words[scene.row]):
        word = subject.words[scene.row][step]
        forms = [_word_form(scene.address, f"token:{step}", "Read instead", word, subject.vocabulary)]
    else:
        forms = [paragraph("This step is padding: nothing is read here.")]
    return [*forms, *_target_forms(scene, step)]


def _word_form(address: Address, edit: str, label: str, word: str, vocabulary: Sequence[str]) -> Markup:
    if len(vocabulary) <= MOST_LISTED:
        field = choice(edit, [(known, known) for known in dict.fromkeys(vocabulary)], word)
    else:
        field = entry(edit, word, is_number=False)
    return edit_form(address, edit, label, field, "Change")


def _value_forms(scene: Scene, step: int) -> list[Markup]:
    """Give a field for each number of a step, of many the first and the last."""
    lead = scene.subject.task.lead if isinstance(scene.subject.task, Forecasting) else 0
    at = step + lead
    values = scene.subject.batch.inputs[scene.row, at]
    forms: list[Markup] = []
    for feature in window(len(values), MOST_FEATURES):
        if feature is None:
            forms.append(paragraph(f"… {len(values) - MOST_FEATURES} features are left out here."))
            continue
        edit = f"value:{at}.{feature}"
        label = f"Feature {feature}"
        forms.append(edit_form(scene.address, edit, label, entry(edit, _exact(values[feature].item())), "Change"))
    return forms


def _pixel_form(scene: Scene) -> Markup:
    """Give the form that finds a pixel, and for a found one the form that changes it."""
    address, inputs = scene.address, scene.subject.batch.inputs[scene.row]
    shape = tuple(inputs.shape)
    text = address.shown.get("pixel", "0.0.0")
    parts = text.split(".")
    is_place = len(parts) == 3 and all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts)
    place = tuple(map(int, parts)) if is_place else (0, 0, 0)
    if not all(at < size for at, size in zip(place, shape, strict=True)):
        place = (0, 0, 0)
    written = ".".join(map(str, place))
    field = element("input", {"type": "text", "name": "pixel", "id": "change-pixel", "value": written, "size": 10})
    label = f"Pixel: channel.row.column, within {'.'.join(map(str, shape))}"
    find = view_form(address, "pixel", label, field, "Find")
    edit = f"value:{written}"
    value = _exact(inputs[place].item())
    return fragments(find, edit_form(address, edit, f"Value of pixel {written}", entry(edit, value), "Change"))


def _target_forms(scene: Scene, step: int) -> list[Markup]:
    """Give the form for what a prediction is scored against, as the task has it."""
    subject, address = scene.subject, scene.address
    task, aligned = subject.task, subject.task.align(subject.batch) if scene.has_backward else None
    if aligned is None:
        return []
    targets = aligned.targets[scene.row]
    scored = None if aligned.scored is None else aligned.scored[scene.row]
    if isinstance(task, NextToken | Tagging | Forecasting):
        if step >= len(targets) or (scored is not None and not bool(scored[step])):
            return [paragraph("No prediction that counts is made here.")]
    elif scored is not None and not bool(scored):
        return [paragraph("The target of this sequence does not count.")]
    if isinstance(task, NextToken):
        word = subject.vocabulary[int(targets[step])]
        return [_word_form(address, f"target:{step}", "Score its prediction against", word, subject.vocabulary)]
    if isinstance(task, Tagging):
        return [_class_form(address, f"target:{step}", int(targets[step]), task.classes)]
    if isinstance(task, Classification):
        return [_class_form(address, "target", int(targets), task.classes)]
    return _number_forms(subject, address, step, targets.tolist())


def _class_form(address: Address, edit: str, chosen: int, classes: int) -> Markup:
    label = "Score against class"
    if classes <= MOST_LISTED:
        field = choice(edit, [(str(number), str(number)) for number in range(classes)], str(chosen))
    else:
        field = entry(edit, str(chosen))
    return edit_form(address, edit, label, field, "Change")


def _number_forms(subject: Subject, address: Address, step: int, targets: list[Any]) -> list[Markup]:
    """Give a field for each number that is predicted: of a whole sequence, or of a step of some series."""
    is_forecast = isinstance(subject.task, Forecasting)
    if not is_forecast and not isinstance(subject.task, Regression):
        return []
    row = targets[step] if is_forecast else targets
    forms: list[Markup] = []
    for number, value in list(enumerate(row))[:MOST_FEATURES]:
        edit = f"target:{step}.{number}" if is_forecast else f"target:{number}"
        what = f"series {number}" if is_forecast else f"number {number}"
        label = f"Score {what} against" if len(row) > 1 else "Score against"
        forms.append(edit_form(address, edit, label, entry(edit, _exact(value)), "Change"))
    return forms


def _reading(scene: Scene, query: int) -> Markup | None:
    """Give a button for each source that hides it from a query, or shows it; what ran says which rule hid it."""
    if not isinstance(scene.subject.model.encoder, TransformerEncoder):
        return None
    names = [name for name in scene.ledger.names() if name.endswith(".attention.weights")]
    if not names:
        return None
    weights = scene.ledger.quantity(names[0])
    weights = weights.at(batch=scene.row, head=0)
    if query >= weights.shape[0]:
        return paragraph("It is only predicted: it reads nothing.")
    labels = scene.tokens
    rules = {rule: cells.expand(weights.shape)[query] for rule, cells in weights.hidden_by.items()}
    items = [
        element("li", None, "…") if source is None else _source(scene.address, query, source, labels, rules)
        for source in window(weights.shape[1], MOST_SOURCES)
    ]
    words = "It reads the sources that are checked. Press one to hide it from this query, or to show it."
    if isinstance(scene.subject.model.head, ClassTokenHead):
        words += " Source 0 is the class token."
    return fragments(paragraph(words), element("ul", {"class": "change-sources"}, *items))


def _source(address: Address, query: int, source: int, labels: Sequence[str], rules: Mapping[str, Tensor]) -> Markup:
    hiding = [rule for rule, cells in rules.items() if bool(cells[source])]
    label = labels[source] if source < len(labels) else "padding"
    name = f"{source} {label}".strip()
    if PADDING_RULE in hiding:
        return element("li", None, element("span", {"class": "change-fixed"}, f"{name}: padding, never read"))
    edit = f"{'show' if hiding else 'hide'}:{query}.{source}"
    edits = _toggled(address, edit)
    mark, told = ("✓", "read") if not hiding else ("✕", f"hidden: {' and '.join(hiding)}")
    attributes: dict[str, str | float | int | None] = {
        "href": address.link(edits=edits),
        "id": f"change-source-{source}",
        "class": "hides" if hiding else "reads",
        "aria-label": f"{name}, {told}; {'show' if hiding else 'hide'} it",
    }
    return element("li", None, element("a", attributes, f"{mark} {name}"))


def _toggled(address: Address, edit: str) -> tuple[str, ...]:
    """Undo an edit of the same cell, where that is enough; otherwise add the new one."""
    place = parse_edit(edit).address
    same = [text for text in address.edits if parse_edit(text).address == place]
    kept = tuple(text for text in address.edits if text not in same)
    return kept if same and same[-1] != edit else (*kept, edit)


def _exact(value: float) -> str:
    """Write a number with the digits that give it back."""
    return repr(value) if value == value else "NaN"
