"""A `Table` in a terminal: with rules and weight where a person looks, as plain text in a pipe or a file.

Cells are shown as they stand: square brackets in a name are not read as markup, nothing is coloured in plain mode.
Start with `table_text`.
"""

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from clew.rendering.tables import Cell, Row, Table

_STYLES = {"muted": "dim", "strong": "bold", "bad": "red", "plain": ""}


def table_text(table: Table, plain: bool = False, narrow: bool = False) -> RichTable:
    """Lay a table out for `rich.console.Console.print`; the caption and the notes are left to the caller.

    Columns that do not wrap keep their width; `narrow` lets them wrap too rather than cut numbers off.
    """
    frame = RichTable(box=box.ASCII2 if plain else box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, column in enumerate(table.columns):
        fixed = not (column.wraps or narrow)
        width = _longest(table, place) if fixed else None
        heading = Text(column.name, style="" if plain else "bold")
        frame.add_column(heading, justify=column.align, overflow="fold", no_wrap=fixed, min_width=width)
    for group in table.groups:
        if group.title:
            frame.add_row(Text(group.title, style="" if plain else "bold"))
        for row in group.rows:
            frame.add_row(*_row_text(row, plain))
        frame.add_section()
    return frame


def _longest(table: Table, place: int) -> int:
    rows = [_row_text(row, plain=True) for group in table.groups for row in group.rows]
    lines = [line for row in rows for line in row[place].plain.split("\n")]
    return max(map(len, [table.columns[place].name, *lines]))


def _row_text(row: Row, plain: bool) -> list[Text]:
    cells: list[Text] = []
    for content in row:
        cell = content if isinstance(content, Cell) else Cell((content,))
        cells.append(Text(cell.text, style="" if plain else _STYLES[cell.tone]))
        cells.extend(Text("") for _ in range(cell.span - 1))
    return cells
