"""The keyboard alone leads from the first page to the arithmetic of a cell, and keeps its place there."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from explorer.browser.conftest import Visitor

MOST_TABS = 80
FOCUSED = """() => {
  const at = document.activeElement;
  return [at.tagName, at.id, at.textContent.trim(), at.getAttribute("name") ?? ""];
}"""


def tab_to(page: Any, wanted: Callable[[list[str]], bool]) -> list[str]:
    """Press Tab until the focus is where it is wanted; every stop on the way must be seen to have it."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"the focus on {found} cannot be seen"
        if wanted(found):
            return found
    raise AssertionError("the focus never came there")


def test_tab_enter_and_arrows_lead_from_the_first_page_to_the_arithmetic(visitor: Visitor) -> None:
    page = visitor.page
    tab_to(page, lambda at: at[2] == "Skip to the content")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "view"
    tab_to(page, lambda at: at[2] == "weights")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Block 0, attention: weights")).to_be_visible()
    visitor.settled()
    tab_to(page, lambda at: at[0] == "BUTTON" and at[3] == "cell")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End", "Home", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate(FOCUSED)[1] == "value-0.2.1"
    page.keyboard.press("Enter")
    expect(page.locator("#way-arithmetic")).to_contain_text("0.233")
    visitor.settled()
    expect(page.locator("#value-0\\.2\\.1")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#way-arithmetic")).to_contain_text("0.692")


def test_a_table_is_one_stop(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/way?model=worked&quantity=encoder.blocks.0.attention.weights")
    tab_to(visitor.page, lambda at: at[3] == "cell" and at[1].startswith("value"))
    visitor.page.keyboard.press("Tab")
    assert not visitor.page.evaluate(FOCUSED)[1].startswith("value-")


def test_what_came_up_is_said(visitor: Visitor) -> None:
    visitor.page.get_by_role("link", name="Attention", exact=True).click()
    expect(visitor.page.get_by_role("status").first).to_contain_text("Attention")
