"""A `Table` in a terminal: with rules and weight where a person looks, as plain text in a pipe or a file.

Cells are shown as they stand: square brackets in a name are not read as markup, nothing is coloured in plain mode.
Start with `print_table`.
"""

from collections.abc import Sequence

from rich import box
from rich.console import Console
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


def print_table(console: Console, table: Table, more: Sequence[str] = ()) -> None:
    """Print caption, table, its notes and further lines; no digit is cut off, whatever the width.

    In a pipe or a file a line is as long as it has to be; on a terminal that is too narrow, cells wrap.
    """
    plain = not console.is_terminal
    console.print(Text(table.caption, style="" if plain else "bold"), soft_wrap=True)
    frame = table_text(table, plain)
    needed = frame.__rich_measure__(console, console.options.update(width=1000)).maximum
    width = console.width
    if plain:
        console.width = max(width, needed)  # a width for one print alone would be held to that of the console
        console.print(frame)
        console.width = width
    else:
        console.print(frame if needed <= width else table_text(table, plain, narrow=True))
    for line in [*table.notes, *more]:
        console.print(Text(line, style="" if plain else "dim"), soft_wrap=True)


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
