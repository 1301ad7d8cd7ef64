"""The view of the audit: it judges the model on show, edits and all, against what the task declares."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

from clew.checks import CHECKS, quick_audit
from clew.explorer.address import Address
from clew.explorer.audit import running as audit_running
from clew.explorer.audit.running import QUICK, WHOLE, Audited, audited
from clew.explorer.audit.view import AUDIT
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from runs.small_runs import train

MakeScene = Callable[..., Scene]
SHORT = "a journey of a"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an audit take its time on a busy machine."""
    monkeypatch.setattr(audit_running, "MOST_SECONDS", 1000.0)


def page_of(scene: Scene, studio: Studio) -> str:
    """Render the view of a scene."""
    assert AUDIT.missing(scene) == ""
    return "".join(f"<h2>{part.heading}</h2>{part.content}" for part in AUDIT.sections(scene, studio))


def found_on(scene: Scene, kind: str = QUICK) -> Audited:
    found = audited(scene, kind)
    assert found.report is not None, found.failure
    return found


@pytest.mark.parametrize("model", ["worked", "rnn", "gru", "lstm", "transformer", "scalar"])
def test_models_on_offer_pass(scene: MakeScene, studio: Studio, model: str) -> None:
    shown = scene(model, view="audit")
    report = found_on(shown).report
    assert report is not None
    assert report.failures == []
    html = page_of(shown, studio)
    assert "passes the audit" in html
    assert "Influence map" in html
    assert "style=" not in html


def test_a_mask_that_shows_the_future_is_found_with_its_submodule(scene: MakeScene, studio: Studio) -> None:
    shown = scene("transformer", edits=["visible=full"], view="audit")
    report = found_on(shown).report
    assert report is not None
    assert report.failures == ["future"]
    place = report["future"].place
    assert place is not None
    assert place.arises_in == "encoder.blocks.0.attention"
    html = page_of(shown, studio)
    assert "This model reads the future" in html
    assert "encoder.blocks.0.attention" in html
    assert "Smallest counterexample" in html
    assert "moved though forbidden" in html
    assert 'class="ring"' in html


def moved_by_hand(shown: Scene) -> numpy.ndarray:
    """Change each word alone, in float64, and see which predictions move."""
    model, ids = shown.subject.model, shown.subject.batch.inputs[:, :-1]
    before = logits_of(model, ids)
    moved = numpy.zeros((ids.shape[1], ids.shape[1]), bool)
    for source in range(ids.shape[1]):
        for other in range(len(shown.subject.vocabulary)):
            changed = ids.clone()
            changed[0, source] = other
            moved[:, source] |= ((logits_of(model, changed) - before).abs().amax(dim=1) > 1e-9).numpy()
    return moved


