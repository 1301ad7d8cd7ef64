"""Scenes: what ran is the real model on exactly what the address names, kept apart from every other one."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from clew.errors import DataError, RunError
from clew.explorer import limits
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import NO_LOSS, Scene, require_small, tell_visibility
from clew.explorer.studio import Studio
from clew.models import build
from clew.report.subject import Subject, batch_of
from clew.report.trace_subject import make_subject
from clew.tasks import NextToken
from clew.walkthrough.proverb import TEXT
from clew.walkthrough.scalar_rnn import INPUT_WEIGHT, INPUTS, OUTPUT_WEIGHT, RECURRENT_WEIGHT, TARGET, scalar_pass

MakeScene = Callable[..., Scene]


def test_the_scalar_model_is_the_chapters(scene: MakeScene) -> None:
    shown, chapter = scene("scalar"), scalar_pass()
    state = shown.ledger.quantity("encoder.recurrent.0.state").at(batch=0)
    assert torch.equal(state.value, torch.cat(list(chapter.steps.states)).detach())
    expected = torch.cat([chapter.sensitivity(value) for value in chapter.steps.states])
    torch.testing.assert_close(state.sensitivity, expected, atol=1e-14, rtol=0)
    assert shown.trace.loss_nats == pytest.approx(chapter.loss.item(), abs=1e-15)
    for name in ("weight_ih", "weight_hh"):
        found = shown.ledger.contributions(f"encoder.recurrent.0.{name}", 0).value
        expected = torch.stack([chapter.contribution(step, name) for step in range(3)])
        torch.testing.assert_close(found, expected, atol=1e-14, rtol=0)


def test_the_scalar_model_is_a_plain_recurrence(scene: MakeScene) -> None:
    h, states = 0.0, []
    for x in INPUTS:
        h = math.tanh(INPUT_WEIGHT * x + RECURRENT_WEIGHT * h)
        states.append(h)
    shown = scene("scalar")
    found = shown.ledger.quantity("encoder.recurrent.0.state").value.flatten().numpy()
    np.testing.assert_allclose(found, states, atol=1e-15)
    assert shown.trace.loss_nats == pytest.approx(0.5 * (OUTPUT_WEIGHT * h - TARGET) ** 2, abs=1e-15)


def test_the_worked_example_reads_no_later_word_and_has_a_loss(scene: MakeScene) -> None:
    shown = scene()
    assert shown.is_causal and shown.has_backward and shown.base is None and not shown.notes
    assert shown.tokens == ["a", "journey", "of", "a", "thousand", "miles"]
    weights = shown.ledger.quantity("encoder.blocks.0.attention.weights").value[0]
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))


@pytest.mark.parametrize("preset", ["rnn", "gru", "lstm"])
def test_a_preset_computes_what_torch_computes(scene: MakeScene, preset: str) -> None:
    shown = scene(preset, "we read what we wrote")
    model = shown.subject.model
    twin = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[preset](4, 8, batch_first=True)
    parameters = dict(model.get_submodule("encoder.recurrent.0").named_parameters())
    with torch.no_grad():
        for name, value in parameters.items():
            getattr(twin, f"{name}_l0").copy_(value)
    rows = model.get_submodule("inputs.embedding").weight[shown.subject.batch.inputs[:, :-1]]
    states = shown.ledger.quantity("encoder.recurrent.0.state").value
    torch.testing.assert_close(states, twin(rows)[0], atol=1e-6, rtol=0)


def test_a_text_of_one_word_is_read_without_a_loss(scene: MakeScene) -> None:
    for model in ("worked", "gru", "transformer"):
        shown = scene(model, "journey")
        assert (shown.tokens, shown.has_backward, shown.notes) == (["journey"], False, [NO_LOSS])


def test_an_edit_leaves_the_model_without_it_alone(scene: MakeScene) -> None:
    plain = scene("gru")
    before = {name: value.clone() for name, value in plain.subject.model.state_dict().items()}
    edited = scene("gru", edits=["weight:head.linear.weight.0.0=2.5"])
    assert edited.base is not None
    assert edited.base.trace is plain.trace
    assert all(torch.equal(value, before[name]) for name, value in plain.subject.model.state_dict().items())
    assert edited.subject.model.get_parameter("head.linear.weight")[0, 0] == 2.5
    assert edited.trace.loss_nats != plain.trace.loss_nats


def test_what_is_told_to_be_visible_reaches_every_call() -> None:
    model = build("transformer", vocab=5, outputs=5, hidden=8, heads=2)
    ids, visible = torch.tensor([[0, 1, 2, 3]]), torch.eye(4, dtype=torch.bool)
    expected = model(ids, visible=visible).logits
    free = model(ids).logits
    tell_visibility(model, visible)
    assert torch.equal(model(ids).logits, expected)
    assert not torch.equal(free, expected)
    assert torch.equal(model(ids, visible=torch.ones(4, 4, dtype=torch.bool)).logits, free)


def test_the_same_address_gives_the_same_pass_and_another_view_too(studio: Studio) -> None:
    first = studio.scene(Address("way", "lstm", "one two three"))
    second = studio.scene(Address("recurrence", "lstm", "one two three", shown={"step": "1"}))
    assert second.trace is first.trace
    assert (first.address.view, second.address.view) == ("way", "recurrence")


def test_only_a_few_scenes_are_kept() -> None:
    studio = Studio()
    for number in range(limits.MOST_SCENES + 3):
        studio.scene(Address("way", "rnn", f"word number {number}"))
    assert len(studio._scenes) == limits.MOST_SCENES


def test_a_text_from_a_request_is_never_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden words of a file")
    shown = Studio().scene(Address("way", "gru", str(secret)))
    assert "hidden" not in shown.subject.words[0]
    assert Studio(text=str(secret)).scene(Address("way", "gru")).subject.words == [
        ["hidden", "words", "of", "a", "file"]
    ]


def test_rows_of_a_text_are_its_lines(studio: Studio) -> None:
    shown = studio.scene(Address("way", "gru", "one two\nthree four five", 1))
    assert shown.tokens == ["three", "four"]
    with pytest.raises(ExplorerError, match=r"row must be in \[0, 2\), a line of the text, got 2"):
        studio.scene(Address("way", "gru", "one two\nthree four five", 2))


def test_the_second_model_reads_the_same(studio: Studio) -> None:
    found = studio.beside(Address("change", "worked", edits=("token:1=miles",), shown={"beside": "gru"}))
    assert found is not None
    assert found.tokens == ["a", "miles", "of", "a", "thousand", "miles"]
    assert studio.beside(Address("change", "worked")) is None
    with pytest.raises(ExplorerError, match="beside must be a model that reads the same input"):
        studio.beside(Address("change", "worked", shown={"beside": "scalar"}))
    with pytest.raises(ExplorerError, match=r"got 'grr'\. Did you mean 'gru'"):
        studio.beside(Address("change", "worked", shown={"beside": "grr"}))


def test_an_edit_of_a_weight_changes_the_first_model_only(studio: Studio) -> None:
    edits = ("weight:head.linear.weight.0.0=9",)
    found = studio.beside(Address("change", "rnn", edits=edits, shown={"beside": "gru"}))
    assert found is not None
    assert found.base is None


@pytest.mark.parametrize(
    ("address", "line"),
    [
        (Address("way", "nix"), "clew explore: model must be one that is offered, got 'nix'. Known: "),
        (Address("way", "gru", " ".join(["a"] * 513)), "must be at most 512 words"),
        (Address("way", "gru", "\n".join(["a b"] * 65)), "clew explore: text must be at most 64 lines, got 65."),
    ],
)
def test_what_is_too_much_is_refused(studio: Studio, address: Address, line: str) -> None:
    with pytest.raises(ExplorerError, match=r"^clew explore") as caught:
        studio.scene(address)
    assert line in str(caught.value)


def test_a_word_that_a_model_does_not_know_is_named(studio: Studio) -> None:
    with pytest.raises(DataError, match="'banana'"):
        studio.scene(Address("way", "worked", "a banana"))


def test_a_pass_is_bounded_by_its_work() -> None:
    words = [["a"] * 500] * 8
    model = build("transformer", vocab=2, outputs=2, hidden=768, heads=12, layers=8, causal=True)
    subject = Subject(model.eval(), words, batch_of(words, ["a"]), ["a"], "", NextToken(2))
    with pytest.raises(ExplorerError, match="a pass must be at most") as caught:
        require_small(subject)
    assert caught.value.status == 413


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="run folder must be one that holds config"):
        Studio.open(str(tmp_path))


def test_the_first_model_is_the_one_that_was_named() -> None:
    assert next(iter(Studio.open("lstm").sources)) == "lstm"
    assert next(iter(Studio.open(None).sources)) == "worked"
    assert Studio.open("gru", text="some words").scene(Address("way", "gru")).subject.words == [["some", "words"]]


def test_a_form_means_the_model_that_it_names_now(studio: Studio) -> None:
    asked = Address("way", "gru", TEXT, 0, ("norm=post",), {"was": "worked", "beside": "rnn"})
    assert studio.settle(asked) == Address("way", "gru", None, 0, (), {"beside": "rnn"})
    asked = Address("way", "gru", "my words", 0, ("token:1=a",), {"was": "gru"})
    assert studio.settle(asked) == Address("way", "gru", "my words", 0, ("token:1=a",))
    assert studio.settle(Address("way", "scalar", "my words", 0, (), {"was": "gru"})) == Address("way", "scalar")


def test_make_subject_still_reads_files(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("from a file")
    assert make_subject(str(file), "gru", True).words == [["from", "a", "file"]]
