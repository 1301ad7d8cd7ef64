"""What a reader of the view "Attention" finds on it: tables by their captions, forms by their labels; and models."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from clew.explorer.address import Address
from clew.explorer.attention.view import ATTENTION
from clew.explorer.scene import Scene, play
from clew.explorer.sources import Source
from clew.explorer.studio import Studio
from clew.models import build
from clew.report.subject import Subject, batch_of
from clew.tasks import NextToken
from reference.weights import randomized

WORDS = ["sun", "moon", "sun", "rain", "wind", "moon", "rain"]
VOCABULARY = ["sun", "moon", "rain", "wind"]
WIDTH, HEADS = 6, 2
STUDIO = Studio()


@dataclass
class FoundCell:
    """A cell: its text without what an edit moved, what stands below, its classes, its title, its button's value."""

    text: str = ""
    below: str = ""
    classes: list[str] = field(default_factory=list)
    title: str = ""
    value: str = ""


@dataclass
class FoundTable:
    """A table: its caption, the words of its columns, its rows and the heading of the group of each."""

    caption: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[FoundCell]] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    def row(self, header: str, group: str = "") -> list[FoundCell]:
        """Give the cells behind a row's header."""
        found = [row for row, own in zip(self.rows, self.groups, strict=True) if row[0].text == header and own == group]
        assert len(found) == 1, (header, group, [row[0].text for row in self.rows])
        return found[0][1:]


class Page(HTMLParser):
    """Reads the sections of a view."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tables: list[FoundTable] = []
        self.forms: dict[str, list[tuple[str, str]]] = {}
        self.words: list[str] = []
        self.open: list[str] = []
        self.form, self.group, self.kind, self.select = "", "", "", ""
        self.feed(html)

    def table(self, caption: str) -> FoundTable:
        """Give the table of a caption."""
        found = [table for table in self.tables if table.caption == caption]
        assert len(found) == 1, (caption, [table.caption for table in self.tables])
        return found[0]

    @property
    def text(self) -> str:
        """All words."""
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert not any(name == "style" or name.startswith("on") for name in given)
        if tag not in ("input", "br"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append(FoundTable())
            self.group = ""
        elif tag == "tr" and "thead" not in self.open:
            self.kind = given.get("class", "")
            if self.kind != "group":
                self.tables[-1].rows.append([])
                self.tables[-1].groups.append(self.group)
        elif tag in ("td", "th") and "thead" not in self.open and self.kind != "group":
            self.tables[-1].rows[-1].append(FoundCell("", "", given.get("class", "").split(), given.get("title", "")))
        elif tag == "th" and "thead" in self.open:
            self.tables[-1].columns.append("")
        elif tag == "form":
            self.form = given["aria-label"]
            assert given["method"] == "get" and given["action"] == "/attention"
            self.forms.setdefault(self.form, [])
        elif tag == "select":
            self.select = given["name"]
        elif tag in ("input", "button", "option") and self.form:
            name = self.select if tag == "option" else given.get("name", "")
            self.forms[self.form].append((name, given.get("value", "")))
            if tag == "button" and "td" in self.open:
                self.tables[-1].rows[-1][-1].value = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("input", "br"):
            return
        assert self.open.pop() == tag
        self.form = "" if tag == "form" else self.form

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if "caption" in self.open:
            self.tables[-1].caption += data
        elif "thead" in self.open and "th" in self.open:
            self.tables[-1].columns[-1] += data
        elif self.kind == "group" and "th" in self.open:
            self.group = data
        elif "small" in self.open:
            self.tables[-1].rows[-1][-1].below += data
        elif "td" in self.open or "th" in self.open:
            self.tables[-1].rows[-1][-1].text += data


def page_of(scene: Scene) -> Page:
    """Render the view."""
    assert ATTENTION.missing(scene) == ""
    return Page("".join(part.content for part in ATTENTION.sections(scene, STUDIO)))


def subject_of(rows: Sequence[Sequence[str]], **options: Any) -> Subject:
    """Put a Transformer with random weights and rows of words together."""
    given: dict[str, Any] = {"hidden": WIDTH, "heads": HEADS, "mlp": 5, "layers": 2, "causal": True} | options
    vocabulary = sorted({word for row in rows for word in row})
    size = len(vocabulary)
    model = randomized(build("transformer", vocab=size, outputs=size, **given)).eval()
    words = [list(row) for row in rows]
    return Subject(model, words, batch_of(words, vocabulary), vocabulary, "a Transformer", NextToken(size))


def play_of(subject: Subject, edits: Sequence[str] = (), row: int = 0, **shown: str | int) -> Scene:
    """Run a subject at an address."""
    source = Source("transformer", "Transformer", None, True, None, lambda *_: subject)
    address = Address("attention", "transformer", None, row, tuple(edits), {k: str(v) for k, v in shown.items()})
    base = play(address.with_edits(()), source, subject, None) if edits else None
    return play(address, source, subject, base)
