"""The table of a comparison on a file of one's own: each recipe's figures over its seeds, then the references."""

from math import isfinite
from typing import Any

from clew.lab.comparison import Comparison
from clew.lab.statistics import mean_and_deviation
from clew.rendering.tables import Cell, Column, Group, Row, Table
from clew.report.evaluation_table import WORDS, figure
from clew.tasks import Task

MODES = ("one_step_", "rollout_")
SHOWN = ("loss_nats", "bits_per_byte", "accuracy", "rmse", "r2", "one_step_mase", "rollout_mase")
"""Figures that fit beside each other; the JSON has all."""


def task_comparison_table(comparison: Comparison, task: Task, caption: str) -> Table:
    """Describe the table: mean and sample standard deviation over seeds, and the deciding metric of each seed."""
    chosen = _chosen(task)
    metrics = [name for name in task.metrics if name in (*SHOWN, chosen)]
    columns = [
        Column("Recipe", "left"),
        *(Column(_words(name)) for name in metrics),
        Column(f"{_words(chosen)}, each seed", "left"),
        Column("Parameters"),
    ]
    rows: list[Row] = [_row(cell, comparison.rows, metrics, chosen) for cell in comparison.cells]
    for reference in comparison.references:
        figures = [Cell((figure(reference.get(name)),), "muted") for name in metrics]
        rows.append([Cell((str(reference["name"]).replace("_", " "),), "muted"), *figures, "", ""])
    return Table(
        caption, columns, [Group(rows)], ["Mean ± sample standard deviation over seeds, on the sealed test part."]
    )


def comparison_lines(comparison: Comparison) -> list[str]:
    """Say what pairs of recipes show, and what went wrong."""
    return [f"{one['first']} and {one['second']}: {one['words']}" for one in comparison.contrasts] + comparison.warnings


def _row(cell: dict[str, Any], rows: list[dict[str, Any]], metrics: list[str], chosen: str) -> Row:
    mine = [row for row in rows if row["recipe"] == cell["recipe"]]
    spreads = [_spread([row.get(f"test_{name}") for row in mine]) for name in metrics]
    seeds = "  ".join("failed" if row["status"] == "failed" else _short(row.get(f"test_{chosen}")) for row in mine)
    count = "" if cell["parameters"] is None else f"{cell['parameters']:,}"
    return [cell["recipe"], *spreads, seeds, count]


def _spread(values: list[Any]) -> str:
    """Write mean and deviation of what was computed."""
    known = [float(value) for value in values if isinstance(value, int | float) and isfinite(value)]
    if not known:
        return ""
    mean, deviation = mean_and_deviation(known)
    return _short(mean) if deviation is None or deviation != deviation else f"{_short(mean)} ± {_short(deviation)}"


def _short(value: Any) -> str:
    """Write a figure with three decimals where it is small, else as everywhere."""
    is_small = isinstance(value, int | float) and abs(value) < 10
    return f"{value:.3f}" if is_small else figure(value)


def _chosen(task: Task) -> str:
    """Choose the metric that is shown seed by seed: accuracy where there is one, else what selects."""
    return "accuracy" if "accuracy" in task.metrics else task.selection


def _words(name: str) -> str:
    for mode, words in zip(MODES, ("One step ", "Rollout "), strict=True):
        if name.startswith(mode):
            return words + WORDS.get(name.removeprefix(mode), name)
    return WORDS.get(name, name)
