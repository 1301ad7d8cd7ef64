"""Switches for who may read whom: full, causal, a window, padding, single cells. Each choice is an edit in the address.

Another choice of full, causal or a window takes the place of the last one and of cells hidden or shown by hand; padding
is a choice of its own. Start with `switches_html`.
"""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from clew.explorer.address import Address
from clew.explorer.attention.choice import Choice
from clew.explorer.attention.query import button
from clew.explorer.scene import Scene
from clew.models.heads import ClassTokenHead
from clew.models.patch_input import PatchInput
from clew.rendering.markup import element, joined
from clew.rendering.page import paragraph

VISIBLE, PADDING = ("visible=", "hide:", "show:"), ("padding=",)
MOST_OPTIONS = 40


def switches_html(scene: Scene, choice: Choice) -> Markup:
    """Say what hides cells now, and offer what may hide them instead."""
    model = scene.subject.model
    parts = [paragraph(_now(scene, choice)), _whole(scene, choice, isinstance(model.head, ClassTokenHead))]
    parts += [] if isinstance(model.inputs, PatchInput) else [_padding(scene, choice)]
    parts += [_one_cell(choice, kind) for kind in ("hide", "show")]
    return joined([parts[0], element("div", {"class": "attend-switches", "data-live": ""}, *parts[1:])])


def _now(scene: Scene, choice: Choice) -> str:
    reading = choice.reading
    cells = f"{reading.queries * reading.sources:,} cells of each head"
    rules = [f"{rule} hides {int(hidden.sum()):,}" for rule, hidden in reading.rules.items()]
    told = f"Of the {cells} {' and '.join(rules)}" if rules else f"No rule hides any of the {cells}"
    silent = [choice.word(query) for query in reading.silent]
    named = ", ".join(silent[:6]) + (f" and {len(silent) - 6} more" if len(silent) > 6 else "")
    nothing = f" Nothing to read: {named}; the weights there are 0." if silent else ""
    own = (
        "causal: a query reads its own place and earlier ones"
        if _source_is_causal(scene)
        else "full: every query reads every source"
    )
    return f"{told}.{nothing} The model by itself is {own}."


def _source_is_causal(scene: Scene) -> bool:
    return (scene.base or scene).is_causal


def _whole(scene: Scene, choice: Choice, has_class_token: bool) -> Markup:
    address = without(scene.address, VISIBLE)
    chosen = [edit for edit in scene.address.edits if edit.startswith(VISIBLE)]
    last = next((edit for edit in reversed(chosen) if edit.startswith(VISIBLE[0])), "")
    own = _form(address, "Visibility of the model itself", button_without("as the model has it", not chosen))
    kinds = [
        button("edit", f"visible={kind}", kind, last == f"visible={kind}", f"visible-{kind}")
        for kind in (["full"] if has_class_token else ["full", "causal"])
    ]
    whole = _form(address, "Visibility of all cells", joined(kinds))
    if has_class_token:
        return _line("All cells", own, whole)
    options = _options([(f"visible=window-{size}", f"{size}") for size in _sizes(choice.reading.sources)], last)
    window = _form(address, "Visibility through a window", _select("window", "a window of", options, "Use this window"))
    return _line("All cells", own, whole, window)


def button_without(words: str, is_pressed: bool) -> Markup:
    """Write a button that changes nothing but what its form leaves out."""
    pressed = str(is_pressed).lower()
    return element("button", {"type": "submit", "aria-pressed": pressed, "id": "visible-own"}, words)


def _padding(scene: Scene, choice: Choice) -> Markup:
    address = without(scene.address, PADDING)
    now = next((edit for edit in scene.address.edits if edit.startswith(PADDING)), "padding=0")
    sizes = [size for size in _sizes(choice.reading.sources) if size < choice.reading.sources]
    options = _options([(f"padding={size}", f"{size}") for size in sizes], now)
    own = element(
        "button", {"type": "submit", "aria-pressed": str(now == "padding=0").lower(), "id": "padding-0"}, "none"
    )
    chooser = _select("padding", "steps at the end", options, "Make these padding")
    return _line("Padding", _form(address, "No padding", own), _form(address, "Padding at the end", chooser))


def _one_cell(choice: Choice, kind: str) -> Markup:
    """Offer the sources of the chosen query that can be hidden, or shown."""
    reading, query = choice.reading, choice.query
    hidden = reading.hidden[query].tolist()
    sources = [source for source, is_hidden in enumerate(hidden) if is_hidden == (kind == "show")]
    sources = [source for source in sources if can_show(reading.rules_at(query, source))]
    offered = [(f"{kind}:{query}.{source}", choice.word(source)) for source in sources]
    if not offered:
        return Markup("")
    centre = min(range(len(offered)), key=lambda place: abs(sources[place] - query))
    start = max(0, min(centre - MOST_OPTIONS // 2, len(offered) - MOST_OPTIONS))
    source = choice.cell[2] if choice.cell is not None else sources[centre]
    options = _options(offered[start : start + MOST_OPTIONS], f"{kind}:{query}.{source}")
    words, done = ("may not read", "Hide") if kind == "hide" else ("may read", "Show")
    content = _select(kind, f"{choice.word(query)} {words}", options, done)
    return _line(f"{done} one cell", _form(choice.address, f"{done} one cell", content))


def can_show(rules: Sequence[str]) -> bool:
    """Say whether an edit can show what these rules hide; padding and other documents are never read."""
    return set(rules) <= {"causal", "mask"}


def without(address: Address, kinds: tuple[str, ...]) -> Address:
    """Leave out the edits of some kinds."""
    return replace(address, edits=tuple(edit for edit in address.edits if not edit.startswith(kinds)))


def _sizes(most: int) -> list[int]:
    """List sizes to choose from: each small one, then ever larger steps."""
    sizes = [*range(1, 9), *(base << power for power in range(9) for base in (10, 12, 16))]
    return sorted({size for size in sizes if size <= most})


def _options(pairs: Sequence[tuple[str, str]], chosen: str) -> list[Markup]:
    return [
        element("option", {"value": value, "selected": "selected" if value == chosen else None}, words)
        for value, words in pairs
    ]


def _select(name: str, label: str, options: Sequence[Markup], done: str) -> Markup:
    identifier = f"switch-{name}"
    chooser = element("select", {"name": "edit", "id": identifier}, *options)
    words = element("label", {"for": identifier}, label)
    return joined([words, chooser, element("button", {"type": "submit", "id": f"{identifier}-done"}, done)])


def _form(address: Address, label: str, content: Markup) -> Markup:
    attributes = {
        "method": "get",
        "action": address.path,
        "aria-label": label,
        "class": "attend-choices",
        "data-live": "",
    }
    return element("form", attributes, address.hidden_inputs(), content)


def _line(words: str, *forms: Markup) -> Markup:
    """Put what is switched and the forms that switch it in one line."""
    return joined([element("p", {"class": "attend-label"}, words), element("div", None, *forms)])