def logits_of(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(ids).logits[0].double()


@pytest.mark.parametrize("edits", [(), ("visible=full",), ("show:1.4",), ("visible=window-2",)])
def test_the_map_shows_who_reads_whom(scene: MakeScene, edits: tuple[str, ...]) -> None:
    shown = scene("worked", edits=edits, view="audit")
    report = found_on(shown).report
    assert report is not None
    assert numpy.array_equal(report.influence > report.floor, moved_by_hand(shown))
    assert numpy.array_equal(report.allowed, numpy.tril(numpy.ones((6, 6), bool)))
    reads_ahead = edits in (("visible=full",), ("show:1.4",))
    assert report.failures == (["future"] if reads_ahead else [])


def test_one_cell_of_the_mask_is_the_counterexample(scene: MakeScene, studio: Studio) -> None:
    shown = scene("worked", edits=["show:1.4"], view="audit")
    report = found_on(shown).report
    assert report is not None
    example = report["future"].counterexample
    assert example is not None
    assert (example.changed, example.moved) == (4, 1)
    assert "what is predicted after “journey” at step 1 moves" in page_of(shown, studio)


def test_the_values_of_the_counterexample_are_the_models(scene: MakeScene) -> None:
    shown = scene("worked", edits=["visible=full"], view="audit")
    report = found_on(shown).report
    assert report is not None
    example = report["future"].counterexample
    assert example is not None
    assert isinstance(example.changed, int)
    ids = shown.subject.batch.inputs[:, :-1]
    changed = ids.clone()
    assert ids[0, example.changed] == example.before_input
    changed[0, example.changed] = example.after_input
    before, after = (logits_of(shown.subject.model, one)[example.moved] for one in (ids, changed))
    at = int((after - before).abs().argmax())
    assert (example.before, example.after) == pytest.approx((before[at].item(), after[at].item()), abs=1e-12)


def test_a_mask_of_its_own_is_part_of_the_model(scene: MakeScene) -> None:
    """Hidden cells are unread, and a mask for four steps is no fault where the audit tries other lengths."""
    shown = scene("transformer", "a journey of a thousand", edits=["hide:2.1", "hide:3.1"], view="audit")
    for kind in (QUICK, WHOLE):
        report = found_on(shown, kind).report
        assert report is not None
        assert report.failures == []
        assert report.influence[3, 1] <= report.floor
        assert report.influence[3, 2] > report.floor


def test_padding_is_judged(scene: MakeScene) -> None:
    report = found_on(scene("transformer", edits=["padding=2"], view="audit")).report
    assert report is not None
    assert report.failures == []
    assert report["padding_content"].status == "passed"


def test_the_whole_audit_tries_every_check_and_says_what_it_cost(scene: MakeScene, studio: Studio) -> None:
    quick, whole = (scene("gru", SHORT, view="audit", **shown) for shown in ({}, {"audit": "full"}))
    assert "Run the whole audit" in page_of(quick, studio)
    html = page_of(whole, studio)
    assert "not part of the quick audit" not in html
    assert re.search(rf"This whole audit tried {len(CHECKS)} of {len(CHECKS)} checks in [\d.]+ s", html)
    assert "Show the quick audit" in html


def test_the_quick_audit_is_the_one_before_training(scene: MakeScene) -> None:
    shown = scene("lstm", view="audit")
    ids = shown.subject.batch.inputs
    plain = quick_audit(shown.subject.model, ids[:, :-1], "causal", vocab=len(shown.subject.vocabulary))
    report = found_on(shown).report
    assert report is not None
    numpy.testing.assert_allclose(report.influence, plain.influence, rtol=1e-9)


def test_an_audit_is_made_once_a_scene(scene: MakeScene) -> None:
    first, again = scene("rnn", view="audit"), scene("rnn", view="audit", audit="full")
    assert first.subject is again.subject
    assert audited(first, QUICK) is audited(again, QUICK)


def test_an_audit_leaves_the_scene_as_it_was(scene: MakeScene) -> None:
    shown = scene("transformer", SHORT, edits=["norm=post"], view="audit")
    before = {name: value.clone() for name, value in shown.subject.model.state_dict().items()}
    state = torch.get_rng_state()
    audit_running._known.pop(shown.subject, None)
    found_on(shown, WHOLE)
    assert torch.equal(torch.get_rng_state(), state)
    assert not shown.subject.model.training
    assert all(torch.equal(value, before[name]) for name, value in shown.subject.model.state_dict().items())


def test_a_whole_audit_that_takes_too_long_is_stopped(
    scene: MakeScene, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = scene("transformer", edits=["norm=post", "token:1=of"], view="audit", audit="full")
    assert audited(shown, QUICK).report is not None
    monkeypatch.setattr(audit_running, "MOST_SECONDS", 0.0)
    html = page_of(shown, studio)
    assert "The audit was stopped" in html
    assert "The quick audit stands below" in html
    assert "Influence map" in html


class Clock:
    """Goes on by a step whenever somebody looks: as many looks, as much time."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_the_quick_and_the_whole_audit_of_one_answer_share_its_time(
    scene: MakeScene, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick one takes two thirds of the time, the whole one more than all of it."""
    shown = scene("rnn", "a journey of all", view="audit", audit="full")
    clock = Clock(1.0)
    monkeypatch.setattr(audit_running, "perf_counter", clock)
    found_on(shown, QUICK)
    looks = clock.now
    audit_running._known.pop(shown.subject)
    clock = Clock(1.0)
    monkeypatch.setattr(audit_running, "perf_counter", clock)
    monkeypatch.setattr(audit_running, "MOST_SECONDS", 1.5 * looks)
    html = page_of(shown, studio)
    assert clock.now <= 1.5 * looks + 10
    for words in ("The audit was stopped", "The quick audit stands below", "Influence map", "Leave it at the quick"):
        assert words in html
    # The whole one had a part of the time only: with the quick one known it is tried again.
    assert set(audit_running._known[shown.subject]) == {QUICK}
    page_of(shown, studio)
    assert WHOLE in audit_running._known[shown.subject]


def test_long_texts_are_cut_where_the_model_is_large(scene: MakeScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_running, "MOST_WORK", 10_000)
    shown = scene("gru", " ".join(f"w{number % 7}" for number in range(40)), view="audit")
    found = found_on(shown)
    assert found.report is not None
    steps = found.report.influence.shape[1]
    assert 8 <= steps < 39
    assert any(f"the beginning of what is read, {steps} steps" in note for note in found.notes)


def test_of_many_rows_a_few_are_audited_and_named(scene: MakeScene) -> None:
    text = "\n".join(f"a b c d{row} e" for row in range(7))
    found = found_on(scene("gru", text, row=6, view="audit"))
    assert any("rows 0, 1, 2, 6 of 7" in note for note in found.notes)


def test_broken_weights_are_told_in_one_line(scene: MakeScene, studio: Studio) -> None:
    shown = scene("gru", edits=["weight:head.linear.bias.0=NaN"], view="audit")
    html = page_of(shown, studio)
    assert "could not be made" in html


def test_one_word_has_nothing_to_audit(scene: MakeScene) -> None:
    assert "nothing to audit" in AUDIT.missing(scene("gru", "alone", view="audit"))


@pytest.mark.parametrize("name", ["classification", "tagging", "next_token", "forecasting", "regression"])
def test_runs_of_every_task_are_audited(name: str, tmp_path: Path) -> None:
    studio = Studio(train(name, tmp_path / name).path)
    shown = studio.scene(Address("audit", "run", None, 1))
    report = found_on(shown).report
    assert report is not None
    assert report.failures == []
    assert report.allowed.all() == (shown.subject.task.boundary == "full")
    page_of(shown, studio)
