"""Maps of cells: every cell where its steps are, signs that do without colour, round ticks."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from clew.rendering.cell_maps import CellKind, Edges, MapCell, cell_map

BAD, GOOD, SKIPPED = (
    CellKind("bad", "hatch", "heat-d16"),
    CellKind("good", "", "heat-s9"),
    CellKind("left out", "dash", "heat-hidden"),
)
KEY = [(BAD, ["heat-d16", "heat-d20"]), (GOOD, []), (SKIPPED, [])]


def drawn(size: int, cells: int, kind: CellKind = GOOD, **details: Any) -> ElementTree.Element:
    starts = [*range(0, size, size // cells), size]
    filled = [[MapCell(kind, kind.css_class, f"{row}, {column}") for column in range(cells)] for row in range(cells)]
    return ElementTree.fromstring(
        cell_map("Map", filled, Edges("outputs", starts), Edges("sources", starts), KEY, **details)
    )


def boxes(svg: ElementTree.Element) -> list[dict[str, float]]:
    group = next(group for group in svg.iter("g") if group.get("class") == "cells")
    return [{name: float(rect.get(name, "")) for name in ("x", "y", "width", "height")} for rect in group.iter("rect")]


def ticks(svg: ElementTree.Element, anchor: str) -> list[int]:
    return [
        int(text.text or "")
        for text in svg.iter("text")
        if text.get("class") == "tick" and text.get("text-anchor") == anchor
    ]


@pytest.mark.parametrize(("size", "cells"), [(4, 4), (256, 16), (4096, 64)])
def test_cells_tile_an_area_of_bounded_size(size: int, cells: int) -> None:
    found = boxes(drawn(size, cells))
    assert len(found) == cells**2
    side = max(box["x"] + box["width"] for box in found) - min(box["x"] for box in found)
    assert side <= 417
    assert sum(box["width"] * box["height"] for box in found) == pytest.approx(side**2, rel=0.01)


def test_every_cell_of_a_small_map_names_itself() -> None:
    assert {title.text for title in drawn(4, 4).iter("title")} == {f"{a}, {b}" for a in range(4) for b in range(4)}
    assert not list(drawn(4096, 64).iter("title"))


@pytest.mark.parametrize("size", [4, 40, 256, 4096])
def test_ticks_are_round_and_apart(size: int) -> None:
    steps = ticks(drawn(size, 4), "middle")
    gaps = {second - first for first, second in pairwise(steps)}
    assert steps[0] == 0 and steps[-1] < size and len(gaps) == 1
    assert re.fullmatch(r"[125]0*", str(gaps.pop())) and 2 <= len(steps) <= 12


def test_a_hatching_runs_through_neighbouring_cells_and_stays_inside() -> None:
    svg = drawn(4, 2, BAD)
    strokes = [path.get("d", "") for path in svg.iter("path") if path.get("class") == "hatch"]
    box = boxes(svg)[0]
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", strokes[0])]
    assert len({round(x + y) for x, y in points}) == len(points) // 2 > 3
    assert all(box["x"] - 0.01 <= x <= box["x"] + box["width"] + 0.01 for x, _ in points)
    assert all(box["y"] - 0.01 <= y <= box["y"] + box["height"] + 0.01 for _, y in points)


def test_the_ring_is_around_the_cell_that_holds_the_step() -> None:
    svg = drawn(8, 4, ring=(5, 2), ring_words="here", region=[(0, 0, 8, 8)], region_words="line")
    ring = next(circle for circle in svg.iter("circle") if circle.get("class") == "ring")
    box = boxes(svg)[2 * 4 + 1]
    assert float(ring.get("cx", "")) == pytest.approx(box["x"] + box["width"] / 2, abs=0.01)
    assert float(ring.get("cy", "")) == pytest.approx(box["y"] + box["height"] / 2, abs=0.01)
    words = [text.text for text in svg.iter("text") if text.get("class") == "key"]
    assert words == ["bad", "good", "left out", "line", "here"]
