"""`clew trace`: what it prints, what it writes, and one clear line for what goes wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from clew.errors import RunError
from clew.lab.plan import RunPlan
from clew.lab.recall.recipes import recall_recipe
from clew.report.trace import run_trace
from clew.report.trace_paths import step_tables
from clew.report.trace_subject import make_subject
from clew.runs import RunFolder
from clew.tasks import CueRecall
from clew.training import TrainConfig, save_weights

Command = Callable[..., tuple[int, str, str]]
TEXT = "A journey of a thousand miles begins"
WIDTH = 100


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run folder of an untrained GRU, as `clew recall` leaves one."""
    recipe, task = recall_recipe("gru", TrainConfig(epochs=1)), CueRecall(8)
    plan = RunPlan(recipe, {"name": task.name, "config": task.config()}, 1, 0, {})
    folder = RunFolder(tmp_path / "run")
    folder.begin(plan.config())
    save_weights(recipe.build(1).state_dict(), folder.best, epoch=1)
    return folder.path


@pytest.mark.parametrize("model", ["rnn", "gru", "lstm", "transformer", "worked"])
def test_every_model_prints_its_quantities_in_a_hundred_columns(clew: Command, model: str) -> None:
    exit_code, out, err = clew("trace", TEXT, "--model", model, "--backward")
    lines = out.split("\n")
    assert (exit_code, err) == (0, "")
    assert max(map(len, lines)) <= WIDTH
    assert "next-token loss" in " ".join(lines[:3]) and "checked against what ran" in " ".join(lines[:3])
    assert "1 journey" in out and "begins" not in out  # the last word is only predicted
    name = "encoder.blocks.0.attention.weights" if model in ("transformer", "worked") else "encoder.recurrent.0.state"
    assert any(line.startswith(name) for line in lines)


def test_the_words_of_the_text_are_the_vocabulary(clew: Command) -> None:
    _, out, _ = clew("trace", "To be, or not to be!", "--model", "gru", "--show", "ids", "--json")
    content = json.loads(out)
    assert content["vocabulary"] == ["to", "be", "or", "not"]
    assert content["rows"] == [["to", "be", "or", "not", "to", "be"]]
    assert content["quantities"][0]["value"] == [[0, 1, 2, 3, 0, 1]]
    assert content["loss_nats"] is None and content["quantities"][0]["sensitivity"] is None


def test_recurrent_sensitivities_are_split_along_time(clew: Command) -> None:
    _, out, _ = clew("trace", TEXT, "--model", "lstm", "--backward")
    lines = out.split("\n")
    start = lines.index("encoder.recurrent.0: sensitivities along time, norms")
    assert lines[start + 1].split()[:4] == ["step", "direct", "later", "state"]
    assert lines[start + 1].split()[-2:] == ["path", "bound"]
    first, last = lines[start + 2].split(), lines[start + 7].split()
    assert float(first[-2]) <= float(first[-1]) and last[-2:] == ["-", "-"]
    assert last[3] == "0"  # nothing comes after the last step


def test_norms_along_time_are_those_of_the_ledger() -> None:
    trace = run_trace(make_subject(TEXT, "lstm", True), backward=True)
    (table,) = step_tables(trace.ledger, 0, trace.tokens(0))
    place = {name: column for column, name in enumerate(table.columns)}
    state = trace.ledger.quantity("encoder.recurrent.0.state").at(batch=0)
    for start in range(5):
        path = trace.ledger.path("encoder.recurrent.0", 0, start, 5)
        assert table.rows[start][place["path"]] == pytest.approx(float(path["norm"]), rel=1e-4)
        assert table.rows[start][place["bound"]] == pytest.approx(float(path["bound"]), rel=1e-4)
        assert table.rows[start][place["later"]] == pytest.approx(state.terms["later"][start].norm().item(), rel=1e-4)
    assert table.rows[5][place["path"]] is None


def test_attention_shows_what_a_rule_hid(clew: Command) -> None:
    _, out, _ = clew("trace", TEXT, "--show", "attention.weights", "--backward")
    assert "hidden: by causal" in out
    assert any(line.split()[-5:] == ["hidden"] * 5 for line in out.split("\n"))


def test_the_worked_example_has_the_weights_of_the_text(clew: Command) -> None:
    _, out, _ = clew("trace", TEXT, "--model", "worked", "--show", "*.attention.weights", "--json")
    (weights,) = json.loads(out)["quantities"]
    assert sum(weights["value"][0][0][5]) == pytest.approx(1.0)
    assert weights["shape"] == [1, 2, 7, 7] and weights["hidden_by"] == {}


def test_a_step_is_shown_alone_with_the_arithmetic_of_a_cell(clew: Command) -> None:
    _, out, _ = clew("trace", TEXT, "--model", "gru", "--show", "state", "--step", "2")
    after = out.split("encoder.recurrent.0.state", 1)[1]
    assert "2 of" in after and "1 journey" not in after
    assert "in words, time 2, hidden 0" in after and "*" in after.split("in words")[1]


