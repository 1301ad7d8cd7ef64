"""The table that a terminal shows at the end of a comparison, at most 100 columns wide.

The same results as the first table of the report: mean, spread, seeds solved, every seed, verdict, chance and oracle,
then the warnings and failed runs. On a terminal with rules and weight, in a pipe as plain text. Start with
`print_comparison`.
"""

import sys

from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from clew.rendering.numbers import format_fraction, format_spread
from clew.rendering.tables import Cell, Column, Group, Row, Table
from clew.rendering.terminal_tables import table_text
from clew.report.recall_tables import accuracy_words, runs_of
from clew.report.recall_words import (
    QUICK_NOTE,
    Json,
    at_delay,
    delays_of,
    quick_words,
    recipe_name,
    warnings_of,
    warnings_title,
)

_WIDTH = 100


def print_comparison(results: Json, console: Console | None = None) -> None:
    """Print the results of `clew recall`; `console` is standard output by default and decides whether it is plain."""
    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    plain, width = not console.is_terminal, min(console.width, _WIDTH)
    table = comparison_table(results)
    frame = table_text(table, plain)
    if Measurement.get(console, console.options.update(width=1000), frame).minimum > width:
        frame = table_text(table, plain, narrow=True)
    _line(console, table.caption, "bold", width)
    console.print(frame, width=width)
    for note in table.notes:
        _line(console, note, "dim", width)
    if results["quick"]:
        _line(console, quick_words(results), "bold yellow", width)
    warnings = warnings_of(results)
    if warnings:
        _line(console, warnings_title(results), "bold red", width)
    for warning in warnings:
        _line(console, f"- {warning}", "red", width)


def _line(console: Console, words: str, style: str, width: int) -> None:
    console.print(Text(words, style=style if console.is_terminal else ""), width=width)


def comparison_table(results: Json) -> Table:
    """Describe the table: a group a delay, a row a recipe, and chance and oracle below them."""
    columns = [
        Column("Recipe", "left"),
        Column("Mean ± sd"),
        Column("Solved"),
        Column("Each seed", "left"),
        Column("Verdict", "left", wraps=True),
        Column("Published"),
    ]
    groups = [Group(_rows(results, delay), f"Delay {delay}") for delay in delays_of(results["cells"])]
    return Table("Test accuracy of the move after RECALL", columns, groups, _notes(results))


def _rows(results: Json, delay: int) -> list[Row]:
    bounds = [item for item in at_delay(results["references"], delay) if item["name"] in ("chance", "oracle")]
    seed_width = max((len(accuracy_words(row)) for row in results["rows"]), default=0)
    return [
        *(_cell_row(cell, results, seed_width) for cell in at_delay(results["cells"], delay)),
        *(_bound_row(item["name"].capitalize(), format_fraction(item["accuracy"])) for item in bounds),
    ]


def _cell_row(cell: Json, results: Json, seed_width: int) -> Row:
    published = cell["published_accuracy"]
    return [
        recipe_name(cell["recipe"]),
        format_spread(cell["mean_accuracy"], cell["sd_accuracy"], cell["finished"]),
        f"{cell['solved']}/{cell['runs']}",
        "  ".join(f"{accuracy_words(row):>{seed_width}}" for row in runs_of(results, cell)),
        cell["verdict"],
        "" if published is None else format_fraction(published),
    ]


def _bound_row(name: str, accuracy: str) -> Row:
    return [Cell((name,), "muted"), Cell((accuracy,), "muted"), "", "", "", ""]


def _notes(results: Json) -> list[str]:
    protocol = results["protocol"]
    seeds = ", ".join(str(seed) for seed in protocol["seeds"])
    notes = [f"Seeds {seeds}. Sd: sample standard deviation over them. Solved: accuracy of at least 0.99."]
    if any(cell["published_accuracy"] is not None for cell in results["cells"]):
        batch_size = protocol.get("batch_size", "not recorded")
        note = (
            f"Published: mean of three seeds; its batch size is not stated, here it is {batch_size}, so that the "
            "uncertain cells in the middle differ."
        )
        notes.append(f"{note} {QUICK_NOTE}" if results["quick"] else note)
    return notes
