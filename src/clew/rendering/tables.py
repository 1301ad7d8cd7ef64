"""One description of a table, shown as HTML on a page or as text in a terminal.

A `Table` knows its caption, columns and groups of rows, and nothing of where it is shown. `table_html` gives a real
table: a caption, `scope` on every header, one `tbody` a group, in a box that scrolls sideways on a narrow screen.
`clew.rendering.terminal_tables` shows the same description in a terminal. Start with `Table`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from clew.rendering.markup import element, joined

Alignment = Literal["left", "right", "center"]
Tone = Literal["plain", "muted", "strong", "bad"]


@dataclass(frozen=True)
class Column:
    """A column's name, how its cells are aligned, a note shown below the table, and whether its text wraps."""

    name: str
    align: Alignment = "right"
    note: str = ""
    wraps: bool = False

    @property
    def css_class(self) -> str:
        """The classes of the column's cells."""
        return f"{self.align} prose" if self.wraps else self.align


@dataclass(frozen=True)
class Cell:
    """A cell that needs more than its text: several lines, a tone, a heat class, or the room of several columns."""

    lines: tuple[str, ...]
    tone: Tone = "plain"
    span: int = 1
    css_class: str = ""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


Row = Sequence[str | Cell]


@dataclass(frozen=True)
class Group:
    """Rows that belong together under a heading, such as one delay; without a title there is no heading."""

    rows: Sequence[Row]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table: the first column names the row. Notes are shown below it, after the notes of the columns."""

    caption: str
    columns: Sequence[Column]
    groups: Sequence[Group]
    notes: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        for row in (row for group in self.groups for row in group.rows):
            width = sum(cell.span if isinstance(cell, Cell) else 1 for cell in row)
            assert width == len(self.columns), f"{self.caption}: {width} cells for {len(self.columns)} columns: {row}"

    @property
    def all_notes(self) -> list[str]:
        """The notes of the columns, each after its column's name, then those of the table."""
        return [f"{column.name}: {column.note}" for column in self.columns if column.note] + list(self.notes)


def table_html(table: Table, attributes: Mapping[str, str] | None = None) -> Markup:
    """Render a table as HTML; the box around it scrolls where the screen is narrower and is reachable by keyboard.

    Args:
        table: What it shows.
        attributes: Of the table element, such as `{"data-grid": ""}` where a script moves between its cells.
    """
    header = element("tr", None, *(_header_cell(column) for column in table.columns))
    caption = element("caption", None, element("span", None, table.caption))
    bodies = (_group_html(group, table.columns) for group in table.groups)
    body = element("table", attributes, caption, element("thead", None, header), *bodies)
    box = element("div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": table.caption}, body)
    notes = element("ul", {"class": "notes"}, *(element("li", None, note) for note in table.all_notes))
    return joined([box, notes] if table.all_notes else [box])


def _header_cell(column: Column) -> Markup:
    return element("th", {"scope": "col", "class": column.css_class}, column.name)


def _group_html(group: Group, columns: Sequence[Column]) -> Markup:
    heading = element(
        "tr",
        {"class": "group"},
        element("th", {"scope": "rowgroup", "colspan": len(columns)}, element("span", None, group.title)),
    )
    rows = [_row_html(row, columns) for row in group.rows]
    return element("tbody", None, *([heading] if group.title else []), *rows)


def _row_html(row: Row, columns: Sequence[Column]) -> Markup:
    cells: list[Markup] = []
    place = 0
    for content in row:
        cell = content if isinstance(content, Cell) else Cell((content,))
        place_class = columns[place].css_class if cell.span == 1 else "left prose"
        classes = " ".join(name for name in (place_class, cell.tone.replace("plain", ""), cell.css_class) if name)
        attributes = {"class": classes, "colspan": cell.span if cell.span > 1 else None}
        inside = joined(cell.lines, Markup("<br>"))
        header = element("th", {"scope": "row"} | attributes, inside)
        cells.append(header if place == 0 else element("td", attributes, inside))
        place += cell.span
    return element("tr", None, *cells)
