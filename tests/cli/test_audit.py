"""`clew audit`: what it audits, what it prints and writes, and whether it found something."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from safetensors.torch import save_file

from clew.checks.planted import PLANTED, Outcome
from clew.tasks import NextToken

Command = Callable[..., tuple[int, str, str]]
EXAMPLE = Path(__file__).parents[2] / "examples" / "audit_attention.py"


# What is audited


def test_the_leaking_example_fails_and_names_the_layer(clew: Command) -> None:
    exit_code, out, err = clew("audit", f"{EXAMPLE}:leaking")
    assert exit_code == 1
    assert "reads the future" in out and "layers.0" in out
    assert err == "Inputs: random ids (3, 12) of 23, guessed from `tokens`, an Embedding; --inputs gives others.\n"


@pytest.mark.slow
def test_the_repaired_example_passes(clew: Command) -> None:
    exit_code, out, _ = clew("audit", f"{EXAMPLE}:repaired", "--json")
    assert exit_code == 0
    assert json.loads(out)["failures"] == []


@pytest.mark.parametrize(
    ("build", "shape", "vocab", "said"),
    [
        ("linear", (3, 12, 3), None, "random values (3, 12, 3), guessed from `Linear`, a Linear"),
        ("twelve", (3, 13, 12), None, "random values (3, 13, 12)"),
        ("recurrent", (3, 12, 3), None, "`GRU`, a GRU"),
        ("convolution", (3, 12, 3), None, "`0`, a Conv1d"),
        ("normed", (3, 12, 8), None, "`self_attn`, a MultiheadAttention"),
        ("built", (3, 12, 3), None, "a Linear"),
        ("Reader", (3, 12), 9, "random ids (3, 12) of 9, guessed from `tokens`"),
        ("of_ids", (3, 12), 5, "random ids (3, 12) of 5"),
    ],
)
def test_inputs_are_guessed_from_the_first_layer_and_that_is_said(
    clew: Command, models: str, audited: list[dict[str, Any]], build: str, shape: tuple[int, ...], vocab: Any, said: str
) -> None:
    exit_code, out, err = clew("audit", f"{models}:{build}")
    assert exit_code == 0 and "future" in out
    assert audited[0]["inputs"].shape == shape
    assert audited[0].get("vocab") == vocab
    assert said in err
    if vocab == 9:
        assert 0 not in audited[0]["inputs"]  # the padding id of the table


def test_a_model_of_keywords_gets_its_ids_and_a_mask_by_name(
    clew: Command, models: str, audited: list[dict[str, Any]]
) -> None:
    clew("audit", f"{models}:Hugging")
    assert {name: value.shape for name, value in audited[0]["inputs"].items()} == {
        "input_ids": (3, 12),
        "attention_mask": (3, 12),
    }


def test_a_dict_of_arguments_is_taken_as_it_is_and_the_command_line_comes_first(
    clew: Command, models: str, audited: list[dict[str, Any]]
) -> None:
    _, _, err = clew("audit", f"{models}:of_arguments")
    assert (audited[0]["boundary"], audited[0]["inputs"].shape) == ("full", (2, 5, 3))
    assert "guessed" not in err
    clew("audit", f"{models}:of_arguments", "--boundary", "causal", "--inputs", "4x6x3")
    assert (audited[1]["boundary"], audited[1]["inputs"].shape) == ("causal", (4, 6, 3))


def test_a_module_is_named_by_its_place_too(
    clew: Command, models: str, audited: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(models).parent)
    Path("audited_package").mkdir()
    Path("audited_package/inside.py").write_text("from torch import nn\ndef build(): return nn.Linear(3, 2)\n")
    assert clew("audit", "audited_package.inside:build")[0] == 0
    assert isinstance(audited[0]["model"], torch.nn.Linear)


def test_the_same_command_audits_the_same_weights(clew: Command, models: str, audited: list[dict[str, Any]]) -> None:
    clew("audit", f"{models}:linear")
    torch.rand(3)
    clew("audit", f"{models}:linear")
    assert torch.equal(audited[0]["model"].weight, audited[1]["model"].weight)


@pytest.mark.parametrize("name", ["ids.npy", "ids.npz", "ids.safetensors", "ids.pt"])
def test_inputs_come_from_a_file(
    clew: Command, models: str, audited: list[dict[str, Any]], tmp_path: Path, name: str
) -> None:
    ids, path = torch.randint(0, 9, (2, 5), dtype=torch.int32), tmp_path / name
    match path.suffix:
        case ".npy":
            numpy.save(path, ids.numpy())
        case ".npz":
            numpy.savez(path, ids=ids.numpy())
        case ".safetensors":
            save_file({"ids": ids}, path)
        case _:
            torch.save(ids, path)
    assert clew("audit", f"{models}:Reader", "--inputs", str(path))[0] == 0
    assert torch.equal(audited[0]["inputs"], ids.long())


def test_a_file_of_arguments_and_one_of_keywords(
    clew: Command, models: str, audited: list[dict[str, Any]], tmp_path: Path
) -> None:
    numpy.savez(tmp_path / "arguments.npz", inputs=numpy.ones((2, 5, 3)), lengths=numpy.array([5, 3]))
    save_file(
        {"input_ids": torch.ones(2, 5).long(), "attention_mask": torch.ones(2, 5).long()}, tmp_path / "k.safetensors"
    )
    clew("audit", f"{models}:double", "--inputs", str(tmp_path / "arguments.npz"))
    clew("audit", f"{models}:Hugging", "--inputs", str(tmp_path / "k.safetensors"))
    assert audited[0]["inputs"].dtype == torch.float64 and audited[0]["lengths"].tolist() == [5, 3]
    assert set(audited[1]["inputs"]) == {"input_ids", "attention_mask"}


def test_a_shape_of_ids_takes_its_vocabulary_from_the_table_or_the_command_line(
    clew: Command, models: str, audited: list[dict[str, Any]]
) -> None:
    clew("audit", f"{models}:Reader", "--inputs", "4x16")
    clew("audit", f"{models}:linear", "--inputs", "4x16", "--vocab", "50")
    assert (audited[0]["inputs"].shape, audited[0]["vocab"]) == ((4, 16), 9)
    assert audited[1]["vocab"] == 50 and audited[1]["inputs"].max() > 9


# Runs


def test_a_run_is_audited_with_its_tasks_boundary_loss_and_episodes(
    clew: Command, audited: list[dict[str, Any]], write_run: Callable[..., Path], tmp_path: Path
) -> None:
    assert clew("audit", str(write_run(tmp_path / "run")))[0] == 0
    arguments = audited[0]
    assert (arguments["boundary"], arguments["inputs"].shape, arguments["vocab"]) == ("causal", (4, 12), 7)
    logits = arguments["call"](arguments["model"], arguments["inputs"], None).logits
    loss = arguments["loss"](logits, arguments["targets"])
    assert loss.item() == pytest.approx(torch.nn.functional.cross_entropy(logits.mT, arguments["targets"]).item())
    assert not arguments["targets"].eq(-100).any()


def test_next_token_runs_are_audited_with_padding(
    clew: Command, audited: list[dict[str, Any]], write_run: Callable[..., Path], tmp_path: Path
) -> None:
    clew("audit", str(write_run(tmp_path / "run", task=NextToken(7))))
    assert audited[0]["valid"].sum(dim=1).tolist() == [12, 10, 8, 12]
    assert audited[0]["targets"].eq(-100).any()


def test_a_run_passes_the_whole_audit(clew: Command, write_run: Callable[..., Path], tmp_path: Path) -> None:
    exit_code, out, err = clew("audit", str(write_run(tmp_path / "run")), "--json")
    report = json.loads(out)
    assert (exit_code, err, report["failures"]) == (0, "", [])
    status = {finding["name"]: finding["status"] for finding in report["findings"]}
    assert {status[name] for name in ("future", "target_shift", "ignored_targets", "loss_weight")} == {"passed"}


def test_a_folder_of_runs_is_audited_run_by_run(clew: Command, audited: list[dict[str, Any]], comparison: str) -> None:
    exit_code, out, _ = clew("audit", comparison)
    assert exit_code == 0 and len(audited) == 2
    assert out.splitlines()[0] == "2 runs audited, 0 failed"
    assert "gru, delay 8, seed 1  passed" in out
    printed = json.loads(clew("audit", comparison, "--json")[1])
    assert printed["passed"] is True
    assert [run["run"] for run in printed["runs"]] == ["gru, delay 8, seed 1", "rnn, delay 8, seed 2"]


def test_a_failed_run_of_a_folder_is_told_in_full(clew: Command, failing: None, comparison: str) -> None:
    exit_code, out, _ = clew("audit", comparison)
    assert exit_code == 1
    assert "2 runs audited, 2 failed" in out and "failed: future" in out and "reads a later step, 5" in out


# Data


@pytest.fixture
def splits(tmp_path: Path) -> list[str]:
    """A training, a test and a validation table; the test shares a group with the training data."""
    pytest.importorskip("polars")
    rows = {"train": ("a", 1), "test": ("a", 5), "validation": ("b", 3)}
    for name, (group, start) in rows.items():
        lines = [f"{start + row},{group},{start * 7 + row * 1.5}" for row in range(2)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["day,person,value", *lines]))
    return [str(tmp_path / f"{name}.csv") for name in rows]


def test_data_is_audited_from_tables(clew: Command, splits: list[str]) -> None:
    train, test, validation = splits
    assert clew("audit", "--data", train, test, "--time", "day", "--validation", validation)[0] == 0
    exit_code, out, _ = clew("audit", "--data", train, test, "--group", "person", "--json")
    assert (exit_code, json.loads(out)["failures"]) == (1, ["split_overlap"])


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".npz", ".npy"])
def test_every_kind_of_file_is_read(clew: Command, splits: list[str], tmp_path: Path, suffix: str) -> None:
    import polars

    paths = []
    for path in splits[:2]:
        table, to = polars.read_csv(path), tmp_path / f"{Path(path).stem}{suffix}"
        match suffix:
            case ".parquet":
                table.write_parquet(to)
            case ".jsonl":
                table.write_ndjson(to)
            case ".npz":
                numpy.savez(to, day=table["day"].to_numpy(), more=table.select("value").to_numpy())
            case _:
                numpy.save(to, table.select("day", "value").to_numpy())
        paths.append(str(to))
    column = "0" if suffix == ".npy" else "day"
    assert clew("audit", "--data", *paths, "--time", column)[0] == 0
    assert clew("audit", "--data", *reversed(paths), "--time", column)[0] == 1


# What is printed and written


def test_json_is_strict_and_stdout_holds_nothing_else(clew: Command, models: str, failing: None) -> None:
    exit_code, out, err = clew("audit", f"{models}:linear", "--json")
    assert exit_code == 1
    printed = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert printed["findings"][0]["movement"] == "Infinity"
    assert "hello from the module" in err


def test_a_page_is_written_once_and_replaced_only_when_told(
    clew: Command, models: str, audited: list[dict[str, Any]], tmp_path: Path
) -> None:
    page = tmp_path / "audit.html"
    exit_code, _, err = clew("audit", f"{models}:linear", "--html", str(page))
    assert exit_code == 0 and f"Page: {page}" in err and page.read_text().startswith("<!")
    page.write_text("mine")
    exit_code, out, err = clew("audit", f"{models}:linear", "--html", str(page))
    assert (exit_code, out, page.read_text(), len(audited)) == (2, "", "mine", 1)
    assert err == f"Error: clew audit: --html must be a new file, got a file that is there, {page}. Add --force.\n"
    assert clew("audit", f"{models}:linear", "--html", str(page), "--force")[0] == 0
    assert page.read_text() != "mine"


def test_the_self_test_prints_its_table(clew: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.checks.planted.PLANTED", PLANTED[:1])
    exit_code, out, err = clew("audit", "--self-test")
    assert (exit_code, err) == (0, "")
    assert PLANTED[0].check in out


@pytest.mark.parametrize(
    ("failures", "alarms", "code"),
    [(["future"], [], 0), ([], [], 1), (["future", "modes"], [], 1), (["future"], ["modes"], 1)],
)
def test_a_self_test_that_misses_a_fault_or_cries_wolf_fails(
    clew: Command, monkeypatch: pytest.MonkeyPatch, failures: list[str], alarms: list[str], code: int
) -> None:
    plant = next(plant for plant in PLANTED if plant.check == "future")
    outcome = Outcome(plant, tuple(failures), tuple(alarms))
    monkeypatch.setattr("clew.checks.planted.run_self_test", lambda plants: iter([outcome]))
    exit_code, out, _ = clew("audit", "--self-test", "--json")
    printed = json.loads(out)
    assert (exit_code, printed["passed"]) == (code, code == 0)
    assert printed["planted"][0]["failures"] == failures
