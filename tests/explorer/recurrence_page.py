"""Reads the tables, links and forms of a view out of its HTML, as a reader would."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class ReadTable:
    """A table: its caption, the names of its columns, and its rows of texts, the first one the row's name."""

    caption: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def column(self, name: str) -> list[float]:
        """Give a column of numbers."""
        place = self.columns.index(name)
        return [number(row[place]) for row in self.rows]

    def numbers(self) -> list[list[float]]:
        """Give all numbers, without the names of the rows."""
        return [[number(cell) for cell in row[1:]] for row in self.rows]


def number(words: str) -> float:
    """Read a number as the page writes it."""
    return float(words.replace(",", "").replace("∞", "inf"))


class PageReader(HTMLParser):
    """Tables by caption, attributes of every element by its name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: list[ReadTable] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.forms: list[list[tuple[str, dict[str, str]]]] = []
        self.words: list[str] = []
        self._text: list[str] | None = None
        self._is_heading_row = False
        self.feed(html)

    def table(self, caption: str) -> ReadTable:
        """Give the only table whose caption begins so."""
        (found,) = [table for table in self.tables if table.caption.startswith(caption)]
        return found

    @property
    def text(self) -> str:
        """All words of the page."""
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag == "table":
            self.tables.append(ReadTable())
        elif tag == "form":
            self.forms.append([(tag, attributes)])
        elif tag == "thead":
            self._is_heading_row = True
        elif tag == "tr" and not self._is_heading_row:
            self.tables[-1].rows.append([])
        elif tag in ("td", "th", "caption"):
            self._text = []
        if tag in ("input", "button") and self.forms:
            self.forms[-1].append((tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        if tag == "thead":
            self._is_heading_row = False
        if tag not in ("td", "th", "caption") or self._text is None:
            return
        words = "".join(self._text).replace("▸", "").strip()
        table = self.tables[-1]
        if tag == "caption":
            table.caption = words
        elif self._is_heading_row:
            table.columns.append(words)
        else:
            table.rows[-1].append(words)
        self._text = None

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._text is not None:
            self._text.append(data)
