"""The view "The whole way": every station of a pass in one picture; each opens into its quantities and numbers."""

from collections.abc import Sequence

from markupsafe import Markup

from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import View
from clew.explorer.way.picture import picture
from clew.explorer.way.quantity_panel import quantity_panel
from clew.explorer.way.stations import stations_of
from clew.rendering.markup import element
from clew.rendering.page import Section, fragments, paragraph

FIRST = "inputs.embedding.output"
"""What is open at first, where there is such a quantity."""


def _sections(scene: Scene, _studio: Studio) -> Sequence[Section]:
    names = scene.ledger.names()
    asked = scene.address.shown.get("quantity", "")
    name = asked if asked in names else FIRST if FIRST in names else names[0]
    stations = stations_of(names)
    missing = f"This model has no quantity “{asked}”." if asked not in ("", name) else ""
    drawn = fragments(element("div", {"class": "way-key"}, _key(scene)), picture(scene, stations, name, _head(scene)))
    opened = fragments(paragraph(missing) if missing else Markup(""), quantity_panel(scene, stations, name))
    box = {"class": "way-panel scroll", "role": "region", "aria-label": f"Opened: {name}", "tabindex": "0"}
    content = element(
        "div", {"class": "way"}, element("div", {"class": "way-picture"}, drawn), element("div", box, opened)
    )
    return [Section("From the input to the loss and back", "way", content)]


def _key(scene: Scene) -> Markup:
    """Say what stands at the arrows."""
    down = "Down: the shape of what is handed on."
    if not scene.has_backward:
        return paragraph(f"{down} There is no loss, so nothing comes back.")
    return paragraph(
        f"{down} Up: the norm of its sensitivity, the derivative of the loss with respect to it. Each box opens."
    )


def _head(scene: Scene) -> int | None:
    written = scene.address.shown.get("head", "")
    return int(written) if written.isascii() and written.isdigit() else None


WAY = View(
    "way",
    "The whole way",
    "Every step from the input to the loss and back, each number open to its arithmetic.",
    lambda scene: "",
    _sections,
)
