"""`clew walkthrough`: the worked example of the course text, recomputed, as tables, JSON or one page."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result, result_console
from clew.errors import ConfigError
from clew.files import cannot_write, dump_json

if TYPE_CHECKING:
    from clew.walkthrough import Item

_switch = Parameter(negative=(), show_default=False)


def walkthrough(*, only: str | None = None, out: Path | None = None, json: Annotated[bool, _switch] = False) -> None:
    """Recompute every table, figure, formula and exercise of the worked example with the library's own layers.

    Prints tables with three significant digits; writes nothing unless --out is given.

    Args:
        only: Identifier of a single item, as the tables and the JSON name it.
        out: Folder for walkthrough.html, one page in reading order, and for each figure as SVG.
        json: Print a list of items with all digits instead of the tables.
    """
    from clew.walkthrough import build_items

    try:
        items = build_items(only)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    if out is not None:
        _write(items, out)
    if json:
        print_result(dump_json([item.to_json() for item in items]))
        return
    from clew.report.walkthrough import print_walkthrough

    print_walkthrough(items, result_console())


def _write(items: "list[Item]", out: Path) -> None:
    from clew.report.walkthrough import write_figures, write_walkthrough_page

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    write_figures(items, out)
    write_walkthrough_page(items, out / "walkthrough.html")
    print(f"Page: {out / 'walkthrough.html'}", file=sys.stderr)
