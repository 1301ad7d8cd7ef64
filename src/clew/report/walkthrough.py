"""The worked example as tables for a terminal and as one self-contained page in reading order.

Numbers are shown with three significant digits. Start with `write_walkthrough_page` and `print_walkthrough`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from clew.files import write_atomically
from clew.rendering.markup import element
from clew.rendering.page import Section, fragments, paragraph, render_page, standalone_svg
from clew.rendering.symbols import with_indices
from clew.rendering.tables import Column, Group, Table, table_html
from clew.rendering.terminal_tables import table_text
from clew.walkthrough.catalogue import PARTS, Part
from clew.walkthrough.charts import chart_of, panel_pictures
from clew.walkthrough.items import Cell, Item, id_of
from clew.walkthrough.rounding import three_digits

TITLE = "The worked example, recomputed"
_WIDTH = 100
_LONG_WORDS = 24
_GAP = 3  # between two columns


def item_table(item: Item, caption: str) -> Table:
    """Describe an item as a table; a column of words is aligned to the left, and long words wrap."""
    columns = [_column(name, [row[place] for row in item.rows], place) for place, name in enumerate(item.columns)]
    rows = [[three_digits(cell) for cell in row] for row in item.rows]
    return Table(caption, columns, [Group(rows)], item.notes)


def _column(name: str, cells: Sequence[Cell], place: int) -> Column:
    is_words = place == 0 or all(isinstance(cell, str) for cell in cells)
    longest = max(len(three_digits(cell)) for cell in cells)
    return Column(name, "left" if is_words else "right", wraps=is_words and longest > _LONG_WORDS)


def print_walkthrough(items: Sequence[Item], console: Console) -> None:
    """Print items one after the other; on a terminal with rules and weight, in a pipe as plain text."""
    plain, width = not console.is_terminal, min(console.width, _WIDTH)
    for place, item in enumerate(items):
        table = item_table(item, f"{item.chapter}{'' if item.chapter.endswith('?') else '.'} {item.title}")
        if place:
            console.print()
        console.print(Text(f"{table.caption} [{item.id}]", style="" if plain else "bold"), width=width)
        for number, part in enumerate(column_parts(table, width)):
            if number:
                console.print()
            frame = table_text(part, plain)
            if Measurement.get(console, console.options.update(width=1000), frame).minimum > width:
                frame = table_text(part, plain, narrow=True)
            console.print(frame, width=width)
        for note in table.notes:
            console.print(Text(note, style="" if plain else "dim"), width=width)


def column_parts(table: Table, width: int) -> list[Table]:
    """Split a table that is too wide into several, each with the first column, so that no number is broken."""
    widths = [_width_of(table, place) for place in range(len(table.columns))]
    parts: list[list[int]] = []
    room = 0
    for place in range(1, len(widths)):
        room -= widths[place] + _GAP
        if room < 0:
            parts.append([0])
            room = width - widths[0] - widths[place] - _GAP
        parts[-1].append(place)
    return [_columns_of(table, places) for places in parts]


def _width_of(table: Table, place: int) -> int:
    texts = [table.columns[place].name, *(str(row[place]) for row in table.groups[0].rows)]
    longest = max(map(len, texts))
    return min(longest, _LONG_WORDS) if table.columns[place].wraps else longest


def _columns_of(table: Table, places: Sequence[int]) -> Table:
    rows = [[row[place] for place in places] for row in table.groups[0].rows]
    return replace(table, columns=[table.columns[place] for place in places], groups=[Group(rows)])


def write_walkthrough_page(items: Sequence[Item], path: Path) -> None:
    """Write items as one HTML file that needs nothing from outside; the file is replaced whole or left as it was.

    Raises:
        RunError: If the file cannot be written.
    """
    write_atomically(path, walkthrough_page(items))


def walkthrough_page(items: Sequence[Item]) -> str:
    """Render the page: a section for each part of the catalogue, an anchor for each item."""
    found = {item.id: item for item in items}
    sections = [
        Section(part.heading, part.identifier, _part(chosen))
        for part, chosen in ((part, _items_of(part, found)) for part in PARTS)
        if chosen
    ]
    command = element("code", None, "clew walkthrough --json")
    top = paragraph(
        "Tables, figures, formulas and exercises of the course text, computed by this library's own layers, models and "
        "losses in float64 and shown with three significant digits. Where the text leaves numbers open, they are "
        "chosen here, and a note says which. ",
        command,
        " gives all digits.",
    )
    return render_page(TITLE, top, sections, f"{len(items)} items.")


def _items_of(part: Part, found: dict[str, Item]) -> list[Item]:
    return [found[id_of(builder)] for builder in part.builders if id_of(builder) in found]


def _part(items: Sequence[Item]) -> Markup:
    return fragments(*(_item(item) for item in items))


def _item(item: Item) -> Markup:
    link = element("a", {"href": f"#{item.id}", "aria-label": f"Link to {item.title}"}, "#")
    heading = element("h3", None, with_indices(item.title), " ", link)
    table = table_html(with_symbols(item_table(item, item.chapter)))
    return element("div", {"id": item.id}, heading, table, chart_of(item) or Markup(""))


def with_symbols(table: Table) -> Table:
    """Set the indices of all symbols in a table as a page can."""
    columns = [replace(column, name=with_indices(column.name)) for column in table.columns]
    rows = [[with_indices(cell) for cell in row if isinstance(cell, str)] for row in table.groups[0].rows]
    return replace(table, columns=columns, groups=[Group(rows)], notes=[with_indices(note) for note in table.notes])


def write_figures(items: Sequence[Item], folder: Path) -> list[Path]:
    """Write each picture of the items as an SVG file of its own, in either colour scheme, and give their paths.

    Raises:
        RunError: If a file cannot be written.
    """
    written: list[Path] = []
    for item in items:
        pictures = panel_pictures(item)
        for place, picture in enumerate(pictures, start=1):
            name = item.id if len(pictures) == 1 else f"{item.id}-{place}"
            write_atomically(folder / f"{name}.svg", standalone_svg(picture))
            written.append(folder / f"{name}.svg")
    return written
