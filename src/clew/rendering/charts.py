"""Line charts and point charts as inline SVG that follows the page's colours and needs nothing from outside.

Values are what JSON holds; what is not a finite number leaves a gap, or no point, and is never drawn as zero. Every
point and curve names itself for the pointer, and what is drawn is also in the page's tables.
Start with `line_chart` and `point_chart`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from clew.rendering.axes import Axis, Plot, label_at, line_between, svg, tooltip
from clew.rendering.colours import SeriesStyle
from clew.rendering.marks import curve, marker
from clew.rendering.markup import element, joined
from clew.rendering.numbers import Number, Value, finite, format_fraction, format_interval


@dataclass(frozen=True)
class Line:
    """One curve: its name, style and points; `marked` is a point to mark on it, such as the selected epoch."""

    name: str
    style: SeriesStyle
    points: Sequence[tuple[Value, Value]]
    marked: tuple[Value, Value] | None = None
    is_background: bool = False


@dataclass(frozen=True)
class Level:
    """A value that readers compare with, drawn across the chart."""

    value: Number
    words: str


@dataclass(frozen=True)
class PointGroup:
    """The runs of one series at one place of the horizontal axis, each with an interval or None, and their mean."""

    place: str
    series: str
    style: SeriesStyle
    points: Sequence[tuple[str, Value, Sequence[Value] | None]]
    mean: Value


def line_chart(
    title: str, x: Axis, y: Axis, lines: Sequence[Line], levels: Sequence[Level] = (), description: str = ""
) -> Markup:
    """Draw curves over a common frame; background curves are thin, grey and below the others."""
    plot = Plot(x, y, right=_room_for(levels))
    ordered = sorted(lines, key=lambda line: not line.is_background)
    drawn = [_line(plot, line) for line in ordered]
    marks = joined(plot.level(level.value, level.words) for level in levels)
    return svg(plot.width, plot.height, description or title, plot.frame(title), marks, *drawn)


def _room_for(levels: Sequence[Level]) -> int:
    """Leave room at the right for the names of the levels."""
    return round(12 + 6.5 * max((len(level.words) for level in levels), default=0))


def _line(plot: Plot, line: Line) -> Markup:
    pieces = plot.trace(line.points)
    lone = [marker("circle", *piece[0], 1.5) for piece in pieces if len(piece) == 1]
    path = curve(pieces, line.style.dash, "background" if line.is_background else "curve", line.name)
    chosen = [(finite(x), finite(y)) for x, y in [line.marked or (None, None)]]
    marks = [
        element("g", None, marker(line.style.marker, plot.x_at(x), plot.y_at(y)), tooltip(f"{line.name}: selected"))
        for x, y in chosen
        if x is not None and y is not None
    ]
    return element("g", {"class": line.style.css_class}, path, *lone, *marks)


def point_chart(
    title: str, x_label: str, y: Axis, groups: Sequence[PointGroup], levels: Sequence[Level] = (), description: str = ""
) -> Markup:
    """Draw every run as a point beside the others of its place, with its interval, and the means joined by a line.

    The chart names its series itself, so that it can stand alone.
    """
    places = list(dict.fromkeys(group.place for group in groups))
    series = list(dict.fromkeys(group.series for group in groups))
    axis = Axis(x_label, -0.5, len(places) - 0.5)
    plot = Plot(axis, y, width=480, height=340, right=_room_for(levels), top=66)
    room = 0.8 / max(len(series), 1)  # of the width of a place, for each series
    shifts = {name: (index - (len(series) - 1) / 2) * room for index, name in enumerate(series)}
    centred = [(group, places.index(group.place) + shifts[group.series]) for group in groups]
    borders = [plot.x_at(index - 0.5) for index in range(1, len(places))]
    drawn = [
        plot.frame(title, list(enumerate(places))),
        _key(groups),
        *(line_between(x, plot.top, x, plot.floor, "grid") for x in borders),
        *(plot.level(level.value, level.words) for level in levels),
        *(_means(plot, [pair for pair in centred if pair[0].series == name]) for name in series),
        *(_points(plot, group, centre, room) for group, centre in centred),
    ]
    return svg(plot.width, plot.height, description or title, *drawn)


def _key(groups: Sequence[PointGroup]) -> Markup:
    """Name each series beside its marker, in one row below the title."""
    drawn: list[Markup] = []
    x = 10.0
    for name, style in {group.series: group.style for group in groups}.items():
        sample = curve([[(x - 8, 32.0), (x + 18, 32.0)]], style.dash, "trend", name)
        label = label_at(x + 24, 36, name, "axis-label")
        drawn.append(element("g", {"class": style.css_class}, sample, marker(style.marker, x + 5, 32, 3.6), label))
        x += 44 + 7 * len(name)
    return joined(drawn)


def _means(plot: Plot, members: Sequence[tuple[PointGroup, Number]]) -> Markup:
    heights = [(centre, finite(group.mean)) for group, centre in members]
    segment = [(plot.x_at(centre), plot.y_at(mean)) for centre, mean in heights if mean is not None]
    name, style = members[0][0].series, members[0][0].style
    bars = [line_between(x - 9, y, x + 9, y, "mean") for x, y in segment]
    return element("g", {"class": style.css_class}, curve([segment], style.dash, "trend", f"{name}: means"), *bars)


def _points(plot: Plot, group: PointGroup, centre: Number, room: Number) -> Markup:
    drawn: list[Markup] = []
    count = len(group.points)
    for index, (name, value, interval) in enumerate(group.points):
        number = finite(value)
        if number is None:
            continue
        x = plot.x_at(centre + (index - (count - 1) / 2) * room * 0.75 / max(count, 3))
        words = f"{group.series}, {group.place}, {name}: {format_fraction(value)}"
        bounds = [finite(bound) for bound in interval or ()]
        if len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None:
            words += f", interval {format_interval(interval)}"
            drawn.append(line_between(x, plot.y_at(bounds[0]), x, plot.y_at(bounds[1]), "interval"))
        drawn.append(element("g", None, marker(group.style.marker, x, plot.y_at(number), 3.6), tooltip(words)))
    return element("g", {"class": group.style.css_class}, *drawn)
