"""The page shell is self-contained, allows only its own style, and has an order of headings."""

import base64
import hashlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from markupsafe import Markup

from clew.rendering.axes import Axis
from clew.rendering.charts import line_chart
from clew.rendering.colours import BACKGROUND
from clew.rendering.page import (
    Section,
    banner,
    bullets,
    definitions,
    figure,
    paragraph,
    render_page,
    standalone_svg,
    stylesheet,
    subsection,
)

PAGE = render_page(
    "A & B",
    paragraph("lead <1>"),
    [Section("First", "first", subsection("Inner")), Section("Second", "second", bullets(["x", "y"]))],
    "made by hand",
)


def test_the_policy_allows_exactly_the_style_of_the_page() -> None:
    style = re.search(r"<style>(.*)</style>", PAGE, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in PAGE
    assert PAGE.count("<style>") == 1 and "<script" not in PAGE


def test_the_style_needs_nothing_from_outside_and_knows_both_schemes_print_and_motion() -> None:
    style = stylesheet()
    assert not re.search(r"url\(|@import|@font-face|https?:", style)
    for query in ("prefers-color-scheme: dark", "@media print", "prefers-reduced-motion", "max-width"):
        assert query in style
    assert style.count("{") == style.count("}")
    assert all(f"--paper: {colour};" in style for colour in BACKGROUND.values())


def test_every_class_that_is_drawn_has_a_rule() -> None:
    style = stylesheet()
    for name in ("scroll", "notes", "legend", "banner", "panels", "curve", "interval", "mean", "outline", "heat-nan"):
        assert f".{name}" in style


def test_contents_lead_to_the_sections_in_order() -> None:
    assert re.findall(r"<h(\d)[^>]*>([^<]+)<", PAGE) == [
        ("1", "A &amp; B"), ("2", "Contents"), ("2", "First"), ("3", "Inner"), ("2", "Second")
    ]  # fmt: skip
    assert re.findall(r'<a href="#(\w+)"', PAGE) == ["first", "second"]
    assert '<html lang="en">' in PAGE and "lead &lt;1&gt;" in PAGE and "<title>A &amp; B</title>" in PAGE


def test_small_parts_escape_what_they_hold() -> None:
    parts = [banner("<t>", ["<i>"], "<l>"), definitions([("<t>", "<w>")]), figure(Markup("<svg></svg>"), "<c>")]
    for part in parts:
        ElementTree.fromstring(part)
    assert not any("<t>" in part or "<c>" in part for part in parts)


def test_a_picture_can_stand_alone() -> None:
    picture = standalone_svg(line_chart("T", Axis("x", 0, 1), Axis("y", 0, 1), []))
    parsed = ElementTree.fromstring(picture)
    assert parsed.tag == "{http://www.w3.org/2000/svg}svg"
    assert "--paper" in (parsed[0].text or "")


def test_pages_are_made_without_torch_and_matplotlib() -> None:
    code = "import sys, clew.report.recall; print(sorted({'torch', 'matplotlib', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "[]\n"
