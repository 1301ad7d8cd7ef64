"""`clew trace` and `clew audit` on runs of every task: what they read, with which loss, and what they refuse."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from clew.cli.audit_runs import run_arguments
from clew.data import SequenceData
from clew.runs import RunFolder, load
from cli.own_files import write_images, write_table, write_text, write_treebank
from runs.small_runs import train

Clew = Callable[..., tuple[int, str, str]]
TASKS = ("classification", "tagging", "next_token", "forecasting", "regression")
BRIEF = ("--set", "training.epochs=1", "--set", "model.hidden=8")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A run of each task, on arrays."""
    root = tmp_path_factory.mktemp("runs")
    for task in TASKS:
        train(task, root / task, training={"epochs": 1, "batch_size": 30})
    return root


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=() if task == "classification" else pytest.mark.slow) for task in TASKS]
)
def test_runs_of_every_task_pass_the_audit_on_their_training_part(clew: Clew, runs: Path, task: str) -> None:
    code, out, _ = clew("audit", str(runs / task), "--json")
    report = json.loads(out)
    assert (code, report["failures"]) == (0, [])
    status = {finding["name"]: finding["status"] for finding in report["findings"]}
    wanted = ["padding_content", "padding_side", "loss_weight", "target_shift"]
    wanted += ["future", "cache"] if task in ("next_token", "forecasting") else []
    assert {name: status[name] for name in wanted} == dict.fromkeys(wanted, "passed")


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_of_the_audit_is_the_loss_of_training(runs: Path, task: str) -> None:
    _, arguments = run_arguments(RunFolder(runs / task))
    one = load(runs / task)
    logits = arguments["call"](one.model, arguments["inputs"], arguments["valid"]).logits
    assert arguments["boundary"] == one.task.boundary
    value = arguments["loss"](logits, arguments["targets"])
    if task == "classification":
        assert value.item() == pytest.approx(torch.nn.functional.cross_entropy(logits, arguments["targets"]).item())
    if task in ("next_token", "tagging"):
        expected = torch.nn.functional.cross_entropy(logits.mT, arguments["targets"])
        assert value.item() == pytest.approx(expected.item())
        assert arguments["targets"].eq(-100).any()
    if task == "forecasting":
        errors = (logits - arguments["targets"]).square()
        assert value.item() == pytest.approx(errors[~errors.isnan()].mean().item(), rel=1e-5)


def test_a_run_without_its_training_part_is_audited_on_drawn_inputs(clew: Clew, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "tagging", tmp_path / "run", ignore=shutil.ignore_patterns("train"))
    _, arguments = run_arguments(RunFolder(tmp_path / "run"))
    assert arguments["inputs"].shape == (4, 12, 3) and "loss" not in arguments
    assert arguments["valid"].sum(dim=1).tolist() == [12, 9, 7, 12]


@pytest.mark.parametrize("task", TASKS)
def test_runs_of_every_task_are_traced_forward_and_backward(clew: Clew, runs: Path, task: str) -> None:
    code, out, err = clew("trace", str(runs / task), "--row", "1", "--backward", "--json")
    found, one = json.loads(out), load(runs / task)
    assert (code, err) == (0, "") and len(found["rows"]) == 1
    data = one.folder.path / "train"
    batch = SequenceData.open(data).select(torch.tensor([1]))
    assert found["loss_nats"] == pytest.approx(one.task.loss(one.model, batch).item(), rel=1e-5)
    code, out, _ = clew("trace", str(runs / task))
    assert code == 0 and max(map(len, out.split("\n"))) <= 100 and "checked against what ran" in out


def test_a_row_that_is_not_there_and_a_run_without_data(clew: Clew, runs: Path, tmp_path: Path) -> None:
    code, _, err = clew("trace", str(runs / "regression"), "--row", "90")
    assert code == 2 and "--row must be in [0, 90), a sequence of the training part, got 90" in err
    shutil.copytree(runs / "regression", tmp_path / "run", ignore=shutil.ignore_patterns("train"))
    code, _, err = clew("trace", str(tmp_path / "run"))
    assert code != 0 and "training part must be kept in the run, got none. Name what it should read" in err
    code, _, err = clew("trace", str(runs / "regression"), "some words")
    assert code != 0 and "FILE must be a file, got 'some words'" in err and len(err.splitlines()) == 1
    code, _, err = clew("trace", str(runs / "regression"), "--model", "gru")
    assert code == 2 and "the model must be named once" in err


def test_text_is_traced_with_the_characters_of_the_run(clew: Clew, here: Path) -> None:
    write_text(here / "t.txt")
    assert clew("train", "t.txt", "--task", "next_token", *BRIEF, "--set", "data.context=32", "-o", "run")[0] == 0
    found = json.loads(clew("trace", "run", "the cat", "--backward", "--json")[1])
    assert found["rows"] == [["t", "h", "e", "␣", "c", "a", "t"]]
    ids = next(one for one in found["quantities"] if one["name"].endswith("ids"))
    assert [found["vocabulary"][number] for number in ids["value"][0]] == found["rows"][0][:-1]
    code, out, _ = clew("trace", "run", "the cat", "--backward", "--step", "4")
    assert code == 0 and "4 c" in out
    assert clew("trace", "--model", "run", "the cat")[0] == 0
    assert json.loads(clew("trace", "run", "a z", "--json")[1])["rows"] == [["a", "␣", "<unk>"]]


def test_a_sequence_of_a_file_is_traced_by_its_row(clew: Clew, here: Path) -> None:
    write_table(here / "a.csv")
    write_table(here / "new.csv", 5, label=False, seed=7)
    assert clew("train", "a.csv", *BRIEF, "-o", "table")[0] == 0
    found = json.loads(clew("trace", "table", "new.csv", "--row", "3", "--json")[1])
    one = load(here / "table").predict("new.csv")
    assert found["rows"] == [[""] * int(one.lengths[3])]
    assert clew("trace", "table", "new.csv", "--row", "3", "--html", "page.html")[0] == 0
    assert "Sequence s003 of new.csv." in (here / "page.html").read_text()
    assert clew("trace", "table", "new.csv", "--backward")[0] != 0  # no labels, no loss


def test_a_treebank_is_traced_with_its_words_and_audited_by_whole_steps(clew: Clew, here: Path) -> None:
    write_treebank(here / "b.conllu")
    assert clew("train", "b.conllu", *BRIEF, "-o", "tags")[0] == 0
    row = json.loads(clew("trace", "tags", "--json")[1])["rows"][0]
    assert set(row) <= {"o", "gato", "come", "peixe", "e", "dorme", "azul", "<unk>"}
    audits = {one["subject"]: one["status"] for one in json.loads((here / "tags" / "audit.json").read_text())["audits"]}
    assert audits["the model"] == "passed"
    assert clew("audit", "tags")[0] == 0


@pytest.mark.slow
def test_images_are_traced_and_audited_by_patches(clew: Clew, here: Path) -> None:
    write_images(here / "c.npz")
    assert clew("train", "c.npz", *BRIEF, "--set", "model.patch=2", "-o", "images")[0] == 0
    assert json.loads(clew("trace", "images", "--json")[1])["rows"] == [["class", "0.0", "0.1", "1.0", "1.1"]]
    assert clew("audit", "images")[0] == 0
