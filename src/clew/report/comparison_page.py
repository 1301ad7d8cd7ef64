"""The page of a comparison on files of one's own: the protocol's table, every run, curves of every seed, the protocol.

One page a task, beside the runs. It says what intervals and exact tests over seeds show, and no more.
Start with `write_comparison_report`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from clew.files import write_atomically
from clew.lab.comparison import Comparison
from clew.lab.own_files import OwnComparison
from clew.rendering.axes import axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import SeriesStyle, series_styles
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.markup import element
from clew.rendering.page import (
    Section,
    banner,
    bullets,
    definitions,
    figure,
    fragments,
    paragraph,
    render_page,
    subsection,
)
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html
from clew.report.evaluation_table import figure as digits
from clew.report.evaluation_table import words_of
from clew.report.task_comparison import task_comparison_table
from clew.runs import RunFolder
from clew.tasks import Task
from clew.training import TrainConfig

LEAST_EPOCHS = 5
LIMITS = (
    "The recipes are compared on one split of one data set; another split may order them differently.",
    "Seeds draw initial weights and dropout. The order of batches is the same for all recipes.",
    "No setting was tuned here. A recipe that another budget or learning rate suits better may be undersold.",
)


def write_comparison_report(plan: OwnComparison, comparison: Comparison, out: Path) -> Path:
    """Write `report.html` into the folder of a comparison, and give its path.

    Args:
        plan: What was compared.
        comparison: What came of it.
        out: The folder that holds the runs.
    """
    path = out / "report.html"
    write_atomically(path, comparison_page(plan, comparison, out))
    return path


def comparison_page(plan: OwnComparison, comparison: Comparison, out: Path) -> str:
    """Compose the page; see `write_comparison_report`."""
    folders = {row["run"]: RunFolder(out / "runs" / row["run"]) for row in comparison.rows}
    curves = {run: folder.metrics() if folder.path.is_dir() else [] for run, folder in folders.items()}
    title = f"{plan.task.name.replace('_', ' ').capitalize()}: {len(plan.recipes)} recipes compared"
    caption = f"{plan.task.name.replace('_', ' ')}, {len(plan.splits.test):,} test sequences"
    sections = [
        Section("Results", "results", table_html(task_comparison_table(comparison, plan.task, caption))),
        Section("Every run", "runs", table_html(runs_table(plan.task, comparison))),
        Section("Learning curves", "curves", _curves(plan, comparison, curves)),
        Section("Protocol", "protocol", _protocol(plan, comparison)),
        Section("What this does not show", "limits", bullets(LIMITS)),
    ]
    return render_page(title, _top(plan, comparison), sections, f"Made by clew from {len(comparison.rows)} runs.")


def _top(plan: OwnComparison, comparison: Comparison) -> Markup:
    seeds = len(plan.seeds)
    lead = [
        f"{len(plan.recipes)} recipes, each trained with {seeds} {'seed' if seeds == 1 else 'seeds'} on the same data "
        "in the same order. The test was sealed until each run had selected its epoch."
    ]
    parts = [element("div", {"class": "lead"}, *map(paragraph, lead))]
    shown = [f"{one['words'][0].upper()}{one['words'][1:]}." for one in comparison.contrasts]
    parts += [bullets(shown)] if shown else []
    if comparison.warnings:
        parts.append(banner("Read this before the figures.", comparison.warnings, "Warnings"))
    return fragments(*parts)


def runs_table(task: Task, comparison: Comparison) -> Table:
    """List every run with its selection and its figures."""
    metrics, selection = list(task.metrics), task.selection
    columns = [Column("Recipe", "left"), Column("Seed"), Column("Epoch"), Column(f"Validation {words_of(selection)}")]
    columns += [Column(f"Test {words_of(name)}") for name in metrics]
    rows: list[Row] = []
    for run in comparison.rows:
        if run["status"] == "failed":
            words = Cell((f"failed: {run['reason']}",), "bad", span=len(columns) - 2)
            rows.append([run["recipe"], str(run["seed"]), words])
            continue
        figures = [digits(run.get(f"test_{name}")) for name in metrics]
        chosen = digits(run.get(f"validation_{selection}"))
        rows.append([run["recipe"], str(run["seed"]), digits(run["selected_epoch"]), chosen, *figures])
    return Table("Every run, its epoch selected on validation", columns, [Group(rows)])


def _curves(plan: OwnComparison, comparison: Comparison, curves: Mapping[str, Sequence[dict[str, Any]]]) -> Markup:
    """Draw the training loss, and each figure of validation, over the epochs: one line a run."""
    coloured = series_styles(cell["recipe"] for cell in comparison.cells)
    styles = {name: replace(style, dash=None) for name, style in coloured.items()}
    longest = max((len(epochs) for epochs in curves.values()), default=0)
    x = axis_over("epoch", [0, max(LEAST_EPOCHS, longest)])
    names = list(dict.fromkeys(name for epochs in curves.values() for one in epochs for name in one["validation"]))
    if not names:
        return paragraph("No run has an epoch.")
    charts = [_panel("Training loss", "loss", comparison, curves, styles, x, None)]
    charts += [
        _panel(f"Validation: {words_of(name)}", words_of(name), comparison, curves, styles, x, name) for name in names
    ]
    entries = [LegendEntry(name, "line and point", style) for name, style in styles.items()]
    caption = "One line a seed; the mark is the epoch that was selected on validation."
    return fragments(legend(entries), figure(fragments(*charts), caption, "panels"))


def _panel(
    title: str,
    label: str,
    comparison: Comparison,
    curves: Mapping[str, Sequence[dict[str, Any]]],
    styles: Mapping[str, SeriesStyle],
    x: Any,
    name: str | None,
) -> Markup:
    lines = []
    for run in comparison.rows:
        epochs = curves[run["run"]]
        points = [
            (one["epoch"], one["train_loss_nats"] if name is None else one["validation"].get(name)) for one in epochs
        ]
        chosen = [point for point in points if point[0] == run["selected_epoch"]]
        marked = chosen[0] if chosen and name is not None else None
        lines.append(Line(f"{run['recipe']}, seed {run['seed']}", styles[run["recipe"]], points, marked))
    heights = [value for line in lines for _, value in line.points]
    return line_chart(title, x, axis_over(label, heights), lines, description=f"{title} by epoch, one line a run")


def _protocol(plan: OwnComparison, comparison: Comparison) -> Markup:
    """Say what was equal, and how each recipe was built and trained."""
    sizes = {name: f"{len(getattr(plan.splits, name)):,} sequences" for name in ("train", "validation", "test")}
    pairs = [
        ("task", repr(plan.task) if len(repr(plan.task)) < 200 else plan.task.name),
        *sizes.items(),
        ("seeds", ", ".join(map(str, plan.seeds))),
        ("order of batches", f"drawn with {plan.order_seed}, the same for all"),
        ("selection", f"the epoch with the lowest {words_of(plan.task.selection)} on validation"),
    ]
    parts: list[Markup] = [definitions(pairs)]
    for recipe in plan.recipes:
        assert isinstance(recipe.training, TrainConfig)
        options = {name: value for name, value in recipe.model.items() if value is not None}
        settings = [(f"model.{name}", str(value)) for name, value in options.items()]
        settings += [(f"training.{name}", str(value)) for name, value in recipe.training.to_mapping().items()]
        parts += [subsection(recipe.name), definitions(settings)]
    audits = [f"{one['subject']}: {one['status']}." for one in comparison.audits]
    return fragments(*parts, *([subsection("Audit before training"), bullets(audits)] if audits else []))
