"""`clew trace` and `clew explore` on runs whose training windows pack several documents.

A recurrence reads each document as a row of its own: one of them is shown, with its own steps. Attention reads the row.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from clew.data import SequenceData
from clew.explorer.address import Address
from clew.explorer.faults import ExplorerError
from clew.explorer.recurrence.view import RECURRENCE
from clew.explorer.scene import play
from clew.explorer.studio import Studio
from clew.explorer.way.picture import row_of
from clew.explorer.way.view import WAY
from clew.report.trace_runs import SHOWN_TOKENS, run_subject

Clew = Callable[..., tuple[int, str, str]]
LINES = ["a cat sat.", "the dog ran on.", "so.", "a dog sat on the cat and ran."]
BRIEF = ("--set", "training.epochs=1", "--set", "model.hidden=6", "--set", "data.context=48")
SAID = "reading the longest of the 4 documents in 32 tokens"


def trained(clew: Clew, here: Path, preset: str, documents: str = "lines") -> Path:
    (here / "lines.txt").write_text("\n".join(LINES * 12) + "\n")
    given = ("--set", f"data.documents={documents}", "--set", f"model.preset={preset}")
    text, out = str(here / "lines.txt"), here / preset
    code, _, said = clew("train", text, "--task", "next_token", *BRIEF, *given, "-o", str(out))
    assert code == 0, said
    return out


@pytest.mark.parametrize("preset", ["gru", "lstm"])
def test_a_recurrent_run_shows_the_longest_document_and_says_so(clew: Clew, tmp_path: Path, preset: str) -> None:
    folder = trained(clew, tmp_path, preset)
    window = SequenceData.open(folder / "train").select(torch.tensor([0]))
    assert window.documents is not None
    documents = window.documents[:, :SHOWN_TOKENS]
    numbers, counts = documents[0].unique(return_counts=True)
    places = documents[0] == numbers[counts.argmax()]
    assert len(numbers) == 4 and not bool(places[0])
    subject = run_subject(folder, None, 0, True)
    assert subject.description.endswith(SAID) and subject.batch.documents is None
    assert torch.equal(subject.batch.inputs[0], window.inputs[0, :SHOWN_TOKENS][places])
    assert [len(row) for row in subject.words] == [int(counts.max())]
    with torch.no_grad():
        packed = subject.model(window.inputs[:, :SHOWN_TOKENS], documents=documents).logits[0, places]
        torch.testing.assert_close(subject.model(subject.batch.inputs).logits[0], packed)
    code, out, said = clew("trace", str(folder), "--backward")
    assert code == 0, said
    assert SAID in " ".join(out.split())
    found = json.loads(clew("trace", str(folder), "--backward", "--json")[1])
    assert found["rows"] == subject.words
    state = next(one for one in found["quantities"] if one["name"] == "encoder.recurrent.0.state")
    assert (len(state["value"]), len(state["value"][0])) == (1, len(subject.words[0]) - 1)


def test_the_explorer_shows_the_steps_of_that_document(clew: Clew, tmp_path: Path) -> None:
    studio = Studio(trained(clew, tmp_path, "gru"))
    made = studio.scene(Address("way", "run", None, 2, ()))
    for name in ("inputs.embedding.output", "encoder.recurrent.0.state", "head.linear.output"):
        assert row_of(made, name).shape[0] == len(made.tokens)
    assert WAY.sections(made, studio) and RECURRENCE.missing(made) == ""
    window = SequenceData.open(tmp_path / "gru" / "train").select(torch.tensor([2]))
    packed = replace(made.subject, batch=replace(window, targets=None), words=[["x"] * window.inputs.shape[1]])
    with pytest.raises(ExplorerError) as caught:
        play(made.address, made.source, packed, None)
    assert str(caught.value) == (
        "clew explore: what a recurrent model reads must be one document, got a row that packs several. "
        "Give one of them alone, as a text."
    )


def test_a_window_of_one_document_is_read_whole_and_nothing_is_said(clew: Clew, tmp_path: Path) -> None:
    subject = run_subject(trained(clew, tmp_path, "gru", "files"), None, 0, True)
    assert len(subject.words[0]) == SHOWN_TOKENS and "longest" not in subject.description


def test_attention_reads_the_packed_row(clew: Clew, tmp_path: Path) -> None:
    subject = run_subject(trained(clew, tmp_path, "transformer"), None, 0, True)
    assert subject.batch.documents is not None and len(subject.words[0]) == SHOWN_TOKENS
    assert "longest" not in subject.description
