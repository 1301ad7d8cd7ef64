"""Views 5 and 6 as a person does it: a tiny run with its curves and interventions; an audit, and how it fails."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

import clew
from clew.report.trace_runs import run_subject
from explorer.browser import twins
from explorer.browser.conftest import Explored, Visitor
from explorer.browser.reading import number, rows_of, wrong_cells


def test_a_run_shows_its_curves_and_its_figures(
    visit: Callable[..., Visitor], explore: Callable[..., Explored], recall_run: Path
) -> None:
    visitor = visit(at=explore(str(recall_run)))
    visitor.page.get_by_role("link", name="A run", exact=True).click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("A run")
    run = clew.load(recall_run)
    chosen = run.metrics()[run.selected_epoch - 1]["validation"]
    words = visitor.page.locator("#view").inner_text()
    assert f"poch {run.selected_epoch} of 3" in words
    shown = [cell for cell in visitor.page.locator("#view td").all_inner_texts() if cell.strip()]
    figures = [number(cell) for cell in shown if cell.strip().replace(".", "", 1).isdigit()]
    assert any(abs(figure - chosen["cue_loss_nats"]) < 0.005 for figure in figures)
    assert visitor.page.locator("#view svg").count() >= 2


def test_an_intervention_is_a_run_of_the_real_model(
    visit: Callable[..., Visitor], explore: Callable[..., Explored], recall_run: Path
) -> None:
    subject = run_subject(recall_run, None, 1, True, may_be_file=False)
    model, ids, vocabulary = subject.model.double(), subject.batch.inputs[0], list(subject.vocabulary)
    visitor = visit("/run?model=run&row=1", at=explore(str(recall_run)))
    section = visitor.page.locator("#run-episode")
    rows = rows_of(visitor.page, section.locator("caption").inner_text())
    query = int(section.inner_text().partition("asks for it at step ")[2].split(".")[0])
    assert wrong_cells([rows[0][1:6]], twins.answers(model, ids)[query, :4].unsqueeze(0)) == []
    name = next(row[0] for row in rows if "instead of" in row[0])
    swapped = ids.clone()
    swapped[1] = vocabulary.index(name.removeprefix("Cue: ").split()[0])
    row = next(row for row in rows if row[0] == name)
    assert wrong_cells([row[1:6]], twins.answers(model, swapped)[query, :4].unsqueeze(0)) == []
    section.get_by_role("link", name=name).click()
    expect(visitor.page.get_by_role("region", name="Edits", exact=True)).to_contain_text(vocabulary[int(swapped[1])])


def test_the_last_weights_are_another_model(
    visit: Callable[..., Visitor], explore: Callable[..., Explored], recall_run: Path
) -> None:
    visitor = visit("/change?model=run&beside=last", at=explore(str(recall_run)))
    expect(visitor.page.locator("#beside")).to_contain_text("last weights")


def test_an_audit_passes_and_with_full_visibility_names_the_leak(visit: Callable[..., Visitor]) -> None:
    visitor = visit("/audit?model=worked")
    expect(visitor.page.locator("#view h2").first).to_contain_text("passes the audit")
    visitor.open("/audit?model=worked&edit=visible%3Dfull")
    expect(visitor.page.locator("#view h2").first).to_contain_text("This model reads the future")
    words = visitor.page.locator("#view").inner_text()
    assert "encoder.blocks.0.attention" in words
    picture = visitor.page.locator("#view svg.cell-map")
    expect(picture).to_be_visible()
    assert "15 of 36 pairs moved though forbidden" in (picture.get_attribute("aria-label") or "")


def test_an_audit_counterexample_holds_when_it_is_tried_by_hand(visit: Callable[..., Visitor]) -> None:
    """What moved though forbidden moves in the other views too: an edit of a later word changes an earlier output."""
    address = "/way?model=worked&quantity=head.linear.output&edit=visible%3Dfull"
    visitor = visit(address)
    before = rows_of(visitor.page, "Value")
    visitor.open(f"{address}&edit=token%3A4%3Dof")
    after = rows_of(visitor.page, "Value")
    assert before[0][1:] != after[0][1:]
    causal = address.replace("full", "causal")
    visitor.open(causal)
    before = rows_of(visitor.page, "Value")
    visitor.open(f"{causal}&edit=token%3A4%3Dof")
    assert rows_of(visitor.page, "Value")[:4] == before[:4]
