"""Charts put values where they belong, leave gaps where there are none, and are valid SVG."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from clew.rendering.axes import Axis, Plot, axis_over
from clew.rendering.charts import Level, Line, PointGroup, line_chart, point_chart
from clew.rendering.colours import series_styles
from clew.rendering.marks import LegendEntry, legend, marker

STYLES = series_styles(["rnn", "gru", "lstm", "transformer", *"abcd"])


def test_ticks_are_round_and_inside() -> None:
    assert [words for _, words in Axis("y", 0.0, 1.0).ticks()] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [value for value, _ in Axis("y", 3.0, 61.0).ticks()] == [10, 20, 30, 40, 50, 60]
    assert [words for _, words in Axis("y", 1e-7, 1.0, log=True).ticks()] == ["10⁻⁷", "10⁻⁵", "10⁻³", "10⁻¹"]


def test_places_on_linear_and_logarithmic_axes() -> None:
    assert Axis("y", 10, 20).places([10, 15, 20, 99, -5]) == [0.0, 0.5, 1.0, 1.0, 0.0]
    assert Axis("y", 0.01, 1.0, log=True).places([0.1, 0.0, -1.0]) == pytest.approx([0.5, 0.0, 0.0])


def test_an_axis_holds_all_finite_values() -> None:
    axis = axis_over("y", [3, None, "NaN", 7.5, "Infinity"], include=(0,))
    assert (axis.low, axis.high) == (0, 7.5)
    log = axis_over("y", [0.02, 0.0, 30.0], log=True)
    assert (log.low, log.high) == (0.01, 100.0)
    assert axis_over("y", []).high > axis_over("y", []).low
    assert axis_over("y", [0.0], log=True).low > 0


def test_a_curve_has_gaps_where_values_are_missing() -> None:
    plot = Plot(Axis("x", 0, 4), Axis("y", 0, 1))
    segments = plot.trace([(0, 0.0), (1, 1.0), (2, None), (3, 0.5), (4, "NaN")])
    assert [len(segment) for segment in segments] == [2, 1]
    assert segments[0] == [(plot.left, plot.floor), (plot.x_at(1), plot.top)]


def test_a_line_chart_is_valid_and_names_its_lines() -> None:
    lines = [
        Line("a<b", STYLES["gru"], [(1, 0.5), (2, 0.25)], (2, 0.25)),
        Line("grey", STYLES["rnn"], [(1, 1)], None, True),
    ]
    picture = ElementTree.fromstring(line_chart("T & T", Axis("x", 0, 2), Axis("y", 0, 1), lines, [Level(0.5, "half")]))
    assert picture.attrib["aria-label"] == "T & T" and picture.attrib["role"] == "img"
    assert [title.text for title in picture.iter("title")] == ["grey", "a<b", "a<b: selected"]
    assert "half" in [text.text for text in picture.iter("text")]
    curve = next(path for path in picture.iter("path") if path.attrib["class"] == "curve")
    assert curve.attrib["stroke-dasharray"] == STYLES["gru"].dash


def test_a_point_chart_shows_every_run_its_interval_and_the_mean() -> None:
    groups = [
        PointGroup("8", "RNN", STYLES["rnn"], [("seed 1", 0.5, [0.4, 0.6]), ("seed 2", 0.5, None)], 0.5),
        PointGroup("8", "GRU", STYLES["gru"], [("seed 1", None, None)], None),
        PointGroup("16", "RNN", STYLES["rnn"], [("seed 1", 1.0, None), ("seed 2", "NaN", None)], 1.0),
    ]
    text = point_chart("T", "x", Axis("y", 0.0, 1.0), groups, [Level(0.25, "chance")])
    picture = ElementTree.fromstring(text)
    points = [title.text for title in picture.iter("title") if title.text and "seed" in title.text]
    assert points == [
        "RNN, 8, seed 1: 0.500, interval [0.400, 0.600]", "RNN, 8, seed 2: 0.500", "RNN, 16, seed 1: 1"
    ]  # fmt: skip
    places = [circle.attrib["cx"] for circle in picture.iter("circle") if circle.attrib.get("r") == "3.6"]
    assert len(set(places)) == len(places), "equal values stay visible beside each other"
    lines = [line.attrib["class"] for line in picture.iter("line")]
    assert lines.count("mean") == 2 and lines.count("interval") == 1 and lines.count("level") == 1


def test_a_chart_without_values_is_still_a_chart() -> None:
    ElementTree.fromstring(line_chart("T", axis_over("x", []), axis_over("y", []), []))
    ElementTree.fromstring(point_chart("T", "x", Axis("y", 0.0, 1.0), []))


def test_markers_are_distinct_shapes_around_their_centre() -> None:
    drawn = [marker(style.marker, 10, 10, 4) for style in STYLES.values()]
    assert len(set(drawn)) == 8
    for shape in drawn[1:]:
        corners = [tuple(map(float, pair.split(","))) for pair in re.findall(r"[\d.]+,[\d.]+", shape)]
        assert all(abs(x - 10) < 6 and abs(y - 10) < 6 for x, y in corners)


def test_a_legend_is_a_list_with_a_sample_each() -> None:
    entries = [LegendEntry("RNN & co", "line and point", STYLES["rnn"]), LegendEntry("log 4", "level")]
    listing = ElementTree.fromstring(legend(entries))
    assert ["".join(item.itertext()).strip() for item in listing] == ["RNN & coRNN & co", "log 4"]
    assert len(list(listing.iter("svg"))) == 2
