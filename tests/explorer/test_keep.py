"""What is taken away is the exact view: the link leads back to it, the file has its numbers and asks for nothing."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
import torch
from markupsafe import Markup

import clew
from clew.data import Batch
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError
from clew.explorer.keep.inert import inert
from clew.explorer.keep.single_file import single_file
from clew.explorer.keep.view import KEEP, KEPT, NOTEBOOK, kept_view
from clew.explorer.studio import Studio
from clew.explorer.view import MADE, View, way_to
from clew.explorer.views import VIEWS
from clew.models import build
from clew.rendering.page import section_html
from clew.tasks import NextToken
from explorer.conftest import MakeScene, Served
from runs.small_runs import train

LIVE = {"form", "button", "input", "select", "textarea", "script", "iframe", "object", "link", "img", "base"}


class Page(HTMLParser):
    """Reads tags, attributes and the text of cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.is_cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.is_cell = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.is_cell = self.is_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.is_cell:
            self.cells[-1] += data.strip()

    @property
    def identifiers(self) -> list[str]:
        return [given["id"] or "" for _, given in self.tags if "id" in given]


def parsed(link: str) -> Address:
    parts = urlsplit(link)
    return Address.parse(parts.path.strip("/"), parse_qsl(parts.query, keep_blank_values=True))


def had(model: str, scene: MakeScene) -> list[View]:
    return [view for view in KEPT.values() if not view.missing(scene(model))]


def test_every_view_but_this_one_can_be_taken_along() -> None:
    assert list(KEPT.values()) == [view for view in VIEWS if view is not KEEP]


@pytest.mark.parametrize("view", list(KEPT))
def test_the_navigation_takes_along_what_was_opened_and_brings_it_back(view: str) -> None:
    left = Address(view, "gru", "a <b> c", 0, ("token:1=of",), {"cell": "0.1", "layer": "x"})
    kept = parsed(way_to(KEEP, KEPT[view], left))
    assert kept.view == "keep" and kept_view(kept) == (KEPT[view], left)
    assert parsed(way_to(KEPT[view], KEEP, kept)) == left
    other = next(one for one in KEPT.values() if one.name != view)
    assert parsed(way_to(other, KEEP, kept)) == Address(other.name, "gru", "a <b> c", 0, ("token:1=of",))


def test_the_page_gives_the_address_of_exactly_the_view_that_one_left(scene: MakeScene, studio: Studio) -> None:
    here = scene("gru", "a journey of <miles>", 0, ("token:1=of",), "keep", of="way", quantity="head.linear.output")
    page = Page("".join(map(section_html, KEEP.sections(here, studio))))
    field = next(given for tag, given in page.tags if tag == "input")
    expected = Address("way", "gru", "a journey of <miles>", 0, ("token:1=of",), {"quantity": "head.linear.output"})
    assert parsed(field["value"] or "") == expected and field["data-address"] == field["value"]
    assert "readonly" in field and ("label", {"for": field["id"]}) in page.tags
    assert "token=" not in (field["value"] or "")
    assert any(tag == "a" and given.get("href") == field["value"] for tag, given in page.tags)


def test_a_view_that_does_not_exist_or_that_the_model_has_not_is_not_there(scene: MakeScene, studio: Studio) -> None:
    assert KEEP.download is not None
    for of, words in (("atention", "Did you mean 'attention'"), ("keep", "of must be"), ("recurrence", "recurrent")):
        with pytest.raises(ExplorerError, match=words) as caught:
            KEEP.download(scene("transformer", view="keep", of=of), studio)
        assert caught.value.status == 404


@pytest.mark.parametrize("model", ["worked", "lstm", "scalar"])
def test_a_file_has_every_cell_of_the_view_and_nothing_that_asks(model: str, scene: MakeScene, studio: Studio) -> None:
    for view in had(model, scene):
        here = scene(model, view=view.name)
        live = Page("".join(map(section_html, view.sections(here, studio))))
        html = single_file(here, studio, view)
        page = Page(html)
        style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
        assert style is not None
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        assert f"default-src 'none'; style-src 'sha256-{digest}'" in html
        assert page.cells == live.cells
        assert not LIVE & {tag for tag, _ in page.tags}
        for tag, given in page.tags:
            assert not any(name.startswith(("on", "hx-")) or name in ("style", "src", "action") for name in given), tag
            link = given.get("href")
            assert link is None or (link.startswith("#") and link[1:] in page.identifiers), (tag, link)
        assert len(page.identifiers) == len(set(page.identifiers))
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org|127\.0\.0\.1)", style[1])


