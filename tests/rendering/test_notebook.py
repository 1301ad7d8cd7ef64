"""In a notebook a page stands in a frame of its own: whole, closed to the outside, without power over the notebook."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

import clew
from clew.checks import AuditReport
from clew.data.recall_episodes import sample_recall_splits
from clew.ledger import Described, Ledger, Quantity
from clew.rendering.notebook import framed
from clew.rendering.numbers import format_number
from clew.rendering.page import Section, paragraph, render_page
from clew.tasks import CueRecall
from ledger.recorded import recorded
from runs.small_runs import small, train

PAGE = render_page("A & B", paragraph("1 < 2"), [Section("S", "s", paragraph('say "x"'))])


class Frames(HTMLParser):
    """Reads what a notebook would: the tags outside, and the page inside the frame."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.given: dict[str, str | None] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.given = dict(attrs)

    @property
    def page(self) -> str:
        return self.given["srcdoc"] or ""


def shown(thing: object) -> Frames:
    show = getattr(thing, "_repr_html_")  # noqa: B009
    return Frames(show())


def test_the_frame_holds_exactly_the_page_and_its_own_address() -> None:
    frame = Frames(framed(PAGE, "T"))
    assert frame.tags == ["iframe"]
    assert frame.page.replace('<base href="about:srcdoc">', "") == PAGE
    assert frame.page.index("<base") < frame.page.index("Content-Security-Policy")


def test_the_frame_is_a_sandbox_with_a_name_and_needs_nothing_from_outside() -> None:
    frame = Frames(framed(PAGE, "T"))
    assert frame.given["sandbox"] == "" and frame.given["title"] == "T"
    assert not {"src", "style", "onload"} & set(frame.given)


def test_a_small_ledger_shows_the_page_that_it_writes() -> None:
    ledger = recorded("gru")
    page = shown(ledger).page
    assert page.replace('<base href="about:srcdoc">', "") == ledger.to_html()


def test_a_large_ledger_shows_its_table_and_says_how_to_see_numbers() -> None:
    ledger = recorded("transformer")
    page = shown(ledger).page
    assert page.count("<tr") > len(ledger) and "ledger[&quot;*.state&quot;]" in page.replace("&#34;", "&quot;")
    assert 'href="#' not in page.partition("<main")[2]
    assert len(page) < 100_000


def test_a_part_of_a_large_ledger_shows_its_numbers() -> None:
    part = recorded("transformer")["*.attention.weights"]
    assert isinstance(part, Ledger)
    weights = recorded("transformer").quantity("encoder.blocks.0.attention.weights")
    assert f"{weights.value[0, 1, 2, 0]:.3f}" in shown(part).page


def test_a_quantity_shows_its_equation_and_the_numbers_of_both_passes() -> None:
    state = recorded("gru").quantity("encoder.recurrent.0.state")
    page = shown(state).page
    assert state.name in page and "Sensitivity" in page and state.equation.replace("'", "&#39;") in page
    for number in (state.value[0, 3, 1].item(), state.sensitivity[0, 3, 1].item()):
        assert any(
            abs(float(said) - number) <= 0.006 * abs(number) for said in re.findall(r"-?\d*\.\d+(?:e-?\d+)?", page)
        )


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (2, 2, 3, 4)])
def test_a_quantity_of_any_shape_is_shown(shape: tuple[int, ...]) -> None:
    axes = ("batch", "heads", "query", "source")[:: 1 if len(shape) == 4 else -1][: len(shape)][::-1]
    quantity = Quantity("layer.one", torch.ones(shape), Described(axes, "A = B"))
    assert "A = B" in shown(quantity).page


def test_an_audit_shows_the_page_that_it_writes(audit: AuditReport) -> None:
    page = shown(audit).page
    assert page.replace('<base href="about:srcdoc">', "") == audit.to_html()


def test_markup_in_names_stays_text_through_both_layers() -> None:
    hostile = Quantity('</iframe><script>"', torch.zeros(2, 2), Described(("query", "source"), "A = B"))
    frame = Frames(hostile._repr_html_())
    assert frame.tags == ["iframe"] and "<script" not in frame.page


def test_a_run_shows_its_selection_its_curves_and_both_parts_once_scored(tmp_path: Path) -> None:
    run = train("classification", tmp_path / "mine")
    page, chosen = shown(run).page, run.metrics()[run.selected_epoch - 1]["validation"]
    assert f"Epoch {run.selected_epoch} of 3 was selected" in page and "The test has not been scored." in page
    assert f">{format_number(chosen['accuracy'])}</td>" in page and page.count("<svg") == 1 + len(chosen)
    scored = run.evaluate(small("classification").validation.select(torch.arange(7)), references=False)
    page = shown(run).page
    assert f">{format_number(scored['metrics']['accuracy'])}</td>" in page and scored["scored_at"] in page


def test_a_comparison_shows_each_recipe_every_seed_and_the_failures(tmp_path: Path) -> None:
    model = {"preset": "gru", "vocab": 7, "outputs": 7, "hidden": 4, "embedding": 3}
    splits = clew.Splits(*sample_recall_splits(4, (32, 16, 16), seeds=(1, 2, 3)))
    recipes = [{"name": "mine", "model": model, "training": {"epochs": 1}}]
    recipes.append({"name": "other", "model": model | {"preset": "rnn"}, "training": {"epochs": 1}})
    found = clew.compare(recipes, CueRecall(4), splits, seeds=[1, 2], out=tmp_path, workers=0, audit="skip")
    page = shown(found).page
    for row in found.rows:
        assert f">{format_number(row['test_cue_accuracy'])}</td>" in page
    two = [row["test_cue_loss_nats"] for row in found.rows if row["recipe"] == "mine"]
    assert f"{format_number(sum(two) / 2)} ± {format_number(abs(two[0] - two[1]) / 2**0.5, 2)}" in page
    assert all(cell["verdict"] in page for cell in found.cells) and "oracle" in page
    failed = replace(found, rows=[*found.rows[1:], found.rows[0] | {"status": "failed", "reason": "<disk full>"}])
    assert "failed: &lt;disk full&gt;" in shown(failed).page


@pytest.fixture(scope="module")
def audit() -> AuditReport:
    model = torch.nn.GRU(3, 4, batch_first=True).double()
    inputs = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return clew.audit(model, inputs, boundary="causal")
