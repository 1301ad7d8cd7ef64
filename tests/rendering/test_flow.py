"""The way of boxes: real links, labels for eye and ear, and nothing that a strict page would forbid."""

from xml.etree import ElementTree

from markupsafe import Markup

from clew.rendering.flow import Beside, Border, Box, Bypass, Group, Label, Part, Place, flow_html

DOWN, UP = Label("6 × 5", "six times five"), Label("0.12", "norm 0.12", "heat-s4")


def drawn(*parts: Part) -> ElementTree.Element:
    return ElementTree.fromstring(flow_html(parts, "The way"))


def by_class(tree: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in tree.iter() if name in one.get("class", "").split()]


def test_a_box_is_a_link_with_its_note_and_smaller_links_inside() -> None:
    inside = [[Place("query", "/way?q", "box-q"), Place("key", "/way?k", "box-k", is_open=True)]]
    tree = drawn(Box(Place("Attention", "/way?a", "box-a"), "2 heads", inside))
    links = {link.get("id"): link for link in tree.iter("a")}
    assert list(links) == ["box-a", "box-q", "box-k"]
    assert "".join(links["box-a"].itertext()) == "Attention2 heads"
    assert links["box-k"].get("aria-current") == "true" and links["box-q"].get("aria-current") is None
    assert by_class(tree, "flow-box")[0].get("class") == "flow-box open"


def test_a_place_that_does_not_open_is_no_link() -> None:
    assert list(drawn(Box(Place("Image"))).iter("a")) == []


def test_a_border_has_an_arrow_and_a_label_each_way_and_says_them() -> None:
    tree = drawn(Border(DOWN, UP))
    assert [one.get("class") for one in by_class(tree, "flow-arrow")] == ["flow-arrow down", "flow-arrow up"]
    assert ["".join(one.itertext()) for one in by_class(tree, "flow-spoken")] == [
        "down: six times five", "up: norm 0.12",
    ]  # fmt: skip
    assert "heat-s4" in by_class(tree, "flow-label")[1].get("class", "")


def test_what_does_not_come_back_has_no_arrow_up() -> None:
    assert len(by_class(drawn(Border(DOWN, None)), "flow-arrow")) == 1


def test_a_bypass_leads_around_its_parts_and_back() -> None:
    tree = drawn(Bypass([Box(Place("Norm", "/n"))], UP))
    assert [one.get("class") for one in by_class(tree, "flow-rail")] == ["flow-rail down", "flow-rail up"]
    assert "0.12" in "".join(by_class(tree, "flow-rail-label")[0].itertext())
    assert len(by_class(drawn(Bypass([Box(Place("Norm"))], None)), "flow-rail")) == 1


def test_ways_stand_side_by_side_and_groups_have_names() -> None:
    tree = drawn(Group(Place("Layer 0"), [Beside([[Box(Place("Forward"))], [Box(Place("Backward"))]])]))
    assert by_class(tree, "flow-group")[0].get("aria-label") == "Layer 0"
    assert ["".join(way.itertext()) for way in by_class(tree, "flow-way")] == ["Forward", "Backward"]


def test_words_cannot_bring_markup_along_but_a_note_may_be_an_equation() -> None:
    page = flow_html([Box(Place("<script>", "/a"), Markup("<math><mi>x</mi></math>"))], '"><b>')
    assert "<script>" not in page and "<math><mi>x</mi></math>" in page and "<b>" not in page
    assert "style=" not in page and " on" not in page
