"""A table is a real table in HTML, and the same rows in a terminal."""

import io
import re
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

from clew.rendering.tables import Cell, Column, Group, Table, table_html
from clew.rendering.terminal_tables import print_table, table_text


@pytest.fixture
def table() -> Table:
    columns = [Column("Recipe", "left"), Column("Accuracy", note="fraction"), Column("Words", "left", wraps=True)]
    first = [["[red]a<b", Cell(("0.5",), "strong"), "solved"], ["c", Cell(("failed: <why>",), "bad", span=2)]]
    second = [["d", "1", Cell(("one", "two"), css_class="heat-s3")]]
    return Table("Caption & all", columns, [Group(first, "Delay 8"), Group(second)], ["a note"])


def parse(table: Table) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{str(table_html(table)).replace('<br>', '<br/>')}</div>")


def test_headers_have_a_scope_and_the_caption_names_the_box(table: Table) -> None:
    page = parse(table)
    assert [header.attrib["scope"] for header in page.iter("th")] == ["col"] * 3 + ["rowgroup", "row", "row", "row"]
    box = page.find("div")
    assert box is not None and box.attrib == {
        "class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Caption & all"
    }  # fmt: skip
    assert [child.tag for child in next(page.iter("table"))] == ["caption", "thead", "tbody", "tbody"]


def test_cells_keep_their_text_tone_span_and_alignment(table: Table) -> None:
    page = parse(table)
    cells = [("".join(cell.itertext()), cell.attrib) for cell in page.iter("td")]
    assert cells == [
        ("0.5", {"class": "right strong"}),
        ("solved", {"class": "left prose"}),
        ("failed: <why>", {"class": "left prose bad", "colspan": "2"}),
        ("1", {"class": "right"}),
        ("onetwo", {"class": "left prose heat-s3"}),
    ]
    assert "style" not in {name for node in page.iter() for name in node.attrib}


def test_notes_stand_below_the_table(table: Table) -> None:
    assert ["".join(note.itertext()) for note in parse(table).iter("li")] == ["Accuracy: fraction", "a note"]


def test_a_row_that_does_not_fit_is_our_own_fault() -> None:
    with pytest.raises(AssertionError, match="1 cells for 2 columns"):
        Table("Caption", [Column("a"), Column("b")], [Group([["only one"]])])


@pytest.mark.parametrize("plain", [True, False])
def test_a_terminal_shows_the_same_words(table: Table, plain: bool) -> None:
    stream = io.StringIO()
    Console(file=stream, width=60, force_terminal=not plain).print(table_text(table, plain))
    shown = stream.getvalue()
    assert all(words in shown for words in ("[red]a<b", "0.5", "Delay 8", "failed:", "one", "two"))
    assert ("\x1b" in shown) != plain


@pytest.mark.parametrize("width", [40, 60, 200])
@pytest.mark.parametrize("plain", [True, False])
def test_no_digit_is_cut_off_whatever_the_width(plain: bool, width: int) -> None:
    columns = [Column("Recipe", "left"), Column("One step error"), Column("Each seed", "left"), Column("Parameters")]
    rows = [["lstm", "138.1 ± 3.317", "141.7  135.2  137.3", "10,609"], ["transformer", "149.8", "", "56,977"]]
    stream = io.StringIO()
    print_table(Console(file=stream, width=width, force_terminal=not plain), Table("Errors", columns, [Group(rows)]))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    if plain or width == 200:
        assert all(cell in shown for row in rows for cell in row)
    for digit in "0123456789":
        assert shown.count(digit) == sum(cell.count(digit) for row in rows for cell in row)
