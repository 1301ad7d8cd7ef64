"""A `Table` in a terminal: with rules and weight where a person looks, as plain text in a pipe or a file.

Cells are shown as they stand: square brackets in a name are not read as markup, nothing is coloured in plain mode.
Start with `table_text`.
"""

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from clew.rendering.tables import Cell, Column, Row, Table

_STYLES = {"muted": "dim", "strong": "bold", "bad": "red", "plain": ""}


def table_text(table: Table, plain: bool = False) -> RichTable:
    """Lay a table out for `rich.console.Console.print`; the caption and the notes are left to the caller."""
    frame = RichTable(box=box.ASCII2 if plain else box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in table.columns:
        frame.add_column(_heading(column, plain), justify=column.align, overflow="fold")
    for group in table.groups:
        if group.title:
            frame.add_row(Text(group.title, style="" if plain else "bold"))
        for row in group.rows:
            frame.add_row(*_row_text(row, plain))
        frame.add_section()
    return frame


def _heading(column: Column, plain: bool) -> Text:
    return Text(column.name, style="" if plain else "bold")


def _row_text(row: Row, plain: bool) -> list[Text]:
    cells: list[Text] = []
    for content in row:
        cell = content if isinstance(content, Cell) else Cell((content,))
        cells.append(Text(cell.text, style="" if plain else _STYLES[cell.tone]))
        cells.extend(Text("") for _ in range(cell.span - 1))
    return cells
