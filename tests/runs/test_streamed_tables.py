"""A table that is converted on disk is planned as one in memory: the same parts, numbers, notes and run."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clew
from clew.cli import main
from clew.data import SequenceData
from clew.errors import ConfigError, DataError
from clew.runs.planning import TrainingPlan

COLUMNS = ("id", "time", "x", "word", "label")
SPLITS = {
    "given": ((*COLUMNS, "split", "group"), [], "split by 'split': "),
    "group": ((*COLUMNS, "group"), [], "split by 'group': "),
    "stratified": (COLUMNS, [], "split at random, by class (seed 0): "),
    "random": (COLUMNS, ["split.stratify=false", "split.seed=3"], "split at random (seed 3): "),
    "time": (COLUMNS, ["split.how=time"], "split by time: "),
    "group although given": ((*COLUMNS, "split", "group"), ["split.how=group"], "split by 'group': "),
}


def write(path: Path, columns: tuple[str, ...] = COLUMNS, count: int = 60, seed: int = 0, **others: Any) -> Path:
    """Write sequences of 1 to 6 steps; groups of 4 are scattered, and times do not follow the file."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 7, count)
    numbers = np.repeat(np.arange(count), lengths)
    steps = np.concatenate([np.arange(length) for length in lengths])
    parts = np.array(["train", "validation", "train", "test"])[generator.permutation(count) % 4]
    cells = {
        "id": np.char.add("s", numbers.astype(str)),
        "time": generator.permutation(count)[numbers] * 100 + steps,
        "x": generator.normal(size=len(steps)),
        "word": generator.choice(["red", "blue"], len(steps)),
        "label": np.array(["u", "v", "w"])[numbers % 3],
        "split": parts[numbers],
        "group": np.char.add("g", (numbers % 15).astype(str)),
    }
    pl.DataFrame({name: cells[name] for name in columns} | {k: v(numbers) for k, v in others.items()}).write_csv(path)
    return path


def plan(path: Path, stream: bool, *overrides: str, **arguments: Any) -> TrainingPlan:
    settings = [f"data.stream={str(stream).lower()}", f"data.cache={path.parent / 'cache'}", *overrides]
    return clew.plan_training(path, overrides=settings, **arguments)


def parts_of(plan: TrainingPlan) -> list[SequenceData | None]:
    return [plan.train, plan.validation, plan.test]


