"""Text never becomes markup, markup stays markup, and what is written is valid XML."""

import xml.etree.ElementTree as ElementTree

from markupsafe import Markup

from clew.rendering.markup import element, joined


def test_text_and_attributes_are_escaped() -> None:
    hostile = "\"><script>alert('x')</script>&"
    written = element("p", {"title": hostile}, hostile)
    assert "<script" not in written
    parsed = ElementTree.fromstring(written)
    assert parsed.attrib["title"] == hostile and parsed.text == hostile


def test_markup_inside_is_kept_and_none_is_left_out() -> None:
    assert element("p", {"class": None, "id": "a"}, Markup("<b>x</b>"), "<") == '<p id="a"><b>x</b>&lt;</p>'


def test_control_characters_do_not_break_the_page() -> None:
    assert (
        ElementTree.fromstring(element("p", {"title": "\x00\x1b"}, "a\x08b\n")).text == "a\N{REPLACEMENT CHARACTER}b\n"
    )


def test_numbers_in_attributes_are_short_and_never_in_powers_of_ten() -> None:
    written = element("rect", {"x": 1234567.0, "y": 0.00001, "width": 10, "height": 0.125})
    assert written == '<rect x="1234567" y="0" width="10" height="0.12"/>'


def test_joining_escapes_what_is_no_markup() -> None:
    assert joined(["<", Markup("<br>"), "&"], Markup("<i>")) == "&lt;<i><br><i>&amp;"
