"""View 4 as a person does it: a word, a weight, a norm; what moved, and nothing else; undo."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from explorer.browser import twins
from explorer.browser.conftest import Visitor
from explorer.browser.reading import number, rows_of, says, wrong_cells

STATE = "/way?model=gru&quantity=encoder.recurrent.0.state"


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option, and press the button of its form."""
    field = page.get_by_label(label, exact=True)
    field.select_option(option)
    field.locator("xpath=ancestor::form").get_by_role("button").click()


def test_a_word_moves_what_reads_it_and_nothing_before_it(visit: Callable[..., Visitor]) -> None:
    model, words, vocabulary = twins.offered("gru")
    visitor = visit("/change?model=gru")
    visitor.page.get_by_role("link", name="3 a", exact=True).click()
    choose(visitor.page, "Read instead", "miles")
    edits = visitor.page.get_by_role("region", name="Edits", exact=True)
    expect(edits).to_contain_text("word 3: a → miles")
    moved = {
        row[0]: row[1]
        for row in rows_of(visitor.page, "Quantities in the order of computation, before and after")
        if len(row) > 1
    }
    assert moved["state"] == moved["candidate"] == "24 of 48" and moved["per_position"] == "4 of 6"
    weights = rows_of(visitor.page, "Weights, before and after")
    assert {row[1] for row in weights if len(row) > 1} == {"equal"}
    visitor.open(STATE)
    before = rows_of(visitor.page, "Value")
    visitor.open(f"{STATE}&edit=token%3A3%3Dmiles")
    after = rows_of(visitor.page, "Value")
    assert [row[1:] for row in after[:3]] == [row[1:] for row in before[:3]]
    assert all(one != other for one, other in zip(after[3:], before[3:], strict=True))
    expected = twins.gru([*words[:3], "miles", *words[4:]], vocabulary, model)
    assert wrong_cells(after, expected.states) == []
    assert wrong_cells(rows_of(visitor.page, "Sensitivity"), expected.state_sensitivities) == []


def test_a_weight_moves_both_passes_as_torch_says(visit: Callable[..., Visitor]) -> None:
    model, words, vocabulary = twins.offered("gru")
    visitor = visit("/change?model=gru")
    choose(visitor.page, "Parameter", "encoder.recurrent.0.weight_hh")
    table = visitor.page.get_by_role("table", name="encoder.recurrent.0.weight_hh, 24 by 8")
    table.locator("tbody tr").nth(0).get_by_role("button").nth(2).click()
    field = visitor.page.get_by_label("encoder.recurrent.0.weight_hh[0, 2]", exact=True)
    field.fill("0.9")
    field.press("Enter")
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_contain_text("weight_hh")
    weight = model.get_submodule("encoder.recurrent.0").weight_hh
    weight.data[0, 2] = 0.9
    expected = twins.gru(words, vocabulary, model)
    visitor.page.get_by_role("link", name="The whole way").click()
    visitor.page.get_by_role("link", name="The whole way").and_(visitor.page.locator("[aria-current]")).wait_for()
    visitor.open(STATE + "&" + visitor.page.url.partition("?")[2].replace("model=gru&", ""))
    assert wrong_cells(rows_of(visitor.page, "Value"), expected.states) == []
    assert wrong_cells(rows_of(visitor.page, "Sensitivity"), expected.state_sensitivities) == []


def test_undo_goes_back_edit_by_edit_to_the_same_numbers(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/change?model=worked")
    header = visitor.page.locator("header").first
    start = header.inner_text()
    choose(visitor.page, "Activation", "tanh")
    edits = visitor.page.get_by_role("region", name="Edits", exact=True)
    expect(edits.get_by_role("listitem")).to_have_count(1)
    choose(visitor.page, "Normalization", "post: after each sum")
    expect(edits.get_by_role("listitem")).to_have_count(2)
    edits.get_by_role("link", name="undo all").click()
    expect(edits).to_have_count(0)
    assert header.inner_text() == start
    visitor.page.go_back()
    expect(edits.get_by_role("listitem")).to_have_count(2)
    edits.get_by_role("listitem").first.get_by_role("link").click()
    expect(edits.get_by_role("listitem")).to_have_count(1)
    expect(edits).to_contain_text("post")


def test_a_query_may_read_what_a_rule_hid(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/change?model=worked")
    visitor.page.get_by_role("link", name="1 journey, hidden: causal; show it").click()
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_be_visible()
    visitor.page.get_by_role("link", name="Attention", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="Heads side by side")).to_be_visible()
    rows = rows_of(visitor.page, "head 0: softmax weights")
    assert 0 < number(rows[0][2]) < 1 and says(f"{number(rows[0][1]) + number(rows[0][2])}", 1.0)


def test_two_models_read_the_same(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/change?model=gru")
    choose(visitor.page, "Second model", "LSTM, untrained")
    expect(visitor.page).to_have_url(f"{visitor.explored.url}/change?model=gru&beside=lstm")
    expect(visitor.page.locator("#beside")).to_contain_text("LSTM")
    assert visitor.page.locator("#beside table").count() >= 1