def test_a_file_has_a_row_a_line(clew: Command, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("One two three four\n\nfive two\n", encoding="utf-8")
    exit_code, out, _ = clew("trace", str(path), "--model", "rnn", "--row", "1", "--show", "state", "--backward")
    assert exit_code == 0
    assert "in 2 rows" in out and "0 five" in out and "1 padding" in out and "0 one" not in out


def test_long_texts_are_cut_and_the_cut_is_said(clew: Command) -> None:
    text = " ".join(f"word{place}" for place in range(40))
    _, out, _ = clew("trace", text, "--model", "transformer", "--show", "weights")
    assert max(len(line) for line in out.split("\n")) <= WIDTH
    assert "query 8 to 31 of 40 are cut; source 4 to 35 of 40 are cut" in out


def test_html_writes_a_page_with_the_words(clew: Command, tmp_path: Path) -> None:
    path = tmp_path / "trace.html"
    exit_code, _, err = clew("trace", TEXT, "--model", "rnn", "--backward", "--html", str(path))
    assert (exit_code, err) == (0, f"Page: {path}\n")
    page = path.read_text()
    assert "a journey of a thousand miles begins" in page and "Sensitivity along time" in page
    assert "default-src 'none'" in page and "<script" not in page


def test_a_run_folder_reads_the_words_of_its_task(clew: Command, run_folder: Path) -> None:
    exit_code, out, _ = clew("trace", "bos Up left RECALL up", "--model", str(run_folder), "--show", "state")
    assert exit_code == 0
    assert out.startswith("gru, trained on cue recall at delay 8 for 1 epoch; 5 words;")
    assert "0 BOS" in out and "3 RECALL" in out
    exit_code, out, _ = clew("trace", "--model", str(run_folder), "--json", "--show", "ids")
    words = json.loads(out)["rows"][0]
    assert exit_code == 0 and words[0] == "BOS" and words[-1] == "EOS" and len(words) == 13


def test_equal_commands_print_equal_text(clew: Command) -> None:
    words = ("trace", TEXT, "--model", "lstm", "--backward", "--json")
    assert clew(*words) == clew(*words)


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["", "--model", "gru"], 1, "clew trace: text must be at least one word, got none."),
        (["... !"], 1, "clew trace: text must be at least one word, got none."),
        ([], 2, "clew trace: TEXT must be given with this model, got none. Put it in quotes."),
        ([TEXT, "--model", "lsmt"], 2, "got 'lsmt'. Did you mean 'lstm'?"),
        ([TEXT, "--show", "wieghts"], 2, "must be the name of a quantity, got 'wieghts'. Did you mean 'weights'?"),
        ([TEXT, "--model", "gru", "--show", "recurrent.0.stat"], 2, "Did you mean 'encoder.recurrent.0.state'?"),
        ([TEXT, "--model", "gru", "--show", "state.sensitivity"], 2, "got none yet. Add --backward."),
        ([TEXT, "--row", "1"], 2, "--row must be in [0, 1), a line of the text, got 1."),
        ([TEXT, "--backward", "--step", "6"], 2, "--step must be in [0, 6), a word that is read; the last word is"),
        (["hello", "--backward"], 1, "text must be at least 2 words a line with --backward, got 1."),
        (["a jorney", "--model", "worked"], 1, "got 'jorney' at position 1. Known words: a, journey, of, thousand,"),
        (["a b " * 300], 1, "at most 512 words, the size of the model's position table, got 600. Shorten it, or take"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_one_line(clew: Command, words: list[str], exit_code: int, said: str) -> None:
    found, out, err = clew("trace", *words)
    assert (found, out) == (exit_code, "")
    assert err.startswith("Error: ") and err.count("\n") == 1
    assert said in err


def test_run_folders_that_cannot_be_read_are_one_line(run_folder: Path, tmp_path: Path) -> None:
    config = json.loads((run_folder / "config.json").read_text())
    with pytest.raises(
        RunError, match=r"must be one that holds config\.json, got none\. Name one of its runs, such as"
    ):
        make_subject(None, str(tmp_path), False)
    (run_folder / "config.json").write_text(json.dumps(config | {"format": 2}))
    with pytest.raises(RunError, match=r"format must be 1, got 2\. Trace it with the version of clew that made it\."):
        make_subject(None, str(run_folder), False)
    (run_folder / "config.json").write_text(json.dumps(config | {"model": config["model"] | {"memory": 3}}))
    with pytest.raises(RunError, match="run must be one of this version of clew, got another one"):
        make_subject(None, str(run_folder), False)
    (run_folder / "config.json").write_text(json.dumps(config))
    (run_folder / "best.safetensors").write_bytes(b"cut off")
    with pytest.raises(RunError, match="a damaged one"):
        make_subject(None, str(run_folder), False)


def test_a_run_of_other_sources_is_traced_and_says_so(run_folder: Path) -> None:
    config = json.loads((run_folder / "config.json").read_text())
    (run_folder / "config.json").write_text(json.dumps(config | {"sources": "other"}))
    assert make_subject(None, str(run_folder), False).description.endswith(", by other sources of clew than these")


def test_unknown_words_of_a_run_are_refused_with_the_known_ones(clew: Command, run_folder: Path) -> None:
    exit_code, _, err = clew("trace", "BOS forward", "--model", str(run_folder))
    assert exit_code == 1
    assert "got 'forward' at position 1. Known words: up, right, down, left, BOS, EOS, RECALL." in err


def test_tracing_leaves_the_generator_of_torch_alone(clew: Command) -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    clew("trace", TEXT, "--model", "transformer")
    assert torch.equal(torch.rand(1), expected)
