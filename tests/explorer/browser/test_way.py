"""View 1 as a person does it: from the first page to a box, to a cell, to the numbers that made it."""

import math
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from explorer.browser import twins
from explorer.browser.conftest import Visitor
from explorer.browser.reading import number, rows_of, says, wrong_cells

WEIGHTS = "encoder.blocks.0.attention.weights"


def test_the_first_page_leads_through_box_and_cell_to_the_arithmetic(visitor: Visitor) -> None:
    page = visitor.page
    expect(page.get_by_role("heading", level=1)).to_have_text("The whole way")
    page.get_by_role("link", name="weights", exact=True).first.click()
    expect(page.get_by_role("heading", name="Block 0, attention: weights")).to_be_visible()
    expect(page.locator("#view")).to_contain_text("heads 2, query 6, source 6")
    page.get_by_role("button", name="0.233", exact=True).click()
    arithmetic = page.locator("#way-arithmetic")
    expect(arithmetic).to_contain_text("query 2 of, source 1 journey")
    value, words = re.search(r"([\d.]+)\s*= (exp\(.*\))", arithmetic.inner_text().replace("−", "-")).groups()  # type: ignore[union-attr]
    assert math.isclose(eval(words, {"exp": math.exp}), float(value), rel_tol=0.01)
    assert f"quantity={WEIGHTS}" in page.url and "cell=0.2.1" in page.url


@pytest.mark.parametrize(("quantity", "found"), [("state", "states"), ("update_gate", "update_gates")])
def test_the_cells_are_what_torch_computes_forward(visit: Callable[..., Visitor], quantity: str, found: str) -> None:
    model, words, vocabulary = twins.offered("gru")
    expected = twins.gru(words, vocabulary, model)
    visitor = visit(f"/way?model=gru&quantity=encoder.recurrent.0.{quantity}")
    assert wrong_cells(rows_of(visitor.page, "Value"), getattr(expected, found)) == []


def test_the_cells_are_what_autograd_computes_backward(visit: Callable[..., Visitor]) -> None:
    model, words, vocabulary = twins.offered("gru")
    expected = twins.gru(words, vocabulary, model)
    visitor = visit("/way?model=gru&quantity=encoder.recurrent.0.state")
    assert wrong_cells(rows_of(visitor.page, "Sensitivity"), expected.state_sensitivities) == []
    summary = re.search(r"loss ([\d.]+)\s+nats", visitor.page.locator("header").inner_text())
    assert summary is not None and says(summary[1], expected.loss)


def test_each_head_is_what_multihead_attention_computes(visit: Callable[..., Visitor]) -> None:
    model, words, vocabulary = twins.offered("transformer")
    expected = twins.attention(words, vocabulary, model, twins.causal(len(words) - 1))
    visitor = visit(f"/way?model=transformer&quantity={WEIGHTS}")
    for head in range(len(expected.weights)):
        if head:
            choices = visitor.page.get_by_role("navigation", name="Choose a head")
            choices.get_by_role("link", name=str(head), exact=True).click()
            expect(visitor.page.get_by_role("table", name=f"Value, head {head}", exact=True)).to_be_visible()
        rows = rows_of(visitor.page, f"Value, head {head}")
        assert wrong_cells(rows, expected.weights[head], expected.hidden[head]) == []


def test_every_box_opens_into_numbers(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/way?model=lstm")
    boxes = visitor.page.locator("#view a[href*='#opened']")
    addresses = {box.get_attribute("href") for box in boxes.all()}
    assert len(addresses) >= 6
    for address in sorted(addresses):
        visitor.open(address)
        heading = visitor.page.locator("#opened")
        expect(heading).to_be_visible()
        assert visitor.page.locator("#view table").count() >= 1
        assert all(words.strip() for words in visitor.page.locator("#view td").all_inner_texts())


def test_what_is_no_number_says_what_it_is(visit: Callable[..., Visitor]) -> None:
    visitor = visit(f"/way?model=worked&quantity={WEIGHTS}&cell=0.1.4")
    assert rows_of(visitor.page, "Value, head 0")[1][5] == "hidden"
    expect(visitor.page.locator("#way-arithmetic")).to_contain_text("causal")
    alone = visit("/way?model=gru&text=journey&quantity=encoder.recurrent.0.state")
    expect(alone.page.locator("#view")).to_contain_text("nothing to predict")
    expect(alone.page.locator("#view")).to_contain_text("not computed")
    assert number(rows_of(alone.page, "Value")[0][1])
