"""One page of the explorer: what is read, the edits, the way to the other views, and the sections of this one.

The page is always made whole; a browser with scripts takes out of it what has changed. Start with `Shell.view_page`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from clew.errors import ClewError
from clew.explorer.address import Address
from clew.explorer.assets import assets
from clew.explorer.edits.parsing import parse_edit
from clew.explorer.limits import MOST_ROW, MOST_TEXT
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import View, way_to
from clew.rendering.markup import text
from clew.rendering.page import section_html
from clew.report.trace import summary_line


@dataclass(frozen=True)
class Choice:
    """One of several: its key or address, its words, whether it is taken, and why it cannot be, if so."""

    key: str
    words: str
    is_chosen: bool
    title: str = ""
    is_missing: bool = False


@dataclass(frozen=True)
class Change:
    """One edit in words, and the address without it."""

    words: str
    undo: str


@cache
def templates() -> Environment:
    """Give the templates; whatever is no markup is escaped."""
    return Environment(
        loader=PackageLoader("clew.explorer"), autoescape=True, undefined=StrictUndefined, finalize=_clean,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _clean(value: Any) -> Any:
    return text(value) if isinstance(value, str) else value


class Shell:
    """Makes whole pages around the sections of a view."""

    def __init__(self, studio: Studio, views: Sequence[View]) -> None:
        self.studio = studio
        self.views = views

    def view_page(self, view: View, address: Address) -> str:
        """Make the page of a view.

        Raises:
            ClewError: If the address asks for something that is not there.
        """
        scene = self.studio.scene(address)
        missing = view.missing(scene)
        sections = [] if missing else view.sections(scene, self.studio)
        changes = _changes(scene)
        return self._render(
            "view.html", title=view.heading, view=view, scene=scene, address=scene.address, missing=missing,
            sections=[section_html(part) for part in sections], changes=changes,
            undo_all=scene.address.link(edits=()), views=[_link(one, scene, view) for one in self.views],
            models=[Choice(key, one.label, key == scene.source.key) for key, one in self.studio.sources.items()],
            reading=_reading(scene), summary=summary_line(scene.trace), checked=scene.checked,
            said=_said(view, scene, len(changes)), most_text=MOST_TEXT, most_row=MOST_ROW,
        )  # fmt: skip

    def fault_page(self, title: str, words: str, address: Address | None) -> str:
        """Make a page that says what is wrong in one line, with the ways back."""
        ways = [("Start anew", "/")]
        if address is not None:
            if address.edits:
                ways = [("Undo the last edit", address.link(edits=address.edits[:-1])), *ways]
                ways = [*ways[:1], ("Undo all edits", address.link(edits=())), *ways[1:]]
            if address.text is not None or address.row:
                ways = [("Read what this model reads by default", address.link(text=None, row=0)), *ways]
            if address.shown:
                ways = [("Close what is opened", Address(address.view, *address.key).url), *ways]
        return self._render("fault.html", title=title, words=words, ways=ways)

    def _render(self, template: str, **content: Any) -> str:
        return templates().get_template(template).render(assets=assets(), **content)


def refusal_page(title: str, words: str) -> str:
    """Make a page for whoever was not let in: one line, and nothing that would have to be asked for."""
    return templates().get_template("refusal.html").render(title=title, words=words)


def _link(view: View, scene: Scene, here: View) -> Choice:
    missing = view.missing(scene)
    return Choice(way_to(view, here, scene.address), view.heading, view is here, missing or view.words, bool(missing))


def _changes(scene: Scene) -> list[Change]:
    """Put each edit into words."""
    edits, found = scene.address.edits, []
    for place, edit in enumerate(edits):
        before = (scene.base or scene).subject
        undo = scene.address.link(edits=[*edits[:place], *edits[place + 1 :]])
        found.append(Change(parse_edit(edit).words(before, scene.row), undo))
    return found


def _reading(scene: Scene) -> dict[str, Any]:
    """Say what the form for what is read shows."""
    source, subject = scene.source, scene.subject
    shown = scene.address.text if scene.address.text is not None else source.default_text
    lines = subject.words if shown is None else [line for line in shown.splitlines() if line.strip()]
    return {
        "text": (shown or "") if source.reads_text else None,
        "instead": "" if shown else " ".join(subject.words[scene.row])[:MOST_TEXT],
        "is_long": len(lines) > 1,
        "has_rows": source.folder is not None or len(subject.words) > 1,
        "title": subject.title,
    }


def _said(view: View, scene: Scene, changes: int) -> str:
    """Say in a line, for a screen reader, what has come up."""
    edits = f", {changes} edit{'' if changes == 1 else 's'}" if changes else ""
    return f"{view.heading}{edits}. {summary_line(scene.trace)}."


def words_of_fault(error: ClewError) -> str:
    """Give the line of an error; the library's own errors name `clew trace` where a page means the explorer."""
    line = "; ".join(part.strip() for part in str(error).splitlines() if part.strip())
    return line.replace("clew trace: ", "clew explore: ").replace("--row ", "row ").replace(" with --backward", "")
