"""`clew audit`: one clear line on stderr and exit code 2 for each mistake."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the subject must be one of TARGET, --data and --self-test, got none"),
        (["{models}:linear", "--self-test"], "got TARGET and --self-test"),
        (["{models}:linear", "--time", "day"], "options must be ones that go with TARGET, got --time"),
        (["--data", "a.csv", "b.csv", "--boundary", "full"], "ones that go with --data, got --boundary"),
        (["--self-test", "--html", "page.html"], "ones that go with --self-test, got --html"),
        (["{models}:linear", "--force"], "--force must be given with --html"),
        (["{models}:linear", "--boundary", "casual"], "got 'casual'. Did you mean 'causal'?"),
        (["{models}:linear", "--html", "{folder}"], "--html must be a new file, got a folder"),
        (["{models}:linear", "--html", "{folder}/no/page.html"], "--html must be in a folder that exists"),
        (["{models}"], "TARGET must be FILE.py:BUILD, package.module:BUILD or a folder"),
        (["{folder}/no.py:build"], "FILE must be a Python file that exists"),
        (["no.such.module:build"], "no.such.module must be importable, got ModuleNotFoundError: No module named 'no'"),
        (["{models}:liner"], "BUILD of {models} must be a function in it, got 'liner'. Did you mean 'linear'?"),
        (["{models}:number"], "must be a function, got int"),
        (["{models}:needing"], "must be callable without arguments, got one that needs width. Wrap it"),
        (["{models}:nothing"], "must be a function that gives a model or a dict of clew.audit arguments, got nothing"),
        (["{models}:raising"], "must be callable without an error, got ValueError: no weights here in line 39"),
        (["{models}:leaving"], "must be callable without an error, got SystemExit: 3 in line 40"),
        (["{models}:misspelled"], "must be arguments of clew.audit, got 'input'. Did you mean 'inputs'?"),
        (["{models}:without_model"], "must be one with 'model', got keys inputs"),
        (["{models}:time_first"], "must be one that reads (batch, time, features), got time first"),
        (["{models}:opaque"], "inputs must be given for a model whose layers do not show what it reads"),
        (["{models}:plain"], "inputs must be given for a model that is no torch module"),
        (["{models}:refusing"], "mat1 and mat2 shapes cannot be multiplied"),
        (["{models}:linear", "--inputs", "4x16"], "a shape with a known vocabulary, got no embedding in the model"),
        (["{models}:linear", "--inputs", "0x16x3"], "a shape of 1 to 268,435,456 numbers, got 0x16x3"),
        (["{models}:linear", "--inputs", "4by16"], "--inputs must be a shape such as 4x16, or a file that ends in"),
        (["{models}:linear", "--inputs", "{folder}/no.npy"], "--inputs must be a file that exists"),
        (["{models}:linear", "--inputs", "{folder}/empty.npy"], "must be a readable .npy file of plain"),
        (["{models}:linear", "--inputs", "{folder}/code.pt"], "code.pt must be a readable .pt file of plain tensors"),
        (["{models}:linear", "--vocab", "1"], "--vocab must be at least 2, got 1"),
        (["{folder}"], "must be a run folder, or one that holds runs, got none"),
        (["--data", "{folder}/a.csv"], "--data must be followed by two files, TRAIN and TEST, got 1"),
        (["--data", "a.csv", "b.csv"], "data must be files that exist, got 'a.csv'"),
        (["--data", "a.xls", "b.xls"], "data must be files that end in .csv, .parquet, .jsonl, .npz, .npy"),
        (["--data", "{folder}/a.npz", "{folder}/a.npz", "--time", "dya"], "got 'dya'. Did you mean 'day'?"),
        (["--data", "{folder}/empty.npz", "{folder}/a.npz"], "empty.npz must be a readable .npz file"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_line_and_exit_code_2(
    clew: Command, models: str, tmp_path: Path, words: list[str], said: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "empty.npy").write_bytes(b"")
    (folder / "empty.npz").write_bytes(b"")
    torch.save({"inputs": print}, folder / "code.pt")
    numpy.savez(folder / "a.npz", day=numpy.arange(3))
    filled = [word.format(models=models, folder=folder) for word in words]
    exit_code, out, err = clew("audit", *filled)
    assert (exit_code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("Error: ") and "Traceback" not in err
    assert said.format(models=models) in last


def test_a_file_that_cannot_be_run_is_one_line_and_its_traceback_comes_with_debug(
    clew: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("x = 1\ny = x / 0\n")
    (tmp_path / "misspelled_module.py").write_text("x = 1\ndef (:\n")
    target = f"{tmp_path}/broken_module.py:build"
    exit_code, _, err = clew("audit", target)
    assert exit_code == 2
    assert "must be importable, got ZeroDivisionError: division by zero in line 2. With --debug" in err
    assert len(err.splitlines()) == 1
    assert "SyntaxError: invalid syntax" in clew("audit", f"{tmp_path}/misspelled_module.py:build")[2]
    monkeypatch.setenv("CLEW_DEBUG", "")
    assert "Traceback" in clew("audit", target, "--debug")[2]


def test_a_damaged_run_is_one_line(clew: Command, write_run: Callable[..., Path], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"model": {"preset": "gur"}}))
    assert clew("audit", str(run))[0] == 2
    (run / "config.json").write_text(json.dumps(config | {"format": 99}))
    assert "format must be 1, got 99" in clew("audit", str(run))[2]
    (run / "config.json").write_text(json.dumps(config))
    (run / "best.safetensors").unlink()
    assert "must be one with selected weights, got no best.safetensors" in clew("audit", str(run))[2]


def test_a_page_of_several_runs_is_refused_with_one_to_name(clew: Command, comparison: str) -> None:
    exit_code, _, err = clew("audit", comparison, "--html", "page.html")
    assert exit_code == 2
    assert "--html must be given with one run, got a folder of 2. Name one of them, such as" in err


def test_tables_without_polars_say_what_to_install(
    clew: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    monkeypatch.setitem(sys.modules, "polars", None)
    exit_code, _, err = clew("audit", "--data", str(tmp_path / "a.csv"), str(tmp_path / "a.csv"))
    assert exit_code == 2
    assert "polars must be installed to read .csv, got no such package. Install it with `pip install polars`" in err
