"""The page and the terminal's tables of the worked example."""

import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from clew.errors import RunError
from clew.report.walkthrough import print_walkthrough, walkthrough_page, write_figures, write_walkthrough_page
from clew.walkthrough import Item, build_items
from clew.walkthrough.items import Curve, CurveChart, HeatMap
from clew.walkthrough.rounding import three_digits

IDS = ("pytorch-example", "sensitivity-curves", "gru-mixture", "scalar-columns")


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return [item for name in IDS for item in build_items(name)]


class Links(HTMLParser):
    """Collects what a page points to and what can be pointed to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.identifiers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value for name, value in attrs if name in ("href", "src") and value]
        self.identifiers += [value for name, value in attrs if name == "id" and value]


def test_the_page_is_one_file_whose_links_lead_somewhere_in_it(items: list[Item]) -> None:
    links = Links()
    links.feed(walkthrough_page(items))
    assert all(target.startswith("#") and target[1:] in links.identifiers for target in links.targets)
    assert len(set(links.identifiers)) == len(links.identifiers)
    assert {f"#{item.id}" for item in items} <= set(links.targets)


def test_the_page_keeps_reading_order_and_three_digits(items: list[Item]) -> None:
    page = walkthrough_page(items)
    places = [page.index(f'id="{name}"') for name in ("scalar-columns", "sensitivity-curves", "gru-mixture", IDS[0])]
    assert places == sorted(places)
    assert ">-0.144<" in page
    assert "h<sub>1</sub> = φ(z<sub>1</sub>)" in page
    assert page.count("<svg") >= 2


def test_what_stands_in_an_item_is_text_not_markup() -> None:
    item = Item("an-item", "<b>", "x & y", ["a", "b"], [["<i>", 1.0]], ["<script>"])
    assert "an-item" not in walkthrough_page([item])  # not part of the catalogue, so of no section
    described = Item("gru-mixture", "<b>", "x & y", ["a", "b"], [["<i>", 1.0]], ["<script>"])
    page = walkthrough_page([described])
    assert "<script" not in page
    assert "<i>" not in page
    assert "x &amp; y" in page


def test_a_pipe_gets_plain_tables_within_a_hundred_columns(items: list[Item]) -> None:
    output = StringIO()
    print_walkthrough(items, Console(file=output, width=100, highlight=False))
    text = output.getvalue()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert re.search(r"Formula: PyTorch example\. .* \[pytorch-example\]", text)
    assert re.search(r"h_2 +\| +0\.0384 \| +0\.314", text)


def test_a_wide_table_is_split_between_columns_never_within_a_number() -> None:
    columns = ["Row", *(f"column {place}" for place in range(9))]
    item = Item("gru-mixture", "Title", "Table 0", columns, [["a", *(0.123 + place for place in range(9))]])
    output = StringIO()
    print_walkthrough([item], Console(file=output, width=60, highlight=False))
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert [word for line in lines if line.startswith("a ") for word in line.split(" | ")[1:]] == [
        f"{three_digits(0.123 + place):>8}" for place in range(9)
    ]


def test_every_picture_becomes_a_file(tmp_path: Path, items: list[Item]) -> None:
    names = [path.name for path in write_figures(items, tmp_path)]
    assert names == ["sensitivity-curves-1.svg", "sensitivity-curves-2.svg"]
    assert (tmp_path / names[0]).read_text().startswith("<svg xmlns=")


def test_curves_and_heat_maps_share_an_item() -> None:
    panels = [
        CurveChart("curves", "x", "y", [Curve("one", [(0.0, 1.0), (1.0, 2.0)])]),
        HeatMap("map", [[0.1, "hidden"], [None, 0.9]], ["a", "b"], ["c", "d"], scale="sequential"),
    ]
    item = Item("gru-mixture", "Title", "Figure", ["a"], [["b"]], panels=panels, caption="What it shows.")
    page = walkthrough_page([item])
    assert page.count('class="heat"') == 1
    assert "hidden by the mask" in page
    assert "What it shows." in page


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, items: list[Item]) -> None:
    with pytest.raises(RunError, match="must be writable"):
        write_walkthrough_page(items, tmp_path / "nowhere" / "page.html")
