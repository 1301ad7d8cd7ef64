"""View 3 as a person does it: a step, its cells, the path, the sliders of the scalar model, clipping."""

import re
from collections.abc import Callable

import torch
from playwright.sync_api import expect

from clew.walkthrough.scalar_rnn import INPUT_WEIGHT, INPUTS, OUTPUT_WEIGHT, TARGET
from explorer.browser import twins
from explorer.browser.conftest import Visitor
from explorer.browser.reading import number, rows_of, says, wrong_cells


def scalar(recurrent_weight: float) -> tuple[list[float], list[float], float]:
    """Run h' = tanh(w_x x + w_h h) with autograd: states, their sensitivities, and dL/dw_h."""
    weight = torch.tensor(recurrent_weight, dtype=torch.float64, requires_grad=True)
    states = [torch.zeros((), dtype=torch.float64)]
    for read in INPUTS:
        states.append(torch.tanh(INPUT_WEIGHT * read + weight * states[-1]))
        states[-1].retain_grad()
    (0.5 * (OUTPUT_WEIGHT * states[-1] - TARGET) ** 2).backward()
    assert weight.grad is not None
    grads = [state.grad.item() for state in states[1:] if state.grad is not None]
    return [state.item() for state in states[1:]], grads, weight.grad.item()


def test_a_step_shows_the_numbers_of_that_step(visit: Callable[..., Visitor]) -> None:
    model, words, vocabulary = twins.offered("gru")
    expected = twins.gru(words, vocabulary, model)
    visitor = visit("/recurrence?model=gru")
    visitor.page.get_by_role("link", name="step 2, of: open it").click()
    expect(visitor.page.get_by_role("heading", name="Step 2, of", exact=True)).to_be_visible()
    rows = rows_of(visitor.page, "Values")
    for unit, row in enumerate(rows):
        assert says(row[-1], expected.states[2, unit].item())
    before = [number(row[1]) for row in rows]
    assert all(says(f"{one}", two) for one, two in zip(before, expected.states[1].tolist(), strict=True))


def test_contributions_of_the_steps_add_up_to_the_gradient(visit: Callable[..., Visitor]) -> None:
    model, words, vocabulary = twins.offered("gru")
    expected = twins.gru(words, vocabulary, model).gradients["weight_hh"]
    visitor = visit("/recurrence?model=gru")
    rows, total = rows_of(visitor.page, "weight_hh.grad"), rows_of(visitor.page, "Sum over 6 steps")
    of_candidate = expected[16:24]
    assert wrong_cells(rows, of_candidate) == [] and wrong_cells(total, of_candidate) == []


def test_a_slider_runs_the_scalar_model_again(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/recurrence?model=scalar")
    slider = visitor.page.locator("#slider-w-h")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
        visitor.settled()
    expect(slider).to_have_value("0.95")
    states, sensitivities, gradient = scalar(0.95)
    caption = "States, slopes and sensitivities"
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_contain_text("0.95")
    visitor.settled()
    for row, state, sensitivity in zip(rows_of(visitor.page, caption), states, sensitivities, strict=True):
        assert says(row[2], state) and says(row[7], sensitivity)
    shares = rows_of(visitor.page, "Contributions, a step a column")[1]
    assert says(shares[-1], gradient) and says(shares[-2], gradient)
    assert visitor.page.get_by_role("region", name="Edits", exact=True).get_by_role("listitem").count() == 1


def test_a_path_has_a_factor_a_step_and_its_product(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/recurrence?model=scalar")
    states, _, _ = scalar(0.9)
    factors = [0.9 * (1 - state**2) for state in states[1:]]
    words = visitor.page.locator("#view").inner_text()
    assert all(f"{factor:.3f}" in words for factor in factors)
    assert f"{factors[0] * factors[1]:.3f}" in words
    visitor.page.locator("#field-end").fill("1")
    visitor.page.locator("#path-submit").click()
    expect(visitor.page).to_have_url(re.compile("start=0&end=1"))
    visitor.settled()
    assert says(rows_of(visitor.page, "Product: d new state / d old state")[0][1], factors[0])


def test_clipping_scales_the_gradient_to_the_threshold(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/recurrence?model=gru&clip=0.01")
    before, after = (rows_of(visitor.page, f"Gradient {when}") for when in ("before", "after"))
    ratios = {
        round(number(two) / number(one), 2)
        for row, other in zip(before, after, strict=True)
        for one, two in zip(row[1:], other[1:], strict=True)
        if one not in ("…", "0")
    }
    assert max(ratios) - min(ratios) <= 0.02 and max(ratios) < 1
