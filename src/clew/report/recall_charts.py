"""The charts of the recall report: accuracy by delay, learning curves and the memory signal, with every seed.

A run that failed shows the epochs that it kept, or nothing. Start with `accuracy_chart`.
"""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from clew.rendering.axes import Axis, axis_over
from clew.rendering.charts import Level, Line, PointGroup, line_chart, point_chart
from clew.rendering.colours import SeriesStyle, series_styles
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.markup import joined
from clew.rendering.numbers import Value, finite, finite_values, format_number
from clew.rendering.page import figure, fragments
from clew.report.recall_tables import runs_of
from clew.report.recall_words import Json, at_delay, delays_of, recipe_name

Curves = Mapping[str, Sequence[Json]]
CHANCE_NATS = math.log(4)
_HIGHEST_LOSS = 2 * CHANCE_NATS


def recipe_styles(results: Json) -> dict[str, SeriesStyle]:
    """Give each recipe of the results its fixed style."""
    return series_styles(dict.fromkeys(cell["recipe"] for cell in results["cells"]))


def accuracy_picture(results: Json) -> Markup:
    """Draw test accuracy by delay: every seed with its interval, means joined, chance and oracle as lines."""
    styles = recipe_styles(results)
    groups = [_point_group(cell, results, styles[cell["recipe"]]) for cell in results["cells"]]
    levels = [Level(value, name) for name in ("chance", "oracle") for value in _reference_values(results, name)]
    title = "Test accuracy of the move after RECALL"
    return point_chart(title, "delay (random moves)", Axis("fraction of episodes", 0.0, 1.0), groups, levels, title)


def _reference_values(results: Json, name: str) -> list[float]:
    values = (finite(item["accuracy"]) for item in results["references"] if item["name"] == name)
    return list(dict.fromkeys(value for value in values if value is not None))


def _point_group(cell: Json, results: Json, style: SeriesStyle) -> PointGroup:
    finished = [row for row in runs_of(results, cell) if row["status"] == "finished"]
    points = [(f"seed {row['seed']}", row["test_accuracy"], row["test_interval"]) for row in finished]
    return PointGroup(str(cell["delay"]), recipe_name(cell["recipe"]), style, points, cell["mean_accuracy"])


def accuracy_figure(results: Json) -> Markup:
    """Wrap the picture of accuracy by delay with its caption."""
    caption = (
        "Every point is one seed, with the interval of its test proportion as a thin line; short bars are means, "
        "joined by the line of the recipe. Seeds stand beside each other so that equal ones stay visible."
    )
    return figure(accuracy_picture(results), caption)


def learning_figure(results: Json, curves: Curves) -> Markup:
    """Draw validation cue loss by epoch: one panel a delay, one line a seed, the selected epoch marked."""
    styles = recipe_styles(results)
    losses = [value for lines in curves.values() for value in _metrics(lines, "validation", "cue_loss_nats")]
    highest = max((number for number in finite_values(losses) if number is not None), default=0.0)
    y = Axis("validation cue loss (nats)", 0.0, min(max(highest, 1.1 * CHANCE_NATS), _HIGHEST_LOSS))
    x = axis_over("epoch", _epochs(curves), include=(0,))
    panels = [_learning_panel(results, curves, delay, styles, x, y) for delay in delays_of(results["rows"])]
    entries = [LegendEntry(recipe_name(name), "line and point", style) for name, style in styles.items()]
    caption = (
        "Every line is one seed, the marker its selected epoch: the one with the lowest validation cue loss. "
        "log 4 is what a uniform guess among the four moves costs."
    )
    if highest > _HIGHEST_LOSS:
        caption += f" Losses above {format_number(_HIGHEST_LOSS)} nats are drawn at the upper edge."
    return fragments(legend(entries), figure(joined(panels), caption, "panels"))


def _learning_panel(
    results: Json, curves: Curves, delay: int, styles: Mapping[str, SeriesStyle], x: Axis, y: Axis
) -> Markup:
    lines = [
        _learning_line(row, curves.get(row["run"], ()), styles[row["recipe"]])
        for row in at_delay(results["rows"], delay)
        if row["recipe"] in styles
    ]
    title = f"Delay {delay}"
    description = f"{title}: {y.label} by epoch, one line a run"
    return line_chart(title, x, y, lines, [Level(CHANCE_NATS, "log 4")], description)


def _learning_line(row: Json, lines: Sequence[Json], style: SeriesStyle) -> Line:
    points = _points(lines, "validation", "cue_loss_nats")
    chosen = [point for point in points if point[0] == row["selected_epoch"]]
    return Line(f"{recipe_name(row['recipe'])}, seed {row['seed']}", style, points, chosen[0] if chosen else None)


def memory_figure(results: Json, curves: Curves) -> Markup:
    """Draw the learning signal at the cue beside the norm of the whole shared gradient, both by epoch."""
    styles = recipe_styles(results)
    signals = [
        value
        for lines in curves.values()
        for key in ("cue_signal", "shared_gradient_norm")
        for value in _metrics(lines, "diagnose", key)
    ]
    x = axis_over("epoch", _epochs(curves), include=(0,))
    y = axis_over("size of the gradient", signals, log=True)
    panels = [_memory_panel(results, curves, cell, styles[cell["recipe"]], x, y) for cell in results["cells"]]
    entries = [
        *(LegendEntry(f"{recipe_name(name)}: at the cue", "line", style) for name, style in styles.items()),
        LegendEntry("whole shared gradient", "background"),
    ]
    caption = (
        "Coloured: size of d(cue loss)/d(representation at the cue). Grey: norm of the gradient of all shared weights. "
        "Validation episodes, one line a seed, logarithmic and equal axes. A grey line far above the coloured one "
        "is a model that still learns, but hardly from the cue."
    )
    if any(number is not None and number <= 0 for number in finite_values(signals)):
        caption += " A gradient of exactly zero is drawn at the lower edge."
    return fragments(legend(entries), figure(joined(panels), caption, "panels"))


def _memory_panel(results: Json, curves: Curves, cell: Json, style: SeriesStyle, x: Axis, y: Axis) -> Markup:
    lines: list[Line] = []
    for row in runs_of(results, cell):
        metrics = curves.get(row["run"], ())
        for key, words in (("shared_gradient_norm", "whole shared gradient"), ("cue_signal", "at the cue")):
            points = _points(metrics, "diagnose", key)
            is_background = key == "shared_gradient_norm"
            plain = SeriesStyle(style.css_class, style.marker, None) if is_background else style
            lines.append(Line(f"seed {row['seed']}: {words}", plain, points, is_background=is_background))
    title = f"{recipe_name(cell['recipe'])}, delay {cell['delay']}"
    return line_chart(title, x, y, lines, description=f"{title}: gradient at the cue and shared gradient norm by epoch")


def _metrics(lines: Sequence[Json], part: str, name: str) -> list[Value]:
    return [(line.get(part) or {}).get(name) for line in lines]


def _points(lines: Sequence[Json], part: str, name: str) -> list[tuple[Value, Value]]:
    return list(zip((line["epoch"] for line in lines), _metrics(lines, part, name), strict=True))


def _epochs(curves: Curves) -> list[Value]:
    return [line["epoch"] for lines in curves.values() for line in lines]
