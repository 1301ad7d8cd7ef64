"""A training as a short page: what was selected, the figures of validation and test, curves over the epochs, settings.

It is what a notebook shows of a run, made of plain values; `clew.report.training` has the whole report, with examples
and references. Start with `run_page`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from clew.rendering.axes import axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import series_styles
from clew.rendering.markup import element
from clew.rendering.numbers import format_number
from clew.rendering.page import Section, definitions, figure, fragments, paragraph, render_page
from clew.rendering.tables import Column, Group, Row, Table, table_html

LEAST_EPOCHS = 5
"""Epochs that an axis has room for, so that its ticks are whole numbers."""
_NOT_SCORED = "The test has not been scored."


def run_page(
    name: str,
    config: Mapping[str, Any],
    epochs: Sequence[Mapping[str, Any]],
    selected_epoch: int,
    selection: Mapping[str, Any],
    test: Mapping[str, Any] | None,
) -> str:
    """Compose the page.

    Args:
        name: Of the run.
        config: What `config.json` holds.
        epochs: What each epoch gave.
        selected_epoch: The epoch whose weights were selected, counted from 1.
        selection: The metric that selected, and its value.
        test: What `test.json` holds; None while the test is sealed.
    """
    preset, task = config["model"]["preset"], config["task"]["name"].replace("_", " ")
    lead = (
        f"{preset}, {task}. Epoch {selected_epoch} of {len(epochs)} was selected: it has the lowest "
        f"{_plain(selection['metric'])} on validation, {format_number(selection['value'])}."
    )
    answer = _NOT_SCORED if test is None else f"The test was scored once, at {test['scored_at']}."
    sections = [
        Section("Figures", "figures", table_html(_figures(epochs[selected_epoch - 1]["validation"], test))),
        Section("Learning curves", "curves", learning_curves(epochs, selected_epoch)),
        Section("Settings", "settings", definitions(_settings(config))),
    ]
    top = element("div", {"class": "lead"}, paragraph(lead), paragraph(answer))
    return render_page(f"Run {name}", top, sections)


def learning_curves(
    epochs: Sequence[Mapping[str, Any]], selected_epoch: int, words_of: Callable[[str], str] | None = None
) -> Markup:
    """Draw the training loss, and each figure of validation, over the epochs; `words_of` names a figure."""
    if len(epochs) < 2:
        return paragraph("One epoch makes no curve.")
    x = axis_over("epoch", [0, max(LEAST_EPOCHS, len(epochs))])
    styles = {name: replace(style, dash=None) for name, style in series_styles(["train", "validation"]).items()}
    losses = [(epoch["epoch"], epoch["train_loss_nats"]) for epoch in epochs]
    y = axis_over("loss", [loss for _, loss in losses])
    charts = [line_chart("Training loss", x, y, [Line("train", styles["train"], losses)])]
    for name in epochs[0]["validation"]:
        points = [(epoch["epoch"], epoch["validation"][name]) for epoch in epochs]
        line = Line("validation", styles["validation"], points, marked=points[selected_epoch - 1])
        words = (words_of or _plain)(name)
        charts.append(line_chart(f"Validation: {words}", x, axis_over(words, [value for _, value in points]), [line]))
    caption = "The training loss is a mean over an epoch, while the weights moved. The mark is the selected epoch."
    return figure(fragments(*charts), caption, "panels")


def _figures(validation: Mapping[str, Any], test: Mapping[str, Any] | None) -> Table:
    scored = {} if test is None else test["metrics"]
    names = [name for name in dict.fromkeys([*validation, *scored]) if _is_figure(validation, scored, name)]
    rows: list[Row] = [
        [_plain(name), format_number(validation.get(name)), *([format_number(scored.get(name))] if test else [])]
        for name in names
    ]
    columns = [Column("Figure", "left"), Column("Validation"), *([Column("Test")] if test else [])]
    return Table("At the selected epoch", columns, [Group(rows)])


def _is_figure(validation: Mapping[str, Any], scored: Mapping[str, Any], name: str) -> bool:
    return isinstance(validation.get(name, scored.get(name)), int | float)


def _settings(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    sections = {name: config[name] for name in ("model", "training") if isinstance(config.get(name), Mapping)}
    return [
        (f"{section}.{name}", str(value))
        for section, part in sections.items()
        for name, value in part.items()
        if value is not None
    ]


def _plain(name: str) -> str:
    return name.replace("_", " ")
