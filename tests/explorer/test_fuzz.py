"""Whatever is asked, the server answers with a page or one line, and never with a fault of its own."""

import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from clew.explorer.application import make_application
from clew.explorer.edits.parsing import KINDS
from clew.explorer.guard import Access
from clew.explorer.studio import Studio
from clew.explorer.views import VIEWS

ACCESS = Access("t", 8800)
NAMES = [view.name for view in VIEWS]
MODELS = ["worked", "rnn", "gru", "lstm", "transformer", "scalar"]
QUIET = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
Pair = tuple[str, str]
ODD = st.sampled_from(
    ["", " ", "-1", "0", "1", "99999999999999999999", "1e999", "nan", "inf", "0.0", "0.0.0.0.0", "..", ".", "²", "٣",
     "\0", "\n", "a" * 400, "é", "\U0001f600", "%", "=", ":", "'", '"', "<b>", "../../etc/passwd", "*", "[", "encoder",
     "head.linear.weight", "-0", "+1", "1_0", "0x1", "None", "True"]
)  # fmt: skip


@cache
def client() -> TestClient:
    made = TestClient(make_application(Studio(), ACCESS), base_url="http://127.0.0.1:8800", follow_redirects=True)
    made.cookies.set(ACCESS.cookie, ACCESS.token)
    return made


def ask(path: str, query: str = "") -> int:
    answer = client().get(f"http://127.0.0.1:8800{path}{f'?{query}' if query else ''}")
    assert answer.status_code in (200, 303, 400, 403, 404, 413), (path, query, answer.status_code)
    assert "Traceback" not in answer.text
    if answer.status_code in (400, 404) and path.strip("/") in NAMES:
        assert re.search(r'<p class="note fault">[^<]+</p>', answer.text)
    return answer.status_code


class Offered(HTMLParser):
    """Collects every parameter that the links, fields and buttons of a page can send."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: set[Pair] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "a" and (names.get("href") or "").startswith("/"):
            self.pairs |= set(parse_qsl(urlsplit(names["href"] or "").query))
        if tag in ("input", "button", "select") and names.get("name"):
            self.pairs.add((names["name"] or "", names.get("value") or "1"))


@cache
def offered() -> list[Pair]:
    """Everything that the pages of a few models offer, a few values a name; the same in every run."""
    found: set[Pair] = set()
    for name in NAMES:
        for model in ("worked", "lstm", "scalar"):
            page = Offered()
            page.feed(client().get(f"/{name}?model={model}").text)
            found |= page.pairs
    values: dict[str, list[str]] = {}
    for parameter, value in sorted(found):
        values.setdefault(parameter, []).append(value)
    return [(name, value) for name, own in values.items() for value in own[:: max(1, len(own) // 8)]]


@QUIET
@given(st.data())
def test_what_pages_offer_can_be_mixed_at_will(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(offered()), max_size=5))
    spoiled = [(name, data.draw(ODD) if data.draw(st.booleans()) else value) for name, value in chosen]
    unique = {name: value for name, value in spoiled if name not in ("was", "model")}
    query = [("model", data.draw(st.sampled_from(MODELS))), *unique.items()]
    ask(f"/{data.draw(st.sampled_from(NAMES))}", urlencode(query))


@QUIET
@given(st.data())
def test_edits_may_be_anything(data: st.DataObject) -> None:
    places = st.sampled_from(["0", "1.2", "3.3", "99", "encoder.recurrent.0.weight_hh.0.0", "head.linear.bias.1", ""])
    values = st.sampled_from(
        ["miles", "full", "causal", "window-1", "window-99", "relu", "tanh", "post", "pre", "1", "5"]
    )
    edits = [
        f"{data.draw(st.sampled_from([*KINDS, 'x']))}:{data.draw(places | ODD)}={data.draw(values | ODD)}"[:200]
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    query = [("model", data.draw(st.sampled_from(MODELS))), *(("edit", edit.replace(":=", "=")) for edit in edits)]
    ask(f"/{data.draw(st.sampled_from(NAMES))}", urlencode(query))


@QUIET
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.sampled_from(MODELS), st.integers(0, 3))
def test_a_text_may_be_anything(text: str, model: str, row: int) -> None:
    ask("/way", urlencode([("model", model), ("text", text), ("row", str(row))]))


@QUIET
@given(st.binary(max_size=60), st.binary(max_size=120))
def test_bytes_in_an_address_do_no_harm(path: bytes, query: bytes) -> None:
    ask(f"/{quote(path)}", quote(query, safe="=&+%;?"))
    ask("/way", quote(query, safe="=&+%;?"))


@QUIET
@given(st.lists(st.tuples(st.text("modeltxrwi:-_.é", max_size=12), st.text(max_size=20)), max_size=60))
def test_parameters_may_be_anything(query: list[Pair]) -> None:
    ask("/way", urlencode(query, errors="replace"))


@pytest.mark.parametrize("header", ["host", "cookie", "accept", "hx-request", "hx-current-url", "range"])
@settings(deadline=None, max_examples=20)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
def test_headers_may_be_anything(header: str, value: str) -> None:
    answer = client().get("/static/icon.svg", headers={header: value})
    assert answer.status_code in (200, 403)
