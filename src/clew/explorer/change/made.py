"""The list of edits that an address holds: in words, each with a link without it."""

from markupsafe import Markup

from clew.explorer.edits.parsing import parse_edit
from clew.explorer.scene import Scene
from clew.rendering.markup import element
from clew.rendering.page import fragments, paragraph


def made_html(scene: Scene) -> Markup:
    """List the edits in their order; each can be taken back by itself."""
    address, edits = scene.address, scene.address.edits
    if scene.base is None or not edits:
        return paragraph("Nothing is changed. Whatever you change, the real model runs again on exactly that.")
    items = [_item(scene, place) for place in range(len(edits))]
    parts = [element("ol", {"class": "change-made"}, *items)]
    if len(edits) > 1:
        parts.append(
            paragraph(
                element("a", {"href": address.link(edits=()), "id": "change-undo-all", "data-live": ""}, "Undo all")
            )
        )
    return fragments(*parts)


def _item(scene: Scene, place: int) -> Markup:
    address, edit = scene.address, parse_edit(scene.address.edits[place])
    assert scene.base is not None
    later = [parse_edit(other).address for other in address.edits[place + 1 :]]
    rest = [*address.edits[:place], *address.edits[place + 1 :]]
    words = edit.words(scene.base.subject, scene.row)
    undo = element(
        "a",
        {
            "href": address.link(edits=rest), "id": f"change-undo-{place}", "aria-label": f"Undo {words}",
            "data-live": "",
        },
        "Undo",
    )  # fmt: skip
    told = element("span", {"class": "made"}, "A later edit of the same place counts instead.")
    return element("li", None, element("strong", None, words), " ", undo, *([told] if edit.address in later else []))
