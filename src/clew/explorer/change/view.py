"""The view "Change and compare": change something, see what moved against the unchanged model, or set two side by side.

Every page is one pass of the real model with the edits of its address; undo is the address with one edit fewer.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.explorer.change.beside import beside_html
from clew.explorer.change.made import made_html
from clew.explorer.change.moved import Sides, counted_html, moved_html
from clew.explorer.change.movement import movements
from clew.explorer.change.predictions import predictions_html
from clew.explorer.change.quantity import quantity_html
from clew.explorer.change.step import step_card
from clew.explorer.change.weights import weight_card
from clew.explorer.change.whole import whole_cards
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import View
from clew.rendering.markup import element
from clew.rendering.page import Section, fragments, paragraph

WORDS = "Change a token, a value, a weight, a rule or a target; the real model runs again, and what moved is marked."
HOW_TO_OPEN = "Open a quantity in the table to see it before, after, and the difference, cell by cell."


def _sections(scene: Scene, studio: Studio) -> Sequence[Section]:
    cards = element(
        "div", {"class": "change-cards", "data-live": ""}, step_card(scene), *whole_cards(scene), weight_card(scene)
    )
    sections = [
        Section("Change something", "change", fragments(cards)),
        Section("What is changed", "changed", made_html(scene)),
    ]
    if scene.base is not None:
        sections.append(Section("What moved", "moved", _moved(scene, scene.base, studio)))
    return [*sections, Section("Two models on the same input", "beside", beside_html(scene, studio))]


def _moved(scene: Scene, base: Scene, studio: Studio) -> Markup:
    address = scene.address
    opened = address.shown.get("quantity", "")
    sides = Sides("before", "after", "quantity", address.link, address.shown.get("every") == "1", opened)
    pairs = movements(base.ledger, scene.ledger)
    chosen = next((pair for pair in pairs if pair.name == opened), None)
    grid = address.shown.get("grid", "")
    at = int(grid) if grid.isascii() and grid.isdigit() and len(grid) < 8 else 0
    opened_html = paragraph(HOW_TO_OPEN) if chosen is None else quantity_html(chosen, base, scene, sides, at)
    predictions = predictions_html(base, scene, sides, studio)
    return fragments(predictions, counted_html(pairs, sides), opened_html, moved_html(pairs, base, scene, sides))


CHANGE = View("change", "Change and compare", WORDS, lambda scene: "", _sections)
