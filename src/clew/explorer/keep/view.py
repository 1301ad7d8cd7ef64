"""The view "Take it away": a link that restores the exact view, one HTML file of it, and the same in a notebook.

The view that one came from is the parameter `of`; what it showed stands beside it in the address, so that the link and
the file are of exactly that. Start with `KEEP`.
"""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from clew.errors import complain, did_you_mean
from clew.explorer.address import WHERE, Address
from clew.explorer.attention.view import ATTENTION
from clew.explorer.audit.view import AUDIT
from clew.explorer.change.view import CHANGE
from clew.explorer.faults import ExplorerError
from clew.explorer.keep.single_file import download, edit_words, read_words
from clew.explorer.recurrence.view import RECURRENCE
from clew.explorer.run.view import RUN
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import OF, Download, View
from clew.explorer.way.view import WAY
from clew.rendering.markup import element
from clew.rendering.page import Section, bullets, definitions, fragments, paragraph, subsection

NAME = "keep"
KEPT: dict[str, View] = {view.name: view for view in (WAY, ATTENTION, RECURRENCE, CHANGE, RUN, AUDIT)}
NOTEBOOK = """import clew

with clew.record(model) as ledger:
    loss = task.loss(model, batch)
    loss.backward()

ledger                                # the table of every quantity
ledger["*.attention.weights"]         # numbers of some, forward and backward
clew.audit(model, inputs, boundary="causal")
clew.load("runs/mine")"""


def kept_view(address: Address) -> tuple[View, Address]:
    """Give the view that is taken away, and its address.

    Raises:
        ExplorerError: If there is no such view.
    """
    name = address.shown.get(OF, WAY.name)
    if name not in KEPT:
        rule, remedy = "the name of a view", did_you_mean(name, KEPT)
        raise ExplorerError(complain(WHERE, OF, rule, f"'{name}'", remedy), 404)
    shown = {key: value for key, value in address.shown.items() if key != OF}
    return KEPT[name], replace(address, view=name, shown=shown)


def _sections(scene: Scene, studio: Studio) -> Sequence[Section]:
    view, address = kept_view(scene.address)
    return [
        Section("A link", "link", _link(scene, view, address)),
        Section("One HTML file", "file", _files(scene, view)),
        Section("In a notebook", "notebook", _notebook()),
    ]


def _link(scene: Scene, view: View, address: Address) -> Markup:
    field = element(
        "input",
        {"id": "kept-link", "readonly": "", "value": address.url, "data-address": address.url, "spellcheck": "false"},
    )
    label = element("label", {"for": "kept-link"}, f"Address of “{view.heading}” as you left it")
    needs = [
        "The same command must be running, with the same arguments and the same --port.",
        "The browser must have been let in once, by the address that the command printed: this one holds no token.",
        "If it begins with “/”, scripts are off: put it behind the address of the server, such as http://127.0.0.1:8000.",
    ]
    return fragments(
        paragraph("The address holds the whole view. Nothing else is kept, so it restores exactly what you saw."),
        element("div", {"class": "field kept"}, label, field),
        paragraph(element("a", {"id": "kept-view", "href": address.url}, f"Back to “{view.heading}”")),
        subsection("What it holds"),
        definitions(_held(scene, view, address)),
        subsection("What it needs"),
        bullets(needs),
    )


def _held(scene: Scene, view: View, address: Address) -> list[tuple[str, str]]:
    """Say what the address says, part by part."""
    pairs = [("View", view.heading), ("Model", scene.source.label), ("Reads", read_words(scene))]
    pairs += [("Row", str(scene.row))] if scene.row else []
    pairs += [("Edits", "; ".join(edit_words(scene)))] if address.edits else []
    pairs += (
        [("Opened", ", ".join(f"{name} {value}" for name, value in address.shown.items()))] if address.shown else []
    )
    return pairs


def _files(scene: Scene, view: View) -> Markup:
    """Offer the file of the view that one came from, then those of the others."""
    missing, here = view.missing(scene), scene.address
    own = missing or _download(f"Save “{view.heading}”", here, "save")
    others = []
    for other in (one for one in KEPT.values() if one is not view):
        reason = other.missing(scene)
        address = replace(here, shown={OF: other.name})
        others.append(f"{other.heading}: {reason}" if reason else _download(other.heading, address))
    words = (
        "The same tables and pictures with the same numbers, in a file that works from disk. It holds no script and "
        "asks for nothing from outside; what only a running model can do, such as edits, is left out."
    )
    return fragments(paragraph(words), paragraph(own), subsection("The other views"), bullets(others))


def _download(words: str, address: Address, css_class: str | None = None) -> Markup:
    """Link to a file; a download is no page to swap in, so htmx must leave it alone."""
    href = address.url.replace(f"/{NAME}?", f"/{NAME}/file?", 1)
    return element("a", {"href": href, "class": css_class, "download": "", "hx-boost": "false"}, words)


def _notebook() -> Markup:
    words = (
        "A ledger, one of its quantities, an audit, a run and a comparison show themselves as the same pages when they "
        "are the last line of a cell."
    )
    return fragments(paragraph(words), element("pre", {"tabindex": "0"}, element("code", None, NOTEBOOK)))


def _download_of(scene: Scene, studio: Studio) -> Download:
    view, address = kept_view(scene.address)
    missing = view.missing(scene)
    if missing:
        raise ExplorerError(complain(WHERE, OF, "a view that this model has", f"'{view.name}'", missing), 404)
    return download(scene.at(address), studio, view)


KEEP = View(
    NAME,
    "Take it away",
    "A link that restores the exact view, and one HTML file of it that works from disk.",
    lambda scene: "",
    _sections,
    _download_of,
    takes_along=True,
)
