"""The address holds the whole view: it reads back what it writes, and refuses what is malformed."""

from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.explorer import limits
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,10}", fullmatch=True).filter(
    lambda name: name not in ("model", "text", "row") and not name.startswith("edit")
)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
MODELS = st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True)
TEXTS = st.none() | WORDS.filter(lambda words: bool(words.strip()) and "\r\n" not in words)
EDITS = st.lists(WORDS, max_size=5)


def parsed(url: str) -> Address:
    parts = urlsplit(url)
    return Address.parse(parts.path.removeprefix("/"), parse_qsl(parts.query, keep_blank_values=True))


@given(MODELS, TEXTS, st.integers(0, limits.MOST_ROW), EDITS, st.dictionaries(NAMES, WORDS, max_size=4))
def test_an_address_reads_back_what_it_writes(
    model: str, text: str | None, row: int, edits: list[str], shown: dict[str, str]
) -> None:
    address = Address("way", model, text, row, tuple(edits), shown)
    assert parsed(address.url) == address


class Inputs(HTMLParser):
    """Collects the names and values of inputs, as a browser would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given_ = dict(attrs)
        assert (tag, given_["type"]) == ("input", "hidden")
        self.pairs.append((given_["name"] or "", given_["value"] or ""))


def test_a_form_carries_everything_but_what_it_sets() -> None:
    address = Address("way", "gru", 'a "b" <c> & d', 2, ("token:1=<x>", "norm=post"), {"cell": "1.2", "beside": "rnn"})
    inputs = Inputs()
    inputs.feed(address.hidden_inputs("cell"))
    assert inputs.pairs == [pair for pair in address.pairs() if pair[0] != "cell"]
    assert Address.parse("way", [*inputs.pairs, ("cell", "0.0")]) == Address(
        "way", "gru", 'a "b" <c> & d', 2, ("token:1=<x>", "norm=post"), {"beside": "rnn", "cell": "0.0"}
    )


def test_a_link_to_another_view_keeps_what_is_read_and_drops_what_is_open() -> None:
    address = Address("way", "gru", "a b", 1, ("norm=post",), {"cell": "1.2"})
    assert parsed(address.link(view="attention", query=3)) == Address(
        "attention", "gru", "a b", 1, ("norm=post",), {"query": "3"}
    )


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({}, Address("way", "gru", "a b", 1, ("norm=post",), {"cell": "1.2", "head": "0"})),
        ({"cell": None}, Address("way", "gru", "a b", 1, ("norm=post",), {"head": "0"})),
        ({"cell": 0}, Address("way", "gru", "a b", 1, ("norm=post",), {"cell": "0", "head": "0"})),
        ({"drop": ("head", "cell")}, Address("way", "gru", "a b", 1, ("norm=post",), {})),
        ({"view": "way", "head": 1}, Address("way", "gru", "a b", 1, ("norm=post",), {"cell": "1.2", "head": "1"})),
        ({"text": None, "row": 0}, Address("way", "gru", None, 0, ("norm=post",), {"cell": "1.2", "head": "0"})),
        ({"edits": []}, Address("way", "gru", "a b", 1, (), {"cell": "1.2", "head": "0"})),
        ({"model": "rnn"}, Address("way", "rnn", "a b", 1, ("norm=post",), {"cell": "1.2", "head": "0"})),
    ],
)
def test_a_link_changes_what_it_is_told(given_: dict[str, object], expected: Address) -> None:
    address = Address("way", "gru", "a b", 1, ("norm=post",), {"cell": "1.2", "head": "0"})
    assert parsed(address.link(**given_)) == expected  # type: ignore[arg-type]


def test_a_field_adds_an_edit_and_replaces_the_one_of_its_place() -> None:
    query = [("edit", "token:1=a"), ("edit", "norm=post"), ("edit:token:1", "b "), ("edit:token:2", ""), ("edit", "x")]
    assert Address.parse("change", query).edits == ("norm=post", "token:1=b", "x")


def test_lines_as_a_browser_sends_them_are_lines_and_count_once() -> None:
    assert Address.parse("way", [("text", "a b\r\nc\r\n")]) == Address("way", text="a b\nc\n")
    lines = ("a" * 9 + "\r\n") * (limits.MOST_TEXT // 10)
    assert len(Address.parse("way", [("text", lines)]).text or "") == limits.MOST_TEXT


def test_what_is_left_empty_is_what_is_not_given() -> None:
    address = Address.parse("way", [("model", ""), ("text", "  "), ("row", "")])
    assert address == Address("way")


@pytest.mark.parametrize(
    ("query", "status", "line"),
    [
        (
            [("model", "../x")], 400,
            "clew explore: model must be the name of one that is offered, got '../x'.",
        ),
        ([("row", "-1")], 400, "clew explore: row must be a whole number in [0, 999999], got '-1'."),
        ([("row", "1e3")], 400, "clew explore: row must be a whole number in [0, 999999], got '1e3'."),
        ([("row", "²")], 400, "clew explore: row must be a whole number in [0, 999999], got '²'."),
        (
            [("text", "a" * 2001)], 413,
            "clew explore: text must be at most 2000 characters, got 2001. Shorten it.",
        ),
        ([("edit", "x")] * 51, 413, "clew explore: edits must be at most 50, got 51. Undo some."),
        ([("edit", "x" * 201)], 413, "clew explore: edit must be at most 200 characters, got 201. Shorten it."),
        ([("edits", "x")], 400, "clew explore: parameter must be a known one, got 'edits'. Did you mean 'edit'?"),
        ([("Cell", "1")], 400, "clew explore: parameter must be a word of small letters, got 'Cell'."),
        ([("cell", "1"), ("cell", "2")], 400, "clew explore: 'cell' must be given once, got several."),
        ([("cell", "1" * 401)], 413, "clew explore: cell must be at most 400 characters, got 401. Shorten it."),
        (
            [(f"a{number}", "1") for number in range(41)], 413,
            "clew explore: parameters of a view must be at most 40, got 41.",
        ),
    ],
)  # fmt: skip
def test_a_malformed_query_gets_one_line(query: list[tuple[str, str]], status: int, line: str) -> None:
    with pytest.raises(ExplorerError) as caught:
        Address.parse("way", query)
    assert (str(caught.value), caught.value.status) == (line, status)


def test_no_message_repeats_a_long_value() -> None:
    with pytest.raises(ExplorerError) as caught:
        Address.parse("way", [("model", "é" * 5000)])
    assert len(str(caught.value)) < 140
