"""A ledger within a notebook, in a real browser: neither style reaches the other, and nothing leaves the frame."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from explorer.browser.conftest import Visitor
from ledger.recorded import recorded

NOTEBOOK = """<!DOCTYPE html><html lang="en"><head><title>Notebook</title>
<style>td {{ color: rgb(1, 2, 3); }} h1 {{ color: rgb(4, 5, 6); }}</style></head>
<body><h1 id="all-quantities">Cell 1</h1><table><tr><td>mine</td></tr></table>{output}</body></html>"""
COLOUR = "one => getComputedStyle(one).color"


def test_styles_do_not_mix_and_links_stay_within_the_frame(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(NOTEBOOK.format(output=recorded("gru")._repr_html_()), encoding="utf-8")
    visitor = visit(enters=False)
    visitor.page.goto(notebook.as_uri())
    frame = visitor.page.frame_locator("iframe")
    expect(frame.get_by_role("heading", level=1)).to_have_text("Ledger")
    assert frame.locator("td").first.evaluate(COLOUR) != "rgb(1, 2, 3)"
    assert visitor.page.locator("body > table td").evaluate(COLOUR) == "rgb(1, 2, 3)"
    assert visitor.page.locator("body > h1").evaluate(COLOUR) == "rgb(4, 5, 6)"
    frame.get_by_role("link", name="update_gate", exact=True).click()
    expect(frame.locator("#encoder-recurrent-0-update_gate")).to_be_in_viewport()
    expect(frame.get_by_role("heading", level=1)).to_have_text("Ledger")
    assert visitor.page.url == notebook.as_uri() and len(visitor.requests) == 1
    # The browser says so of the looks that this test takes into the frame; the page itself has no script.
    visitor.faults = [fault for fault in visitor.faults if "sandboxed" not in fault]


def test_a_script_in_a_framed_page_does_not_run(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    from clew.rendering.notebook import framed

    notebook = tmp_path / "notebook.html"
    page = "<html><head></head><body><p>Here</p><script>parent.document.title = 'taken'</script></body></html>"
    notebook.write_text(NOTEBOOK.format(output=framed(page, "T")), encoding="utf-8")
    visitor = visit(enters=False)
    visitor.page.goto(notebook.as_uri())
    expect(visitor.page.frame_locator("iframe").get_by_text("Here")).to_be_visible()
    assert visitor.page.title() == "Notebook"
    assert visitor.faults and all("sandbox" in fault for fault in visitor.faults)
    visitor.faults.clear()
