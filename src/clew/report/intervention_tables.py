"""The interventions as one table: what was changed, what a model that uses the cue should do, and what each seed did.

A row is one recipe at one delay under one intervention, with every seed. Where an intervention cannot be applied the
row says why. Start with `interventions_table`.
"""

import re
from collections.abc import Sequence

from clew.rendering.numbers import format_fraction, format_spread
from clew.rendering.tables import Cell, Column, Group, Row, Table
from clew.report.recall_tables import seed_list
from clew.report.recall_words import Json, recipe_name

_NUMBER = re.compile(r"_\d+$")
_COLUMNS = (
    Column("Recipe, delay", "left"),
    Column("Unchanged", "right", "mean accuracy on the test episodes as they are"),
    Column("Accuracy after", "left", "each seed, against the original cue"),
    Column("Followed", "left", "each seed, fraction that gives the answer the change should lead to"),
)


def interventions_table(results: Json) -> Table:
    """Show all interventions, grouped by what was changed; the same change at several places is one group."""
    families: dict[str, list[Json]] = {}
    for record in results["interventions"]:
        families.setdefault(_family(record), []).append(record)
    groups = [_group(name, records, results) for name, records in families.items()]
    return Table("What the selected models do when an episode is changed", _COLUMNS, groups)


def _family(record: Json) -> str:
    return _NUMBER.sub("", record["intervention"])


def _group(name: str, records: Sequence[Json], results: Json) -> Group:
    rows: list[Row] = []
    for recipe in dict.fromkeys(record["recipe"] for record in records):
        own = [record for record in records if record["recipe"] == recipe]
        if any(record["applicable"] for record in own):
            places = dict.fromkeys((record["delay"], record["intervention"]) for record in own)
            members = [[r for r in own if (r["delay"], r["intervention"]) == place] for place in places]
            rows += [_row(member, results) for member in sorted(members, key=lambda member: member[0]["delay"])]
        else:
            rows.append([recipe_name(recipe), _inapplicable(own)])
    expected = dict.fromkeys(record["expected"].replace(f"delay {record['delay']}", "one delay") for record in records)
    return Group(rows, f"{name.replace('_', ' ').capitalize()}. Expected: {'; '.join(expected)}")


def _inapplicable(records: Sequence[Json]) -> Cell:
    reasons = dict.fromkeys(record["reason"] or "no reason kept" for record in records)
    return Cell((f"not applicable: {'; '.join(reasons)}",), "muted", len(_COLUMNS) - 1)


def _row(records: Sequence[Json], results: Json) -> Row:
    ordered = sorted(records, key=lambda record: record["seed"])
    name = f"{recipe_name(ordered[0]['recipe'])}, {ordered[0]['delay']}{_place_words(ordered[0]['intervention'])}"
    if not any(record["applicable"] for record in ordered):
        return [name, _inapplicable(ordered)]
    return [name, _unchanged(ordered[0], results), _each_seed(ordered, "accuracy"), _each_seed(ordered, "followed")]


def _place_words(intervention: str) -> str:
    """Give the place of a numbered intervention: ` (step 6)` for `reset_state_before_step_6`."""
    is_numbered = _NUMBER.search(intervention) is not None
    return f" ({' '.join(intervention.split('_')[-2:])})" if is_numbered else ""


def _unchanged(record: Json, results: Json) -> str:
    cells = [c for c in results["cells"] if (c["recipe"], c["delay"]) == (record["recipe"], record["delay"])]
    return format_spread(cells[0]["mean_accuracy"], None, 1) if cells else "not computed"


def _each_seed(records: Sequence[Json], key: str) -> str:
    if all(record[key] is None for record in records):
        return "–"
    return seed_list([format_fraction(record[key]) if record["applicable"] else "not applicable" for record in records])
