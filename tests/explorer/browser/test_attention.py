"""View 2 as a person does it: stages, heads, one query, one cell, and who may read whom."""

import math
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from explorer.browser import twins
from explorer.browser.conftest import Visitor
from explorer.browser.reading import number, rows_of, says, wrong_cells


def test_stages_follow_from_one_another(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/attention?model=worked")
    found = {}
    for stage in ("raw scores", "scaled", "masked", "softmax weights"):
        visitor.page.get_by_role("button", name=stage, exact=True).click()
        expect(visitor.page.get_by_role("button", name=stage, exact=True)).to_have_attribute("aria-pressed", "true")
        caption = visitor.page.locator("#heads caption").first.inner_text()
        assert stage.split()[0] in caption
        found[stage] = rows_of(visitor.page, caption)
    raw, scaled, masked = (number(found[stage][4][2]) for stage in ("raw scores", "scaled", "masked"))
    assert math.isclose(scaled, raw / math.sqrt(3), rel_tol=0.01) and masked == scaled
    powers = [math.exp(number(words)) for words in found["masked"][4][1:6]]
    for words, power in zip(found["softmax weights"][4][1:6], powers, strict=True):
        assert math.isclose(number(words), power / sum(powers), rel_tol=0.03)
    assert found["masked"][4][6] == found["softmax weights"][4][6] == "causal"
    assert number(found["raw scores"][4][6])


@pytest.mark.parametrize("words", ["as the model has it", "full", "a window of 2"])
def test_another_visibility_gives_the_weights_of_multihead_attention(visit: Callable[..., Visitor], words: str) -> None:
    model, read, vocabulary = twins.offered("transformer")
    hidden = twins.causal(len(read) - 1)
    hidden = {"full": hidden & False, "a window of 2": hidden | hidden.T.roll(1, 0).tril(-2)}.get(words, hidden)
    expected = twins.attention(read, vocabulary, model, hidden)
    visitor = visit("/attention?model=transformer")
    if words.startswith("a window"):
        visitor.page.get_by_label("a window of").select_option("2")
        visitor.page.get_by_role("button", name="Use this window").click()
    else:
        visitor.page.get_by_role("button", name=words, exact=True).click()
    expect(visitor.page.locator("#visibility button[aria-pressed=true]").first).to_be_visible()
    visitor.settled()
    for head in range(2):
        rows = rows_of(visitor.page, f"head {head}: softmax weights")
        assert wrong_cells(rows, expected.weights[head], expected.hidden[head]) == []


def test_one_cell_is_hidden_and_undone(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/attention?model=worked&query=3")
    before = rows_of(visitor.page, "head 0: softmax weights")
    visitor.page.get_by_label("3 a may not read").select_option("1 journey")
    visitor.page.get_by_role("button", name="Hide", exact=True).click()
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_be_visible()
    visitor.settled()
    after = rows_of(visitor.page, "head 0: softmax weights")
    assert after[3][2] not in before[3][2] and "causal" not in after[3][2]
    assert [row for place, row in enumerate(after) if place != 3] == [
        row for place, row in enumerate(before) if place != 3
    ]
    kept = [number(before[3][column]) for column in (1, 3, 4)]
    for column, weight in zip((1, 3, 4), kept, strict=True):
        assert math.isclose(number(after[3][column]), weight / sum(kept), rel_tol=0.02)
    expect(visitor.page.locator("#visibility")).to_contain_text("0 a")
    visitor.page.get_by_role("link", name="Undo").first.click()
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_have_count(0)
    assert rows_of(visitor.page, "head 0: softmax weights") == before


def test_a_cell_opens_into_every_stage_of_it(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/attention?model=worked")
    visitor.page.get_by_role("button", name="0.0624", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="One cell: 3 a reads 1 journey, head 0")).to_be_visible()
    words = visitor.page.locator("#view").inner_text()
    assert "-0.396 = -0.686 / sqrt(3)" in words and "0.0624 = exp(-0.396) / (exp(-1.15)" in words


def test_a_query_under_the_pointer_is_marked_in_every_head(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/attention?model=worked&query=5")
    row = visitor.page.get_by_role("table", name="head 1: softmax weights").locator("tbody tr").nth(2)
    look = "row => { const look = getComputedStyle(row.cells[0]); return [...look].map(name => look[name]).join(); }"
    plain = row.evaluate(look)
    other = visitor.page.get_by_role("table", name="head 0: softmax weights").locator("tbody tr").nth(2)
    other.locator("td").first.hover()
    assert row.evaluate(look) != plain


def test_one_query_lists_its_sources_and_their_sum(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/attention?model=worked")
    visitor.page.get_by_role("button", name="4 thousand", exact=True).last.click()
    expect(visitor.page.get_by_role("heading", name="What 4 thousand reads")).to_be_visible()
    rows = rows_of(visitor.page, "Weights of 4 thousand, head by head")
    for head in (2, 3):
        assert says(rows[-1][head], 1.0)
        shares = [number(row[head]) for row in rows[:-1] if row[head] not in ("-", "causal", "")]
        assert math.isclose(sum(shares), 1.0, abs_tol=0.005)
