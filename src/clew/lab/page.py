"""A comparison as a short page: what pairs of recipes show, each recipe over its seeds, the references, every run.

It is what a notebook shows of a `Comparison`, made of plain values; `clew.report` has the whole pages, with curves and
the protocol. Start with `comparison_page`.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from markupsafe import Markup

from clew.lab.statistics import mean_and_deviation
from clew.rendering.numbers import format_number
from clew.rendering.page import Section, banner, bullets, fragments, paragraph, render_page
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html

Plain = Mapping[str, Any]
TITLE = "Comparison"
_TEST = "test_"
_COUNTS = ("test_correct", "test_count", "test_interval")


def comparison_page(
    rows: Sequence[Plain],
    cells: Sequence[Plain],
    contrasts: Sequence[Plain],
    references: Sequence[Plain],
    warnings: Sequence[str],
) -> str:
    """Compose the page of what `clew.lab.Comparison` holds."""
    names = _figures(rows)
    sections = [
        Section("Recipes", "recipes", table_html(_recipes(rows, cells, references, names))),
        Section("Every run", "runs", table_html(_runs(rows, names))),
    ]
    return render_page(TITLE, _top(rows, cells, contrasts, warnings), sections)


def _top(rows: Sequence[Plain], cells: Sequence[Plain], contrasts: Sequence[Plain], warnings: Sequence[str]) -> Markup:
    lead = f"{len(cells)} recipes, {len(rows)} runs. The test was sealed until each run had selected its epoch."
    said = [f"{one['words'][0].upper()}{one['words'][1:]}." for one in contrasts]
    notice = [banner("Read this before the figures.", list(warnings), "Warnings")] if warnings else []
    return fragments(paragraph(lead), *([bullets(said)] if said else []), *notice)


def _recipes(rows: Sequence[Plain], cells: Sequence[Plain], references: Sequence[Plain], names: Sequence[str]) -> Table:
    columns = [
        Column("Recipe", "left"),
        Column("Finished"),
        *(Column(_plain(name)) for name in names),
        Column("Verdict", "left", wraps=True),
        Column("Parameters"),
    ]
    body: list[Row] = [_recipe(cell, [row for row in rows if row["recipe"] == cell["recipe"]], names) for cell in cells]
    known = [one for one in references if any(_is_number(one.get(name)) for name in names)]
    beside: list[Row] = [
        [_plain(one["name"]), "", *(_figure(one.get(name)) for name in names), "", ""] for one in known
    ]
    groups = [Group(body), *([Group(beside, "References on the same test sequences")] if beside else [])]
    return Table("Each recipe over its seeds, on the test", columns, groups, ["Mean ± sample standard deviation."])


def _recipe(cell: Plain, mine: Sequence[Plain], names: Sequence[str]) -> Row:
    spreads = [_spread([row.get(_TEST + name) for row in mine]) for name in names]
    count = "" if cell["parameters"] is None else f"{cell['parameters']:,}"
    return [cell["recipe"], f"{cell['finished']} of {cell['runs']}", *spreads, Cell((cell["verdict"],)), count]


def _spread(values: Sequence[Any]) -> str:
    known = [float(value) for value in values if _is_number(value) and isfinite(value)]
    if not known:
        return ""
    mean, deviation = mean_and_deviation(known)
    has_spread = deviation is not None and isfinite(deviation)
    return format_number(mean) + (f" ± {format_number(deviation, 2)}" if has_spread else "")


def _runs(rows: Sequence[Plain], names: Sequence[str]) -> Table:
    columns = [Column("Recipe", "left"), Column("Seed"), Column("Epoch"), *(Column(_plain(name)) for name in names)]
    body: list[Row] = []
    for row in rows:
        if row["status"] == "failed":
            failed = Cell((f"failed: {row['reason']}",), "bad", span=len(names) + 1)
            body.append([row["recipe"], str(row["seed"]), failed])
            continue
        figures = [format_number(row.get(_TEST + name)) for name in names]
        body.append([row["recipe"], str(row["seed"]), str(row["selected_epoch"]), *figures])
    return Table("Every run on the test, its epoch selected on validation", columns, [Group(body)])


def _figures(rows: Sequence[Plain]) -> list[str]:
    """Name the figures of the test that some run has."""
    names = dict.fromkeys(name for row in rows for name in row if name.startswith(_TEST) and name not in _COUNTS)
    return [name.removeprefix(_TEST) for name in names if any(_is_number(row.get(name)) for row in rows)]


def _figure(value: Any) -> str:
    return format_number(value) if _is_number(value) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _plain(name: str) -> str:
    return str(name).replace("_", " ")
