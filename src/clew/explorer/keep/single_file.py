"""A view as one HTML file: the same sections, without controls, on a page that needs nothing and lets nothing in.

It opens from disk, in a mail or beside a paper, and says what was read, by which model and with which edits.
Start with `single_file`.
"""

from importlib.resources import files

from markupsafe import Markup

from clew import __version__
from clew.explorer.edits.parsing import parse_edit
from clew.explorer.keep.inert import identifiers, inert
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import Download, View
from clew.rendering.markup import element
from clew.rendering.page import Section, definitions, fragments, render_page
from clew.report.trace import summary_line

RULES = """
a:not([href]) { color: inherit; text-decoration: none; cursor: auto; }
.chosen { font-weight: 600; margin: 0 .35em; }
.cell-text { display: block; padding: .2rem .4rem; }
.way-panel { position: static; max-height: none; overflow: visible; }
"""
"""Style of what was a link or a control before; nothing scrolls within a page that is for reading and printing."""


def single_file(scene: Scene, studio: Studio, view: View) -> str:
    """Write the page.

    Args:
        scene: At the address of the view, which says what is opened.
        studio: Where scenes come from.
        view: One that the scene has.
    """
    parts = view.sections(scene, studio)
    places = {part.identifier for part in parts}.union(*(identifiers(part.content) for part in parts))
    kept = [Section(part.heading, part.identifier, inert(part.content, places)) for part in parts]
    sections = [part for part in kept if part.content.strip()]
    title = f"{view.heading}: {read_words(scene)}"
    styles = files("clew.explorer").joinpath("static")
    rules = "".join(styles.joinpath(name).read_text(encoding="utf-8") for name in ("views.css", "explorer.css")) + RULES
    return render_page(title, _top(scene), sections, _made(scene, view), rules)


def download(scene: Scene, studio: Studio, view: View) -> Download:
    """Give the page under a name for the reader's disk."""
    return Download(f"clew-{view.name}-{scene.source.key}.html", "text/html", single_file(scene, studio, view))


def read_words(scene: Scene) -> str:
    """Say what is read: its words, or its title where steps have no words."""
    subject = scene.subject
    return subject.title or " ".join(scene.trace.tokens(scene.row))


def edit_words(scene: Scene) -> list[str]:
    """Say what was changed, an edit each."""
    before = (scene.base or scene).subject
    return [parse_edit(edit).words(before, scene.row) for edit in scene.address.edits]


def _top(scene: Scene) -> Markup:
    edits, rows = edit_words(scene), len(scene.subject.words)
    pairs = [("Model", scene.source.label), ("Pass", summary_line(scene.trace))]
    pairs += [("Row", f"{scene.row} of {rows}")] if rows > 1 else []
    pairs += [("Edits", "; ".join(edits))] if edits else []
    notes = [element("p", {"class": "note"}, note) for note in scene.notes]
    return fragments(definitions(pairs), *notes)


def _made(scene: Scene, view: View) -> str:
    return (
        f"Saved from clew explore {__version__}. {view.made}. {scene.checked}. "
        f"The address of this view: {scene.address.url}"
    )
