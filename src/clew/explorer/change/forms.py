"""The parts that the forms of the change view are made of: a card with a heading, and forms that add an edit.

A form carries the whole address along, without the edits that the new one replaces, and its one field is named after
the edit, so that it works without any script. Start with `edit_form`.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.errors import ClewError
from clew.explorer.address import EDIT_FIELD, Address
from clew.explorer.edits.parsing import parse_edit
from clew.ledger.grids import window
from clew.rendering.markup import element
from clew.rendering.page import fragments

MOST_LISTED = 64
"""A vocabulary of at most so many words is a list to choose from."""
MOST_LINKS = 24


def card(heading: str, *content: str, is_wide: bool = False) -> Markup:
    """Give a part of the forms its heading; a wide one takes the whole width."""
    css_class = "change-card wide" if is_wide else "change-card"
    return element("div", {"class": css_class}, element("h3", None, heading), *content)


def edit_form(address: Address, edit: str, label: str, field: Markup, button: str) -> Markup:
    """Write a form that adds an edit, in place of one of the same kind and place.

    Args:
        address: Of the page.
        edit: Kind and place, such as "token:2".
        label: What the field is.
        field: An element from `choice` or `entry` of the same edit.
        button: Text of the button.
    """
    identifier = field_id(edit)
    return element(
        "form",
        {"method": "get", "action": address.path, "class": "inline"},
        without(address, edit).hidden_inputs(),
        labelled(identifier, label, field),
        element("button", {"type": "submit", "id": f"{identifier}-set"}, button),
    )


def labelled(identifier: str, label: str, field: Markup) -> Markup:
    """Put a label to the field that has an identifier."""
    return element("div", {"class": "field"}, element("label", {"for": identifier}, label), field)


def choice(edit: str, options: Sequence[tuple[str, str]], chosen: str) -> Markup:
    """Write a list to choose the value of an edit from: pairs of a value and its words."""
    return element(
        "select",
        {"name": f"{EDIT_FIELD}{edit}", "id": field_id(edit)},
        *(option(value, words, value == chosen) for value, words in options),
    )


def option(value: str, words: str, is_chosen: bool) -> Markup:
    """Write one line of a list."""
    return element("option", {"value": value, "selected": "selected" if is_chosen else None}, words)


def entry(edit: str, value: str, is_number: bool = True) -> Markup:
    """Write a field for the value of an edit."""
    attributes: dict[str, str | float | int | None] = {
        "type": "text",
        "name": f"{EDIT_FIELD}{edit}",
        "id": field_id(edit),
        "value": value,
        "size": 10 if is_number else 14,
        "inputmode": "decimal" if is_number else None,
        "autocomplete": "off",
        "required": "required",
    }
    return element("input", attributes)


def view_form(address: Address, name: str, label: str, field: Markup, button: str, *but: str) -> Markup:
    """Write a form that sets a parameter of the view and changes nothing in the model."""
    return element(
        "form",
        {"method": "get", "action": address.path, "class": "inline"},
        address.hidden_inputs(name, *but),
        labelled(f"change-{name}", label, field),
        element("button", {"type": "submit", "id": f"change-{name}-show"}, button),
    )


def step_links(address: Address, labels: Sequence[str], chosen: int, what: str) -> Markup:
    """List steps as links that choose one; of many the first and the last, and those around the chosen one."""
    shown = window(len(labels), MOST_LINKS)
    if chosen not in shown:
        near = [place for place in range(chosen - 3, chosen + 4) if 0 <= place < len(labels)]
        ends = window(len(labels), MOST_LINKS - len(near))
        gap = ends.index(None)
        shown = [*(at for at in ends[:gap] if at not in near), None, *near, None]
        shown += [at for at in ends[gap + 1 :] if at not in near]
    items = [
        element("li", None, "…") if place is None else _step_link(address, place, labels[place], place == chosen)
        for place in shown
    ]
    return element("ul", {"class": "choices", "aria-label": what}, *items)


def _step_link(address: Address, place: int, label: str, is_chosen: bool) -> Markup:
    words = fragments(element("span", {"class": "change-number"}, str(place)), " ", label or "step")
    current = {"aria-current": "true"} if is_chosen else {}
    link = {"href": address.link(step=place), "id": f"change-step-{place}"}
    return element("li", None, element("a", link | current, words))


def without(address: Address, edit: str) -> Address:
    """Take out the edits that one of this kind and place would replace."""
    place = edit.partition("=")[0]
    return address.with_edits([text for text in address.edits if not _is_same_place(text, place)])


def _is_same_place(text: str, place: str) -> bool:
    """Whether an edit is of a place, written as kind and place."""
    try:
        parsed = parse_edit(text)
    except ClewError:
        return False
    return ":".join([parsed.address[0], ".".join(parsed.address[1:])]).rstrip(":") == place or (
        text.partition("=")[0] == place
    )


def field_id(edit: str) -> str:
    """Name a field of a form for its label, the same on every page."""
    return "change-" + "".join(letter if letter.isalnum() else "-" for letter in edit)


def chosen_number(address: Address, name: str, count: int, default: int = 0) -> int:
    """Read a whole number from the view's parameters, kept within a count."""
    text = address.shown.get(name, "")
    found = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else default
    return max(0, min(found, count - 1))
