"""View 7 as a person does it: take the link to another browser, save the file, open it from disk."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from explorer.browser.conftest import Visitor

OPENED = "/attention?model=worked&edit=token%3A1%3Dof&query=3"


def test_the_link_brings_another_browser_to_the_same_view(visit: Callable[..., Visitor]) -> None:
    first, second = visit(OPENED), visit()
    shown = first.page.locator("#view").inner_text()
    first.page.get_by_role("link", name="Take it away").click()
    link = first.page.get_by_label("Address of “Attention” as you left it")
    expect(link).to_have_value(first.explored.url + OPENED)
    expect(link).not_to_be_editable()
    second.page.goto(link.input_value())
    assert second.page.locator("#view").inner_text() == shown
    assert second.page.get_by_role("link", name="Undo: word 1").count() == 1


def test_one_comes_back_to_the_view_that_one_left(visit: Callable[..., Visitor]) -> None:
    visitor = visit(OPENED)
    visitor.page.get_by_role("link", name="Take it away").click()
    visitor.page.get_by_role("link", name="Back to “Attention”").click()
    visitor.page.wait_for_url(visitor.explored.url + OPENED)


def test_the_file_opens_from_disk_with_the_same_numbers_and_no_request(
    visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    visitor = visit(OPENED)
    cells = visitor.page.locator("#view td").all_inner_texts()
    visitor.page.get_by_role("link", name="Take it away").click()
    with visitor.page.expect_download() as coming:
        visitor.page.get_by_role("link", name="Save “Attention”").click()
    saved = tmp_path / coming.value.suggested_filename
    coming.value.save_as(saved)
    assert saved.name == "clew-attention-worked.html"
    reader = visit(enters=False, java_script_enabled=False)
    reader.page.goto(saved.as_uri())
    assert reader.page.locator("main td").all_inner_texts() == cells
    assert reader.requests == [saved.as_uri()]
    assert reader.page.locator("button, input, select, form").count() == 0
    assert "word 1" in reader.page.locator("header").inner_text()
    heading = reader.page.get_by_role("link", name="Who may read whom")
    heading.click()
    assert reader.page.url == f"{saved.as_uri()}#visibility"
