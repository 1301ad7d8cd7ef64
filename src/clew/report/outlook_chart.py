"""The end of each series and what is forecast after it, as one picture or a page of several."""

from markupsafe import Markup

from clew.data import Table
from clew.errors import ConfigError, complain
from clew.rendering.axes import axis_over
from clew.rendering.charts import Line, line_chart
from clew.rendering.colours import series_styles
from clew.rendering.page import Section, figure, fragments, paragraph, render_page, standalone_svg
from clew.runs.outlook import Outlook

HISTORY_A_HORIZON = 3
MOST_CHARTS = 40


def outlook_file(outlook: Outlook, suffix: str) -> str:
    """Give the content of a file.

    Args:
        outlook: What was forecast.
        suffix: ".svg" for one series, or ".html".

    Raises:
        ConfigError: If the suffix is another, or one picture cannot hold what was forecast.
    """
    charts = outlook_charts(outlook)
    if suffix == ".svg" and len(charts) == 1:
        return standalone_svg(charts[0])
    if suffix == ".html":
        words = paragraph("Steps are counted from the end of the history, which is 0.")
        shown = fragments(*(figure(chart, "") for chart in charts[:MOST_CHARTS]))
        more = len(charts) - MOST_CHARTS
        left_out = [paragraph(f"{more} more series are not drawn.")] if more > 0 else []
        section = Section("Series and forecasts", "forecasts", fragments(shown, *left_out))
        return render_page(f"Forecast of {outlook.history.path.name}", words, [section])
    rule = ".svg for one series, .html for any number"
    raise ConfigError(complain("clew forecast", "the ending of --plot", rule, f"'{suffix}' for {len(charts)} series"))


def outlook_charts(outlook: Outlook) -> list[Markup]:
    """Draw each series: its end, the forecast, and the outer quantiles thinner."""
    table, charts = outlook.history, []
    for place, name in enumerate(outlook.values):
        for column, series in enumerate(outlook.series):
            charts.append(_chart(outlook, table, place, name, column, series))
    return charts


def _chart(outlook: Outlook, table: Table, place: int, name: str, column: int, series: str) -> Markup:
    values = outlook.values[name]
    start, end = int(table.offsets[place]), int(table.offsets[place + 1])
    shown = min(end - start, HISTORY_A_HORIZON * len(values))
    history = table.frame[series][end - shown : end].to_list()
    levels = outlook.quantiles or (0.5,)
    forecast = values[:, column] if outlook.quantiles else values[:, column, None]
    middle = levels.index(0.5)
    styles = series_styles(["history", "forecast"])
    past = [(step - shown + 1, value) for step, value in enumerate(history)]
    lines = [Line("history", styles["history"], past)]
    for level in range(len(levels)):
        points = [past[-1], *((step + 1, float(value)) for step, value in enumerate(forecast[:, level]))]
        words = "forecast" if level == middle else f"quantile {levels[level]:g}"
        lines.append(Line(words, styles["forecast"], points, is_background=level != middle))
    heights = [value for line in lines for _, value in line.points]
    title = series if len(outlook.values) == 1 else f"{series} of {name}"
    x_axis = axis_over("step from the end of the history", [1 - shown, len(values)])
    return line_chart(title, x_axis, axis_over(series, heights), lines, description=f"{title}: history and forecast")
