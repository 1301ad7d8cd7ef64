"""The page of a run on a file of one's own: curves, what was selected, the test beside references, the settings."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from clew.files import write_atomically
from clew.rendering.axes import axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import series_styles
from clew.rendering.page import Section, bullets, definitions, figure, fragments, paragraph, render_page
from clew.rendering.tables import Column, Group, Table, table_html
from clew.report.evaluation_table import WORDS, assessment_lines, evaluation_table
from clew.report.evaluation_table import figure as digits
from clew.runs import Run, read_json


def write_training_report(run: Run, assessment: dict[str, Any] | None = None) -> Path:
    """Write `report.html` into the folder of a run, and give its path."""
    path = run.path / "report.html"
    write_atomically(path, training_page(run, assessment))
    return path


def training_page(run: Run, assessment: dict[str, Any] | None = None) -> str:
    """Compose the page.

    Args:
        run: A trained run.
        assessment: What `assess` found on the test.
    """
    preset, count = run.config["model"]["preset"], run.model.parameter_count()
    selected = run.selection
    top = paragraph(
        f"{run.task.name} with {preset}, {count:,} parameters. Epoch {run.selected_epoch} of {len(run.metrics())} has "
        f"the lowest {selected['metric']} on validation, {digits(selected['value'])}."
    )
    sections = [Section("Curves", "curves", _curves(run)), Section("Validation", "validation", _validation(run))]
    if run.folder.is_scored:
        sections.append(Section("Test", "test", _test(run, assessment)))
    sections.append(Section("Settings", "settings", _settings(run)))
    return render_page(f"Run {run.path.name}", top, sections)


def _curves(run: Run) -> Markup:
    """Draw the training loss, and each figure of validation, over the epochs."""
    epochs, styles = run.metrics(), series_styles(["train", "validation"])
    x = axis_over("epoch", [1, max(2, len(epochs))])
    losses = [(epoch["epoch"], epoch["train_loss_nats"]) for epoch in epochs]
    charts = [
        line_chart(
            "Training loss",
            x,
            axis_over("loss", [loss for _, loss in losses]),
            [Line("train", styles["train"], losses)],
        )
    ]
    for name in epochs[0]["validation"]:
        points = [(epoch["epoch"], epoch["validation"][name]) for epoch in epochs]
        chosen = points[run.selected_epoch - 1]
        line = Line("validation", styles["validation"], points, marked=chosen)
        words = str(WORDS.get(name, name.replace("_", " ")))
        charts.append(line_chart(f"Validation: {words}", x, axis_over(words, [value for _, value in points]), [line]))
    caption = "The training loss is a mean over an epoch, while the weights moved. The mark is the selected epoch."
    return figure(fragments(*charts), caption, "panels")


def _validation(run: Run) -> Markup:
    found = run.metrics()[run.selected_epoch - 1]["validation"]
    rows = [[WORDS.get(name, name.replace("_", " ")), digits(value)] for name, value in found.items()]
    columns = [Column("Figure", "left"), Column("Value")]
    return table_html(Table("Validation at the selected epoch", columns, [Group(rows)]))


def _test(run: Run, assessment: dict[str, Any] | None) -> Markup:
    result = run.folder.test()
    caption = f"Test: {result['sequences']:,} sequences, scored once, {result['scored_at']}"
    table = table_html(evaluation_table(result, run.config["model"]["preset"], caption))
    lines = assessment_lines(assessment or {})
    return fragments(table, *([bullets(lines)] if lines else []))


def _settings(run: Run) -> Markup:
    """List what was decided, section by section."""
    plan = run.path / "plan.json"
    values = read_json(plan) if plan.exists() else {"model": run.config["model"], "training": run.config["training"]}
    pairs = []
    for section, part in values.items():
        listed = part.items() if isinstance(part, dict) else [("", part)]
        pairs += [(f"{section}.{name}".rstrip("."), str(value)) for name, value in listed if value is not None]
    return definitions(pairs)
