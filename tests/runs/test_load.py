"""A run folder opened again: predictions, the sealed test, generation, forecasts, and what is wrong with a folder."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import clew
from clew.data import UNSCORED, CharacterVocabulary, Documents, Preparation, TextPreparation, as_table
from clew.data.batch import Batch
from clew.errors import ConfigError, DataError, RunError
from clew.runs import Predictions
from clew.tasks import Classification, NextToken, Regression, Tagging
from clew.training import TrainConfig
from runs.small_runs import SILENT, SMALL, small, train

ONE = TrainConfig(epochs=1, batch_size=16)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {name: train(name, root / name, training=ONE, seed=0).path for name in SMALL}


def rows(kind: str, count: int = 12, seed: int = 0) -> dict[str, list[Any]]:
    """A table in long form: two columns to read, a label."""
    draw = np.random.default_rng(seed)
    table: dict[str, list[Any]] = {"sequence": [], "x": [], "word": [], "label": []}
    for number in range(count):
        for _ in range(int(draw.integers(2, 7))):
            value = float(draw.normal())
            table["sequence"].append(f"s{number}")
            table["x"].append(value)
            table["word"].append("uv"[int(draw.integers(2))])
            sign = "yes" if value > 0 else "no"
            table["label"].append(
                {"tagging": sign, "classification": "ab"[number % 2], "regression": 1000.0 + number}[kind]
            )
    return table


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory) -> dict[str, Any]:
    """A run of each task that reads tables, with its preparation."""
    root, runs = tmp_path_factory.mktemp("tables"), {}
    tasks = {"tagging": Tagging(2), "classification": Classification(2)}
    for kind in ("tagging", "classification", "regression"):
        parts = [as_table(rows(kind, 24, seed), None, kind) for seed in (1, 2)]
        preparation = Preparation.fit(parts[0], kind)
        data = [preparation.apply(part) for part in parts]
        task = tasks.get(kind) or Regression(1, [1012.0], [7.0])
        if kind == "regression":
            from clew.runs.inputs import read_inputs

            data = [read_inputs(part, task, preparation, is_scored=True).data for part in parts]
        runs[kind] = clew.fit(
            task,
            {"preset": "gru", "hidden": 4},
            *data,
            training=ONE,
            out=root / kind,
            preparation=preparation,
            **SILENT,
        )
    return runs


def arrays(found: Predictions) -> list[np.ndarray]:
    return [found.values[name] for name in sorted(found.values)]


@pytest.mark.parametrize("name", SMALL)
def test_predictions_do_not_depend_on_batches_order_or_padding(name, folders):
    run, data = clew.load(folders[name]), small(name).validation
    whole = run.predict(data)
    for chunk in (1, 7, 64):
        for one, other in zip(arrays(run.predict(data, chunk=chunk)), arrays(whole), strict=True):
            assert np.allclose(one, other, rtol=0, atol=1e-6, equal_nan=True)
    order = np.random.default_rng(0).permutation(len(data))
    turned = run.predict(data.part(order))
    assert turned.ids == [whole.ids[place] for place in order]
    for one, other in zip(arrays(turned), arrays(whole), strict=True):
        assert np.allclose(one, other[order], rtol=0, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", [name for name in SMALL if name != "forecasting"])  # its windows are never padded
def test_padding_on_the_left_predicts_what_padding_on_the_right_does(name, folders):
    run, batch = clew.load(folders[name]), small(name).validation.whole()
    assert batch.valid is not None and not bool(batch.valid.all())
    turned = batch.valid.flip(1)
    left = torch.zeros_like(batch.inputs)
    left[turned] = batch.inputs[batch.valid]
    on_the_right, on_the_left = run.predict(batch).values, run.predict(Batch(left, turned)).values
    assert set(on_the_left) == set(on_the_right)
    for what, expected in on_the_right.items():
        found = on_the_left[what]
        if run.task.kind_of_head == "rows":
            is_left, is_right = (~(np.isnan(part) | (part == UNSCORED)) for part in (found, expected))
            assert (is_left.sum(1) == is_right.sum(1)).all() and is_right.sum() > 30
            found, expected = found[is_left], expected[is_right]
        assert np.allclose(found, expected, rtol=0, atol=1e-6)


def test_a_frame_keeps_names_and_the_order_of_the_file(of_tables):
    run = of_tables["classification"]
    table = rows("classification")
    backwards = {name: values[::-1] for name, values in table.items() if name != "label"}
    frame = run.predict(backwards).to_frame()
    assert frame.columns == ["sequence", "predicted", "probability of a", "probability of b"]
    assert frame["sequence"].to_list() == [f"s{number}" for number in range(11, -1, -1)]
    assert np.allclose(frame["probability of a"] + frame["probability of b"], 1)
    is_a = frame["probability of a"] > frame["probability of b"]
    assert frame["predicted"].to_list() == ["a" if first else "b" for first in is_a]


def test_a_frame_of_tags_has_a_row_a_step(of_tables):
    table = rows("tagging", 5)
    frame = of_tables["tagging"].predict({name: table[name] for name in ("sequence", "x", "word")}).to_frame()
    assert frame["sequence"].to_list() == table["sequence"]
    assert frame.columns == ["sequence", "step", "predicted", "probability of no", "probability of yes"]
    assert set(frame["predicted"]) <= {"yes", "no"}
    assert frame["probability of no"].is_finite().all()


def test_regression_is_in_the_units_of_the_table(of_tables):
    frame = of_tables["regression"].predict(rows("regression")).to_frame()
    assert frame.columns == ["sequence", "predicted label"]
    assert frame["predicted label"].is_between(990, 1040).all()
    scores = of_tables["regression"].evaluate(rows("regression", 9, 8))
    assert 0 < scores["metrics"]["mae"] < 30
    assert "train_mean" in [row["name"] for row in scores["references"]]


def test_files_are_read_with_the_columns_of_the_training(of_tables, tmp_path):
    path = tmp_path / "new.csv"
    pl.DataFrame(rows("classification")).drop("label").write_csv(path)
    frame = of_tables["classification"].predict(path).to_frame()
    assert frame.equals(of_tables["classification"].predict(rows("classification")).to_frame())
    pl.DataFrame(rows("classification")).rename({"word": "wrod"}).write_csv(path)
    with pytest.raises(DataError, match=r"new\.csv: column must be in the file, got 'word'\. Did you mean 'wrod'\?"):
        of_tables["classification"].predict(path)


def test_a_class_that_training_never_had_counts_as_wrong(of_tables):
    table = rows("classification", 10, 5)
    other = table | {
        "label": [
            "new" if name == "s0" else label for name, label in zip(table["sequence"], table["label"], strict=True)
        ]
    }
    run = of_tables["classification"]
    right = np.array(run.predict(table).labels) == np.array(["ab"[number % 2] for number in range(10)])
    right[0] = False
    assert run.evaluate(other)["metrics"]["accuracy"] == pytest.approx(right.mean())


def test_the_first_test_is_sealed_and_others_are_kept_beside_it(tmp_path):
    run = train("classification", tmp_path / "run", training=ONE)
    one = small("classification")
    validation = run.evaluate(one.validation)
    assert not run.folder.is_scored, "what selected is no test"
    first = run.evaluate(one.train.part(range(40)))
    assert run.folder.test() == json.loads(json.dumps(first))
    assert first["metrics"] == run.task.evaluate(run.model, one.train.part(range(40)))
    assert first["selection"] == run.selection
    assert {row["name"] for row in first["references"]} >= {"majority", "nearest_neighbour"}
    second = run.evaluate(one.train.part(range(40, 80)))
    again = clew.load(run.path)
    assert again.evaluate(one.train.part(range(40))) == first
    assert again.evaluate(one.train.part(range(40, 80))) == second
    assert again.evaluate(one.validation) == validation
    lines = (run.path / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["data"] for line in lines] == [validation["data"], second["data"]]


def test_references_are_those_of_the_training_part(folders):
    one = small("classification")
    loaded = clew.load(folders["classification"]).evaluate(one.train.part(range(30)))
    assert loaded["references"] == one.task.references(one.train, one.train.part(range(30)))


def test_text_goes_on_from_a_prompt(tmp_path):
    text = "the cat sat on the mat and the cat sat on the hat. " * 6
    documents = Documents((text,), ("a",))
    preparation = TextPreparation.fit(documents, "characters", context=16)
    data = preparation.apply(documents)
    run = clew.fit(
        NextToken(preparation.vocabulary.size), {"preset": "lstm", "hidden": 8}, data, data,
        training=ONE, out=tmp_path / "run", preparation=preparation, audit="warn",
    )  # fmt: skip
    again = clew.load(run.path)
    assert isinstance(again.preparation, TextPreparation)
    assert isinstance(again.preparation.vocabulary, CharacterVocabulary)
    first = again.generate("the c", tokens=12, seed=5)
    assert isinstance(first, str) and len(first) == 12
    assert again.generate("the c", tokens=12, seed=5) == first == run.generate("the c", tokens=12, seed=5)
    assert again.generate("the c", tokens=12, seed=6) != first
    ids = preparation.vocabulary.encode("the c")
    assert again.generate(ids, tokens=12, rule="greedy") == preparation.vocabulary.encode(
        str(again.generate("the c", tokens=12, rule="greedy"))
    )
    with pytest.raises(DataError, match="Ω"):
        again.generate("Ω")
    with pytest.raises(ConfigError, match="stop must be one token, got 'th', which is 2"):
        again.generate("the", stop="th")


def test_ids_go_on_without_a_vocabulary_and_texts_do_not(folders):
    run = clew.load(folders["next_token"])
    assert len(run.generate([1, 2], tokens=4)) == 4
    with pytest.raises(ConfigError, match="run must be one with a vocabulary, got none"):
        run.generate("abc")
    with pytest.raises(ConfigError, match="task must be forecasting, got next_token"):
        run.forecast()
    with pytest.raises(ConfigError, match="task must be next_token, got tagging"):
        clew.load(folders["tagging"]).generate([1])


def test_a_forecast_is_the_rollout_from_the_end_of_the_history(folders):
    run, one = clew.load(folders["forecasting"]), small("forecasting")
    window = one.validation.part([2])
    history = Batch(window.whole().inputs[:, :-4])
    found = run.forecast(4, history)
    assert list(found) == ["0"]
    assert np.allclose(found["0"], run.predict(window).values["rollout"][0], rtol=0, atol=1e-6)
    assert run.forecast(9, history)["0"].shape == (9, 1)
    with pytest.raises(ConfigError, match="history must be given, got none"):
        run.forecast()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: shutil.rmtree(path), "path must be a run folder, got none"),
        (lambda path: (path / "config.json").unlink(), r"a run folder, got one without config\.json\. Make one with"),
        (lambda path: (path / "config.json").write_text("{"), "a readable JSON file"),
        (lambda path: (path / "best.safetensors").unlink(), r"no best\.safetensors\. Run the same training again"),
        (lambda path: (path / "best.safetensors").write_bytes(b"x" * 50), "got a damaged one"),
        (lambda path: change(path, "format", 99), "format must be 1, got 99. Open it with the version"),
        (lambda path: change(path, "task", {"name": "tagging"}), "run must be whole and of this version of clew"),
        (lambda path: change(path, "task", {"name": "tagger", "config": {}}), "Did you mean 'tagging'"),
        (lambda path: change(path, "training", {"epoch": 3}), "unknown key 'epoch'"),
        (lambda path: change(path, "model", 3), "run must be whole and of this version of clew"),
        (lambda path: change(path, "model", {"preset": "gru", "outputs": 2, "hidden": -1}), "run must be whole"),
        (lambda path: change(path, "preparation", {"kind": "sound"}), "kind must be known, got 'sound'"),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_line(folders, tmp_path, damage, said):
    path = tmp_path / "run"
    shutil.copytree(folders["tagging"], path)
    damage(path)
    with pytest.raises(RunError, match=said) as caught:
        clew.load(path)
    assert "\n" not in str(caught.value)


def change(path: Path, name: str, value: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {name: value}))


def test_a_run_of_arrays_does_not_read_files(folders, tmp_path):
    with pytest.raises(ConfigError, match="input must be a Batch, a SequenceData or a tensor, got PosixPath"):
        clew.load(folders["tagging"]).predict(tmp_path / "x.csv")


def test_nothing_is_unpickled(folders, monkeypatch):
    import pickle

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *_, **__: pytest.fail("unpickled"))
    one = small("classification")
    run = clew.load(folders["classification"])
    run.predict(one.validation)
    run.evaluate(one.validation)
    assert not [path for path in run.path.rglob("*") if path.suffix in (".pt", ".pkl", ".pickle", ".pth")]