def assert_same(streamed: TrainingPlan, whole: TrainingPlan) -> None:
    for mine, theirs in zip(parts_of(streamed), parts_of(whole), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            assert list(mine.ids) == list(theirs.ids) and mine.fingerprint() == theirs.fingerprint()
    assert streamed.preparation == whole.preparation and streamed.task.config() == whole.task.config()
    assert [note for note in streamed.notes if "on disk" not in note] == whole.notes
    assert streamed.config["split"] == whole.config["split"] and streamed.config["columns"] == whole.config["columns"]


@pytest.mark.parametrize("name", SPLITS)
def test_parts_are_those_in_memory(tmp_path: Path, name: str) -> None:
    columns, overrides, words = SPLITS[name]
    path = write(tmp_path / "a.csv", columns)
    streamed, whole = (plan(path, stream, *overrides, task="classification") for stream in (True, False))
    assert_same(streamed, whole)
    assert [note for note in streamed.notes if note.startswith(words)], streamed.notes


def test_no_group_is_in_two_parts(tmp_path: Path) -> None:
    streamed = plan(write(tmp_path / "a.csv", (*COLUMNS, "group")), True, task="classification")
    groups = [{int(name[1:]) % 15 for name in part.ids} for part in parts_of(streamed) if part is not None]
    assert len(groups) == 3 and sum(map(len, groups)) == 15 == len(set.union(*groups))


@pytest.mark.parametrize("given_apart", [("validation",), ("test",), ("validation", "test")])
@pytest.mark.parametrize("columns", [(*COLUMNS, "group"), (*COLUMNS, "split")])
def test_files_of_other_parts_are_converted_with_what_training_fitted(
    tmp_path: Path, given_apart: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    path = write(tmp_path / "a.csv", columns)
    others = {name: write(tmp_path / f"{name}.csv", columns, 9, seed=len(name)) for name in given_apart}
    streamed, whole = (plan(path, stream, task="classification", **others) for stream in (True, False))
    assert_same(streamed, whole)
    assert sum("on disk" in note for note in streamed.notes) == 1 + len(given_apart)


def test_lists_without_a_name_of_sequences_take_a_validation_file(tmp_path: Path) -> None:
    rows = '{"x": [1, 2], "label": "u"}\n{"x": [3], "label": "v"}\n'
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(rows * 3)
    plans = [plan(tmp_path / "a.jsonl", stream, validation=tmp_path / "b.jsonl") for stream in (True, False)]
    assert list(plans[0].validation.ids) == list(plans[1].validation.ids) == list("123456")
    assert plans[0].validation.fingerprint() == plans[1].validation.fingerprint()


def test_a_validation_file_must_have_the_label(tmp_path: Path) -> None:
    path, other = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", ("id", "time", "x", "word"), 9)
    with pytest.raises(DataError, match=r"b\.csv: column must be in the file, got 'label'"):
        plan(path, True, task="classification", validation=other)


def test_classes_that_training_lacks_count_as_wrong_where_parts_are_drawn(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", (*COLUMNS, "split"))
    frame = pl.read_csv(path)
    rare = pl.when((pl.col("split") == "validation") & (pl.col("label") == "w")).then(pl.lit("q"))
    frame.with_columns(rare.otherwise("label").alias("label")).write_csv(path)
    streamed, whole = (plan(path, stream, task="classification") for stream in (True, False))
    assert_same(streamed, whole)
    assert [note for note in streamed.notes if "of the validation part of classes that training lacks" in note]
    with pytest.raises(DataError, match="class must be one of the 3 that training has, got 'q'"):
        plan(path, True, "data.allow_unseen=false", task="classification")


@pytest.mark.parametrize("task", ["tagging", "next_token", "regression"])
def test_the_other_tasks_are_those_in_memory(tmp_path: Path, task: str) -> None:
    if task == "next_token":
        path = write(tmp_path / "a.csv", ("id", "time"), word=lambda numbers: np.array(["a", "b", "c"])[numbers % 3])
        frame = pl.read_csv(path)
        pl.concat([frame, frame.with_columns(pl.col("time") + 50)]).sort("id", "time").write_csv(path)
    elif task == "regression":
        path = write(tmp_path / "a.csv", ("id", "x"), target=lambda numbers: numbers / 7)
    else:
        path = write(tmp_path / "a.csv", ("id", "x"), tag=lambda n: np.array(["A", "B"])[np.arange(len(n)) % 2])
    assert_same(plan(path, True, task=task), plan(path, False, task=task))
    guessed = plan(path, True)
    assert guessed.task.name == task and guessed.notes[0].startswith(f"task {task}: ")
    assert guessed.notes[0].endswith(", in the start of the file")


def test_regression_does_not_copy_the_steps(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ("id", "x"), target=lambda numbers: numbers / 7)
    assert isinstance(plan(path, True, task="regression").train._inputs, np.memmap)


def test_a_run_from_disk_is_the_run_from_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", (*COLUMNS, "group"))
    small = ("training.epochs=2", "model.hidden=4")
    runs = [plan(path, stream, *small).fit(tmp_path / str(stream)) for stream in (True, False)]
    assert runs[0].folder.last.read_bytes() == runs[1].folder.last.read_bytes()
    predicted = [clew.load(run.path).predict(path).to_frame() for run in runs]
    assert predicted[0].equals(predicted[1])


def test_the_command_line_trains_from_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", (*COLUMNS, "group"))
    words = ("--set", "data.stream=true", "--set", "training.epochs=1", "--set", "model.hidden=4", "--out", "run")
    code, said = main(["train", "a.csv", *words]), capsys.readouterr()
    assert code == 0, said.err
    assert "split by 'group': " in said.out + said.err and "converted on disk: runs/cache/a-" in said.out + said.err
    assert main(["evaluate", "run"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("how", [[], ["split.how=time"], ["split.how=random"]])
def test_one_sequence_is_not_cut_in_a_stream(tmp_path: Path, how: list[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,x,tag\n" + "".join(f"{step},{step % 7},{'AB'[step % 2]}\n" for step in range(50)))
    with pytest.raises(DataError) as error:
        plan(path, True, *how, task="tagging")
    assert str(error.value) == (
        f"{path}: sequences must be at least 3, one a part, where a file is read in pieces, got 1. "
        "Read it into memory to cut it by time: --set data.stream=false, or clew.data.read_table."
    )


def test_what_a_stream_cannot_do_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ("id", "time", "x"))
    with pytest.raises(ConfigError) as error:
        plan(path, True)
    tasks = "classification, tagging, next_token, regression"
    rule = f"task must be {tasks} where a table is streamed, got forecasting. Say --set data.stream=false."
    assert str(error.value) == f"{path}: {rule}"
    with pytest.raises(ConfigError, match=r"data\.sort must be left out where a table is streamed, got True"):
        plan(write(path), True, "data.sort=true")
    text = path.read_text().splitlines()
    path.write_text("\n".join([*text, text[1]]) + "\n")
    with pytest.raises(DataError, match="together in a file that is read as a stream, got sequence 's0' again"):
        plan(path, True)