def test_a_file_says_what_was_read_by_what_and_with_which_edits(scene: MakeScene, studio: Studio) -> None:
    here = scene("gru", "a journey of a thousand <miles>", edits=("token:1=of",))
    html = single_file(here, studio, KEPT["way"])
    for words in ("GRU, untrained", "a of of a thousand", "journey", "next-token loss", "/way?model=gru&amp;text="):
        assert words in html
    assert "<miles>" not in html and "checked against what ran" in html


def test_a_file_says_where_its_numbers_came_from(scene: MakeScene, studio: Studio) -> None:
    assert f"{MADE}. " in single_file(scene("gru"), studio, KEPT["way"])
    audit = single_file(scene("gru", "a b c", view="audit"), studio, KEPT["audit"])
    assert KEPT["audit"].made in audit and MADE not in audit


def test_a_download_is_an_attachment_with_a_telling_name(served: Served) -> None:
    opener = build_opener(HTTPCookieProcessor())
    opener.open(served.entrance).read()
    with opener.open(f"{served.url}/keep/file?model=worked&of=attention&query=3") as answer:
        assert answer.headers["Content-Disposition"] == 'attachment; filename="clew-attention-worked.html"'
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.read().decode().startswith('<!DOCTYPE html>\n<html lang="en">')


@pytest.mark.parametrize(
    ("live", "left"),
    [
        ('<p>1 &lt; 2 &amp; <b>3</b><br>4&#39;</p>', '<p>1 &lt; 2 &amp; <b>3</b><br>4&#39;</p>'),
        ('<table><td class="h"><button name="cell" value="1" class="x" aria-label="y">0.5</button></td></table>',
         '<table><td class="h"><span class="x cell-text">0.5</span></td></table>'),
        ('<form action="/way"><input type="hidden" name="a"></input><button>Go</button></form><p>x</p>', "<p>x</p>"),
        ('<p><a href="/way?model=gru" class="box">GRU</a></p>', '<p><a class="box">GRU</a></p>'),
        ('<h3 id="x">X</h3><a id="to" href="#x">X</a>', '<h3 id="x">X</h3><a id="to" href="#x">X</a>'),
        ('<a href="#elsewhere">X</a>', "<a>X</a>"),
        ('<label for="q">Query</label> <select id="q" name="q"><option>1</option><option selected>2</option></select>',
         '<span>Query</span> <span class="chosen">2</span>'),
        ('<input type="range" name="w" value="0.5" min="0">', '<span class="chosen">0.5</span>'),
        ('<button name="s" aria-pressed="true">a</button><button name="s" aria-pressed="false">b</button>',
         '<span class="chosen">a</span>'),
        ('<ul><li><a href="/x" aria-current="true">a</a></li><li><a href="/y">b</a></li></ul>',
         '<ul><li><a class="chosen">a</a></li></ul>'),
        ('<form><label>New value <input name="edit:value:1" value="3"></label><button>Change</button></form>', ""),
        ('<form><button name="edit" value="hide:1.0">0.3</button><table><td>1</td></table></form>',
         '<div><table><td>1</td></table></div>'),
        ('<div data-live=""><p>Only here.</p></div><p hx-get="/x" onclick="y()" data-z="1">a</p>', "<p>a</p>"),
        ('<svg viewBox="0 0 1 1" role="img"><a href="/x"><rect width="1" class="b"/></a></svg>',
         '<svg viewBox="0 0 1 1" role="img"><a><rect width="1" class="b"/></a></svg>'),
        ('<div class="scroll" tabindex="0" role="region" aria-label="T"><p tabindex="-1">x</p></div>',
         '<div class="scroll" tabindex="0" role="region" aria-label="T"><p>x</p></div>'),
        ('<p title="a &quot;b&quot;">x</p><script>alert(1)</script>', '<p title="a &#34;b&#34;">x</p>'),
    ],
)  # fmt: skip
def test_controls_go_and_content_stays(live: str, left: str) -> None:
    assert inert(Markup(live)) == left


def test_the_lines_for_a_notebook_run_as_written(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train("classification", tmp_path / "runs" / "mine")
    model = build("transformer", vocab=7, outputs=7, hidden=8, heads=2, causal=True)
    inputs = torch.tensor([[0, 1, 2, 0, 3, 4, 5]])
    given = {"model": model, "task": NextToken(7), "batch": Batch(inputs), "inputs": inputs}
    for line in NOTEBOOK.split("\n\n")[-1].splitlines():
        names = dict(given)
        exec("\n\n".join(NOTEBOOK.split("\n\n")[:2]), names)
        assert "<iframe" in eval(line, names)._repr_html_()
    assert clew.__version__
