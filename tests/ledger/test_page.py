"""The ledger as a page: whole in itself, windowed where it is large, and plain about what is not a number."""

import re
from html.parser import HTMLParser
from pathlib import Path

import torch

from clew.ledger import Described, Quantity
from clew.ledger.page import ledger_page
from ledger.recorded import recorded

TOKENS = ["a", "journey", "of", "a", "thousand", "miles"]


def made(value: torch.Tensor, hidden: torch.Tensor | None = None) -> Quantity:
    rules = {} if hidden is None else {"causal": hidden}
    return Quantity("layer.weights", value, Described(("query", "source"), "A = B", "a paper", "a variant"), rules)


class Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.identifiers: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.identifiers += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if "href" in found else []


def test_every_quantity_is_on_the_page_and_every_link_leads_to_one() -> None:
    for preset in ("lstm", "transformer"):
        ledger = recorded(preset)
        anchors = Anchors()
        anchors.feed(ledger.to_html())
        assert len(set(anchors.identifiers)) == len(anchors.identifiers)
        assert {link[1:] for link in anchors.links} <= set(anchors.identifiers)
        assert {name.replace(".", "-") for name in ledger} <= set(anchors.identifiers)


def test_the_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    page = recorded("gru").to_html(tmp_path / "ledger.html", row=1)
    assert (tmp_path / "ledger.html").read_text() == page
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|style=|https?://(?!www\.w3\.org)", page)
    assert "row 1 of 2 in the batch is shown" in page


def test_a_quantity_has_equation_shape_variant_and_source() -> None:
    page = ledger_page([made(torch.zeros(2, 3))])
    equation = '<math alttext="A = B"><mrow><mi>A</mi><mo>=</mo><mi>B</mi></mrow></math>'
    assert f"{equation}. Shape: query 2, source 3. Variant: a variant. Source: a paper." in page


def test_what_is_not_a_number_looks_different_from_zero() -> None:
    value = torch.tensor([[0.0, float("nan"), float("inf"), -float("inf"), 0.25]])
    page = ledger_page([made(value, torch.tensor([[False, False, False, False, True]]))])
    cells = dict(re.findall(r'<td class="right (heat-\w+)">([^<]*)</td>', page))
    assert cells["heat-nan"] == "NaN" and cells["heat-hidden"] == "hidden" and cells["heat-inf"] in ("∞", "-∞")
    assert "0" in cells.values()
    assert "hidden: by causal" in page and "Sensitivity: not computed, no backward pass has run." in page


def test_large_matrices_are_windowed_and_say_so() -> None:
    page = ledger_page([made(torch.arange(50.0 * 20.0).reshape(50, 20))])
    assert "query 16 to 33 of 50 are cut" in page and "source 6 to 13 of 20 are cut" in page


def test_words_of_the_text_head_the_rows() -> None:
    ledger = recorded("transformer")
    page = ledger_page(ledger.quantities(), ledger.distances, 0, TOKENS)
    assert '<th scope="row" class="left">1 journey</th>' in page
    assert '<th scope="col" class="right">4 thousand</th>' in page


def test_a_text_cannot_bring_markup_along() -> None:
    page = ledger_page([made(torch.zeros(2, 2))], tokens=["<script>", "b"])
    assert "<script" not in page


def test_a_notebook_shows_the_table_of_quantities() -> None:
    assert "Quantities in the order of computation" in recorded("rnn")._repr_html_()
