"""The pictures of the worked example, drawn by `clew.rendering` from what an item describes. Start with `chart_of`."""

from collections.abc import Sequence

from markupsafe import Markup

from clew.rendering.axes import axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import HeatScale, diverging, sequential, series_styles
from clew.rendering.heat_maps import HeatAxis, heat_map
from clew.rendering.marks import LegendEntry, legend
from clew.rendering.markup import joined
from clew.rendering.page import figure, fragments
from clew.walkthrough.items import Cell, CurveChart, HeatMap, Item

CELL = 24.0
TITLE_LETTER, LABEL_LETTER = 7.6, 6.0  # widths in SVG units, so that a small map is as wide as the words above it


def chart_of(item: Item) -> Markup | None:
    """Draw an item's panels side by side, with a legend for curves and the caption; None if there is nothing to "
    "draw."""
    if not item.panels:
        return None
    names = list(dict.fromkeys(curve.name for panel in curve_charts(item) for curve in panel.curves))
    styles = series_styles(names)
    entries = [LegendEntry(name, "line", styles[name]) for name in names]
    drawn = figure(joined(panel_pictures(item)), item.caption or item.title, "panels")
    return fragments(legend(entries), drawn) if entries else drawn


def curve_charts(item: Item) -> list[CurveChart]:
    """List those of an item's panels that show curves."""
    return [panel for panel in item.panels if isinstance(panel, CurveChart)]


def panel_pictures(item: Item) -> list[Markup]:
    """Draw each panel of an item as a picture of its own; a curve has one style in all of them."""
    names = list(dict.fromkeys(curve.name for panel in curve_charts(item) for curve in panel.curves))
    return [
        _curves(panel, names) if isinstance(panel, CurveChart) else _heat(panel, item.title) for panel in item.panels
    ]


def _curves(panel: CurveChart, names: Sequence[str]) -> Markup:
    styles = series_styles(names)
    points = [point for curve in panel.curves for point in curve.points]
    x = axis_over(panel.x_label, [place for place, _ in points])
    y = axis_over(panel.y_label, [value for _, value in points], log=panel.has_log_scale)
    lines = [Line(curve.name, styles[curve.name], curve.points) for curve in panel.curves]
    return line_chart(panel.title, x, y, lines, description=f"{panel.title}: {panel.y_label} over {panel.x_label}")


def _heat(panel: HeatMap, title: str) -> Markup:
    rows = HeatAxis(panel.row_axis, short_labels(panel.row_labels), cell=CELL)
    words = f"{panel.row_axis} downwards, {panel.column_axis} to the right"
    width = max(TITLE_LETTER * len(panel.title), LABEL_LETTER * len(words)) / max(len(panel.column_labels), 1)
    columns = HeatAxis(panel.column_axis, short_labels(panel.column_labels), cell=max(CELL, width))
    description = f"{title}: {panel.title}, {panel.row_axis} downwards and {panel.column_axis} to the right"
    return heat_map(panel.title, panel.values, rows, columns, _scale(panel), description)


def short_labels(labels: Sequence[str]) -> list[str]:
    """Leave out what the axis says already: the position before a token, and a word that all labels start with.

    >>> short_labels(["0: a", "1: journey"]), short_labels(["Feature 0", "Feature 1"])
    (['a', 'journey'], ['0', '1'])
    """
    tokens = [label.partition(": ")[2] if label.partition(": ")[0].isdigit() else label for label in labels]
    first_words = {label.partition(" ")[0] for label in tokens if " " in label}
    if len(first_words) == 1 and all(" " in label for label in tokens):
        return [label.partition(" ")[2] for label in tokens]
    return tokens


def _scale(panel: HeatMap) -> HeatScale:
    cells: list[Cell] = [value for row in panel.values for value in row]
    return sequential() if panel.scale == "sequential" else diverging(cells)
