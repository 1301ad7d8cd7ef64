"""A heat map shows each value in its cell, tells apart what is no number, and says what it leaves out."""

import xml.etree.ElementTree as ElementTree

from clew.rendering.colours import diverging, sequential
from clew.rendering.heat_maps import HeatAxis, heat_map, left_out_words
from clew.rendering.numbers import Value


def cells_of(picture: ElementTree.Element) -> list[ElementTree.Element]:
    group = next(node for node in picture.iter("g") if node.attrib.get("class") == "cells")
    return [node for node in group if node.tag == "rect"]


def texts_of(picture: ElementTree.Element) -> list[str]:
    return [node.text or "" for node in picture.iter("text")]


def test_each_value_stands_in_its_row_and_column() -> None:
    values = [[0.0, 0.25, 1.0], [0.5, "hidden", 0.75]]
    rows, columns = (
        HeatAxis("queries", ["q<", "r"], cell=10, highlight=1),
        HeatAxis("sources", ["a", "b", "c"], cell=20),
    )
    picture = ElementTree.fromstring(heat_map("T", values, rows, columns, sequential()))
    cells = cells_of(picture)
    assert [cell.attrib["class"] for cell in cells] == [
        "heat-s0", "heat-s5", "heat-s20", "heat-s10", "heat-hidden", "heat-s15"
    ]  # fmt: skip
    lefts, tops = ([float(cell.attrib[name]) for cell in cells] for name in "xy")
    assert [round(left - lefts[0]) for left in lefts] == [0, 20, 40] * 2
    assert [top - tops[0] for top in tops] == [0] * 3 + [10] * 3
    assert [title.text for title in picture.iter("title")] == [
        "q< 0, a 0: 0", "q< 0, b 1: 0.250", "q< 0, c 2: 1.00", "r 1, a 0: 0.500", "r 1, c 2: 0.750"
    ]  # fmt: skip
    assert {"q<", "r", "a", "b", "c", "hidden by the mask", "0", "0.50", "1.0"} <= set(texts_of(picture))
    assert sum(node.attrib.get("class") == "outline" for node in picture.iter("rect")) == 1


def test_what_is_no_number_differs_by_a_sign_and_in_the_legend() -> None:
    values: list[list[Value]] = [[None, "NaN", "Infinity", "-Infinity", 0.0, "hidden"]]
    axes = HeatAxis("units", ["0"]), HeatAxis("steps", list("abcdef"))
    picture = ElementTree.fromstring(heat_map("T", values, *axes, diverging(values[0])))
    assert len({cell.attrib["class"] for cell in cells_of(picture)}) == 5
    signs = [node.text for node in picture.iter("text") if node.attrib["class"] == "sign" and node.text]
    assert signs[:4] == ["·", "×", "+", "−"]
    words = {"not computed", "NaN", "infinite", "minus infinite", "hidden by the mask"}
    assert words <= set(texts_of(picture))


def test_a_long_axis_is_cut_in_the_middle_and_says_so() -> None:
    values = [[float(column == 99) for column in range(100)]]
    axes = HeatAxis("units", ["0"]), HeatAxis("steps", [f"t{step}" for step in range(100)])
    picture = ElementTree.fromstring(heat_map("T", values, *axes, sequential(), most=10))
    cells = cells_of(picture)
    assert len(cells) == 10 and cells[-1].attrib["class"] == "heat-s20"
    assert "90 of 100 steps left out" in picture.attrib["aria-label"]
    assert {"t4", "…", "t95"} <= set(texts_of(picture)) and "t5" not in texts_of(picture)
    assert left_out_words(100, most=10) == "5 to 94 of 100 are not drawn"
    assert left_out_words(64) == ""


def test_a_large_map_drops_the_names_of_its_cells() -> None:
    values = [[0.5] * 60] * 60
    labels = [str(index) for index in range(60)]
    picture = heat_map("T", values, HeatAxis("rows", labels, step=8), HeatAxis("columns", labels), sequential())
    assert picture.count("<title>") == 0 and picture.count("heat-s10") == 3600 + 1
