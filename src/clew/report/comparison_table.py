"""The table that a terminal shows at the end of a comparison, at most 100 columns wide.

The same rows as the first table of the report: every seed, mean, spread, seeds solved, verdict, chance and oracle, then
the warnings and failed runs. On a terminal with rules and weight, in a pipe as plain text. Start with
`print_comparison`.
"""

from rich.console import Console
from rich.text import Text

from clew.rendering.terminal_tables import table_text
from clew.report.recall_tables import accuracy_table
from clew.report.recall_words import Json, quick_words, warnings_of, warnings_title

_WIDTH = 100


def print_comparison(results: Json, console: Console | None = None) -> None:
    """Print the results; `console` is standard output by default, and decides whether the table is plain."""
    console = console or Console(highlight=False, soft_wrap=False)
    plain = not console.is_terminal
    width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    table = accuracy_table(results)
    _line(console, table.caption, "" if plain else "bold", width)
    console.print(table_text(table, plain), width=width)
    for note in table.all_notes:
        _line(console, note, "" if plain else "dim", width)
    if results["quick"]:
        _line(console, quick_words(results), "" if plain else "bold yellow", width)
    warnings = warnings_of(results)
    if warnings:
        _line(console, warnings_title(results), "" if plain else "bold red", width)
    for warning in warnings:
        _line(console, f"  {warning}", "" if plain else "red", width)


def _line(console: Console, words: str, style: str, width: int) -> None:
    console.print(Text(words, style=style), width=width)
