"""The interventions as one table: what was changed, what a model that uses the cue should do, and what each seed did.

A row is one recipe at one delay under one intervention, with every seed. Where an intervention cannot be applied the
row says why. Start with `interventions_table`.
"""

from collections.abc import Sequence

from clew.rendering.numbers import format_fraction, format_spread
from clew.rendering.tables import Cell, Column, Group, Row, Table
from clew.report.recall_tables import seed_list
from clew.report.recall_words import Json, at_delay, delays_of, recipe_name

_COLUMNS = (
    Column("Recipe, delay", "left"),
    Column("Unchanged", "right", "mean accuracy on the test episodes as they are"),
    Column("Accuracy after", "left", "each seed, against the original cue"),
    Column("Followed", "left", "each seed, fraction that gives the answer the change should lead to"),
)


def interventions_table(results: Json) -> Table:
    """Show all interventions, grouped by what was changed."""
    records = results["interventions"]
    groups = [
        _group(name, [record for record in records if record["intervention"] == name], results)
        for name in dict.fromkeys(record["intervention"] for record in records)
    ]
    return Table("What the selected models do when an episode is changed", _COLUMNS, groups)


def _group(name: str, records: Sequence[Json], results: Json) -> Group:
    rows: list[Row] = []
    for recipe in dict.fromkeys(record["recipe"] for record in records):
        own = [record for record in records if record["recipe"] == recipe]
        if any(record["applicable"] for record in own):
            rows += [_row(at_delay(own, delay), results) for delay in delays_of(own)]
        else:
            rows.append([recipe_name(recipe), _inapplicable(own)])
    expected = dict.fromkeys(record["expected"] for record in records if record["expected"])
    title = name.replace("_", " ").capitalize()
    return Group(rows, f"{title}. Expected of a model that uses the cue: {'; '.join(expected)}" if expected else title)


def _inapplicable(records: Sequence[Json]) -> Cell:
    reasons = dict.fromkeys(record["reason"] or "no reason kept" for record in records)
    return Cell((f"not applicable: {'; '.join(reasons)}",), "muted", len(_COLUMNS) - 1)


def _row(records: Sequence[Json], results: Json) -> Row:
    ordered = sorted(records, key=lambda record: record["seed"])
    name = f"{recipe_name(ordered[0]['recipe'])}, {ordered[0]['delay']}"
    if not any(record["applicable"] for record in ordered):
        return [name, _inapplicable(ordered)]
    return [name, _unchanged(ordered[0], results), _each_seed(ordered, "accuracy"), _each_seed(ordered, "followed")]


def _unchanged(record: Json, results: Json) -> str:
    cells = [c for c in results["cells"] if (c["recipe"], c["delay"]) == (record["recipe"], record["delay"])]
    return format_spread(cells[0]["mean_accuracy"], None, 1) if cells else "not computed"


def _each_seed(records: Sequence[Json], key: str) -> str:
    if all(record[key] is None for record in records):
        return "–"
    return seed_list([format_fraction(record[key]) if record["applicable"] else "not applicable" for record in records])
