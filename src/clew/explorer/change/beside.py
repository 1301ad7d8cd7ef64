"""Two models, or two checkpoints of one, on the same input: predictions, loss, and every quantity that both have."""

from markupsafe import Markup

from clew.errors import ClewError
from clew.explorer.change.forms import option, view_form
from clew.explorer.change.moved import Sides, counted_html, moved_html
from clew.explorer.change.movement import Pair, movements
from clew.explorer.change.predictions import predictions_html
from clew.explorer.change.quantity import quantity_html
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.rendering.markup import element
from clew.rendering.page import banner, fragments, paragraph, subsection

MOST_NAMES = 40


def beside_html(scene: Scene, studio: Studio) -> Markup:
    """Give the form that chooses a second model, and, where one is chosen, the two side by side."""
    form = _form(scene, studio)
    try:
        other = studio.beside(scene.address)
    except ClewError as error:
        return fragments(form, banner("These two cannot stand side by side.", [str(error)], "Message"))
    if other is None:
        words = "Choose a second model that reads the same input. Edits of what is read apply to both."
        return fragments(paragraph(words), form)
    return fragments(form, _compared(scene, other, studio))


def _form(scene: Scene, studio: Studio) -> Markup:
    chosen = scene.address.shown.get("beside", "")
    others = [(key, source.label) for key, source in studio.sources.items() if key != scene.source.key]
    field = element(
        "select",
        {"name": "beside", "id": "change-beside"},
        option("", "none", not chosen),
        *(option(key, label, key == chosen) for key, label in others),
    )
    form = view_form(scene.address, "beside", "Second model", field, "Compare", "pair", "grid")
    return element("div", {"class": "change-choice"}, form)


def _compared(scene: Scene, other: Scene, studio: Studio) -> Markup:
    address = scene.address
    first, second = _names(scene, other)
    opened = address.shown.get("pair", "")
    sides = Sides(first, second, "pair", address.link, address.shown.get("every") == "1", opened)
    pairs = movements(scene.ledger, other.ledger)
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    found = scene.ledger.compare(other.ledger)
    told = "They agree in every number." if found is None else f"The first difference: {found}."
    parts = [
        paragraph(element("strong", None, first), f": {scene.subject.description}."),
        paragraph(element("strong", None, second), f": {other.subject.description}."),
        predictions_html(scene, other, sides, studio),
        subsection("Quantities of both models"),
        paragraph(f"{told} Of {len(pairs)} names both have {len(both)}."),
    ]
    chosen = next((pair for pair in pairs if pair.name == opened), None)
    parts += [_only(pairs, first, second), counted_html(both, sides)]
    parts += [quantity_html(chosen, scene, other, sides, 0)] if chosen is not None else []
    return fragments(*parts, moved_html(both, scene, other, sides))


def _names(scene: Scene, other: Scene) -> tuple[str, str]:
    edited = ", edited" if scene.address.edits else ""
    return f"{scene.source.label}{edited}", other.source.label


def _only(pairs: list[Pair], first: str, second: str) -> Markup:
    """Name the quantities that one of the two has alone."""
    parts: list[Markup] = []
    for name, own in (
        (first, [pair.name for pair in pairs if pair.second is None]),
        (second, [pair.name for pair in pairs if pair.first is None]),
    ):
        if own:
            rest = f" and {len(own) - MOST_NAMES} more" if len(own) > MOST_NAMES else ""
            summary = element("summary", None, f"{len(own)} only in {name}")
            content = element("p", {"class": "made"}, f"{', '.join(own[:MOST_NAMES])}{rest}")
            parts.append(element("details", None, summary, content))
    return fragments(*parts)
