"""What holds on every view: accessible, within the screen, closed to the outside, usable without scripts or motion."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from explorer.browser.conftest import Explored, Visitor

VIEWS = {
    "way": "/way?model=worked&quantity=encoder.blocks.0.attention.weights&cell=0.2.1",
    "way of a recurrent model": "/way?model=lstm&quantity=encoder.recurrent.0.state&cell=2.1",
    "attention": "/attention?model=worked&query=3&cell=0.3.1&edit=hide%3A3.1&parts=1",
    "recurrence": "/recurrence?model=lstm&step=2",
    "scalar recurrence": "/recurrence?model=scalar",
    "change": "/change?model=worked&edit=token%3A3%3Dmiles&edit=activation%3Dtanh&beside=transformer&step=2",
    "run": "/run?model=run",
    "audit": "/audit?model=worked&edit=visible%3Dfull",
    "keep": "/keep?model=worked&of=attention&query=3&edit=hide%3A3.1",
    "a fault": "/way?model=nothing",
}
LOOKS = (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390))
USUAL_LOOKS = (("light", 1280), ("dark", 390))
"""Each scheme and each width once: the other two are looked at by `make test-slow`."""
SERIOUS = ("serious", "critical")
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def with_run(explore: Callable[..., Explored], recall_run: Path) -> Explored:
    return explore(str(recall_run))


def serious_findings(page: Any) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("looks", [USUAL_LOOKS, pytest.param(LOOKS, marks=pytest.mark.slow)], ids=["usual", "all"])
@pytest.mark.parametrize("name", list(VIEWS))
def test_a_view_has_no_serious_finding_of_axe_and_fits_the_screen(
    visit: Callable[..., Visitor], with_run: Explored, name: str, looks: tuple[tuple[str, int], ...]
) -> None:
    visitor, wrong = visit(VIEWS[name], at=with_run), []
    for scheme, width in looks:
        visitor.page.emulate_media(color_scheme=scheme)
        visitor.page.set_viewport_size({"width": width, "height": 900})
        wrong += [f"{scheme}, {width}: {finding}" for finding in serious_findings(visitor.page)]
        if over := visitor.page.evaluate(OVERFLOW):
            wrong.append(f"{scheme}, {width}: {over} pixels wider than the screen")
    if name == "a fault":
        visitor.faults.clear()  # the browser says in the console that the page was a 404
    assert wrong == []


@pytest.mark.parametrize("name", ["way", "attention", "recurrence", "change", "keep"])
def test_headings_are_in_order_and_identifiers_are_unique(visit: Callable[..., Visitor], name: str) -> None:
    visitor = visit(VIEWS[name])
    levels = visitor.page.locator("h1, h2, h3, h4, h5").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    identifiers = visitor.page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert sorted(identifiers) == sorted(set(identifiers))


def test_every_view_works_without_scripts(visit: Callable[..., Visitor]) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.page.get_by_role("link", name="weights", exact=True).first.click()
    visitor.page.get_by_role("button", name="0.233", exact=True).click()
    expect(visitor.page.locator("#way-arithmetic")).to_contain_text("0.233")
    visitor.page.get_by_role("link", name="Change and compare", exact=True).click()
    visitor.page.get_by_role("link", name="3 a", exact=True).click()
    visitor.page.get_by_label("Read instead", exact=True).select_option("miles")
    visitor.page.locator("form").filter(has_text="Read instead").get_by_role("button").click()
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_contain_text("word 3: a → miles")
    visitor.page.get_by_label("Model", exact=True).select_option("scalar")
    visitor.page.get_by_role("button", name="Show", exact=True).first.click()
    expect(visitor.page.locator("header").first).to_contain_text("scalar RNN")
    visitor.page.get_by_role("link", name="Recurrence", exact=True).click()
    slider = visitor.page.locator("#slider-w-h")
    slider.focus()
    slider.press("ArrowRight")
    visitor.page.locator("#slider-w-h-set").click()
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_contain_text("0.91")


def test_the_back_button_goes_back_view_by_view(visitor: Visitor) -> None:
    page, start = visitor.page, visitor.page.url
    page.get_by_role("link", name="weights", exact=True).first.click()
    expect(page.get_by_role("heading", name="Block 0, attention: weights")).to_be_visible()
    opened = page.url
    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Attention")
    page.go_back()
    expect(page.get_by_role("heading", name="Block 0, attention: weights")).to_be_visible()
    assert page.url == opened
    page.go_back()
    expect(page.get_by_role("heading", name="Block 0, attention: weights")).to_have_count(0)
    assert page.url == start
    page.go_forward()
    expect(page.get_by_role("heading", name="Block 0, attention: weights")).to_be_visible()


def test_two_pages_do_not_disturb_each_other(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/attention?model=worked&query=3")
    first, second = visitor.page, visitor.page.context.new_page()
    second.goto(visitor.explored.url + "/attention?model=gru")
    second.goto(visitor.explored.url + "/attention?model=transformer&edit=visible%3Dfull")
    text = first.locator("#view").inner_text()
    first.reload()
    assert first.locator("#view").inner_text() == text
    assert "Edits" not in first.locator("header").first.inner_text()
    first.get_by_label("3 a may not read").select_option("1 journey")
    first.get_by_role("button", name="Hide", exact=True).click()
    expect(first.get_by_role("region", name="Edits", exact=True)).to_be_visible()
    shown = second.locator("#view").inner_text()
    second.reload()
    assert second.locator("#view").inner_text() == shown


def test_nothing_moves_for_a_reader_who_asked_for_no_motion(visit: Callable[..., Visitor]) -> None:
    visitor = visit(VIEWS["change"], reduced_motion="reduce")
    moving = """all => all.filter(one => { const look = getComputedStyle(one);
        return look.animationName !== "none" || look.transitionDuration.split(",").some(time => parseFloat(time) > 0)
            || look.scrollBehavior === "smooth"; }).map(one => one.outerHTML.slice(0, 80))"""
    assert visitor.page.locator("html, body *").evaluate_all(moving) == []


def test_the_policy_lets_no_script_style_or_request_in(visitor: Visitor) -> None:
    page = visitor.page
    tried = page.evaluate("""async () => {
        const tag = document.createElement("script"); tag.textContent = "window.hacked = 1"; document.body.append(tag);
        document.querySelector("h1").setAttribute("style", "color: rgb(1, 2, 3)");
        const asked = await fetch("http://127.0.0.2:9/").then(() => "let out", () => "held back");
        return [window.hacked ?? "held back", getComputedStyle(document.querySelector("h1")).color, asked];
    }""")
    assert tried[0] == tried[2] == "held back" and tried[1] != "rgb(1, 2, 3)"
    assert visitor.faults and all("Content Security Policy" in fault for fault in visitor.faults)
    visitor.faults.clear()


def test_a_text_with_markup_stays_a_text(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.page.get_by_label("Model", exact=True).select_option("gru")
    text = '<b>bold</b> <script>alert(1)</script> & "quotes"'
    visitor.page.get_by_label("Text that it reads").fill(text)
    visitor.page.get_by_role("button", name="Show", exact=True).first.click()
    expect(visitor.page.locator("#view")).to_contain_text("bold")
    expect(visitor.page.get_by_label("Text that it reads")).to_have_value(text)
    assert visitor.page.locator("#page b, #page script").count() == 0


def test_a_wrong_request_is_a_page_with_a_way_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/way?model=worked&text=unknown+words")
    expect(visitor.page.locator(".fault")).to_contain_text("unknown")
    visitor.page.get_by_role("link", name="Read what this model reads by default").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("The whole way")
    visitor.faults.clear()  # the browser says in the console that the page was a 400
