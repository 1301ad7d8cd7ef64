"""The commands of one's own files, from a file to predictions, with each kind of file."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.own_files import TAGS, write_images, write_series, write_table, write_text, write_treebank

Clew = Callable[..., tuple[int, str, str]]
SHORT = ("--set", "training.epochs=2", "--set", "model.hidden=8")
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def trained(clew: Clew, *words: str) -> None:
    code, _, err = clew("train", *words, *SHORT, "--out", "run")
    assert code == 0, err


def test_a_table_goes_from_training_to_a_file_of_predictions(clew: Clew) -> None:
    write_table(Path("a.csv"))
    new = write_table(Path("new.csv"), 9, label=False, seed=7)
    code, out, err = clew("train", "a.csv", "--json", "--set", "training.epochs=12", "--set", "model.hidden=8")
    assert code == 0
    assert json.loads(out)["run"] == "runs/a"
    assert "task classification: 'label' is one word a sequence" in err
    assert "epoch 12/12" in err
    code, out, _ = clew("evaluate", "runs/a")
    assert code == 0
    assert "majority" in out
    page = Path("runs/a/report.html").read_text()
    assert all(words in page for words in ("Training loss", "nearest neighbour", "training.batch_size"))
    assert clew("predict", "runs/a", str(new), "-o", "p.csv")[0] == 0
    predicted = pl.read_csv("p.csv")
    ids = [f"s{number:03d}" for number in range(9)]
    assert predicted["sequence"].to_list() == ids
    expected = ["high" if number % 2 else "low" for number in range(9)]
    assert sum(one == other for one, other in zip(predicted["predicted"], expected, strict=True)) >= 7
    np.testing.assert_allclose(predicted["probability of high"] + predicted["probability of low"], 1, atol=1e-9)


def test_a_sealed_test_is_scored_once_and_not_by_another_file(clew: Clew) -> None:
    write_table(Path("a.csv"))
    write_table(Path("other.csv"), 20, seed=9)
    trained(clew, "a.csv")
    assert clew("evaluate", "run", "other.csv")[0] == 0
    assert not Path("run/test.json").exists()
    first = json.loads(clew("evaluate", "run", "--json")[1])
    kept = Path("run/test.json").read_text()
    assert json.loads(clew("evaluate", "run", "--json")[1]) == first
    assert Path("run/test.json").read_text() == kept
    assert first["sequences"] == 9


def test_predictions_keep_order_ids_and_format_whatever_the_batch(clew: Clew) -> None:
    write_table(Path("a.csv"))
    trained(clew, "a.csv")
    frame = pl.read_csv("a.csv").with_columns(pl.col("sequence").str.slice(1).cast(pl.Int64))
    shuffled = pl.concat(
        [part for _, part in sorted(frame.group_by("sequence"), key=lambda pair: -(pair[0][0] * 7 % 60))]  # pyright: ignore[reportOperatorIssue]
    )
    order = shuffled["sequence"].unique(maintain_order=True).to_list()
    shuffled.write_parquet("b.parquet")
    shuffled.write_ndjson("b.jsonl")
    found = {}
    for name, size in (("b.parquet", "1"), ("b.jsonl", "7")):
        assert clew("predict", "run", name, "-o", f"p-{name}", "--batch-size", size)[0] == 0
        found[name] = pl.read_parquet(f"p-{name}") if name.endswith("t") else pl.read_ndjson(f"p-{name}")
        assert found[name]["sequence"].to_list() == order
    np.testing.assert_allclose(
        found["b.parquet"]["probability of low"], found["b.jsonl"]["probability of low"], atol=1e-6
    )
    printed = clew("predict", "run", "b.jsonl")[1]
    assert json.loads(printed.splitlines()[0])["sequence"] == order[0]


def test_prediction_does_not_look_at_labels(clew: Clew) -> None:
    write_table(Path("a.csv"))
    trained(clew, "a.csv")
    plain = clew("predict", "run", str(write_table(Path("b.csv"), 8, label=False)))
    labelled = write_table(Path("b.csv"), 8)
    labelled.write_text(labelled.read_text().replace(",high", ",something else"))
    assert plain[0] == 0
    assert clew("predict", "run", "b.csv") == plain


def test_a_treebank_comes_back_with_predicted_tags(clew: Clew) -> None:
    write_treebank(Path("a.conllu"))
    new = write_treebank(Path("new.conllu"), 4, seed=8, tagged=False)
    code, _, err = clew("train", "a.conllu", "--set", "training.epochs=15", "--set", "model.hidden=16", "--out", "run")
    assert code == 0, err
    assert clew("predict", "run", str(new), "-o", "p.conllu")[0] == 0
    before, after = new.read_text().splitlines(), Path("p.conllu").read_text().splitlines()
    assert len(before) == len(after)
    right = words = 0
    for old, now in zip(before, after, strict=True):
        if not old or old.startswith("#"):
            assert now == old
            continue
        cells, changed = old.split("\t"), now.split("\t")
        assert [cells[place] for place in (0, 1, 2, 4)] == [changed[place] for place in (0, 1, 2, 4)]
        assert changed[9].startswith("Probability=0.") or changed[9] == "Probability=1.000000"
        right, words = right + (changed[3] == TAGS[cells[1]]), words + 1
    assert right > 0.9 * words


def test_text_is_trained_on_scored_and_goes_on(clew: Clew) -> None:
    write_text(Path("a.txt"))
    trained(clew, "a.txt", "--set", "data.context=16")
    result = json.loads(clew("evaluate", "run", "--json")[1])
    assert result["metrics"]["bits_per_byte"] > 0
    first = clew("generate", "run", "--prompt", "the ", "--tokens", "12")
    assert first[0] == 0
    assert first[1].startswith("the ")
    assert len(first[1].rstrip("\n")) == 4 + 12 or "\n" in first[1].rstrip("\n")
    assert clew("generate", "run", "--prompt", "the ", "--tokens", "12") == first
    assert "'Z'" in clew("generate", "run", "--prompt", "Z")[2]


def test_series_are_forecast_beyond_their_end(clew: Clew) -> None:
    write_series(Path("a.csv"))
    code, _, err = clew("train", "a.csv", *SHORT, "--set", "task.horizon=6", "--out", "run")
    assert code == 0, err
    assert "season 24 (a day)" in err
    _, out, _ = clew("evaluate", "run")
    assert "One step ahead" in out
    assert "Rollout" in out
    assert clew("forecast", "run", "--horizon", "8", "-o", "f.csv", "--plot", "f.svg")[0] == 0
    rows = pl.read_csv("f.csv")
    assert rows["time"].to_list()[:2] == ["2024-01-11 00:00:00", "2024-01-11 01:00:00"]
    assert rows.height == 8
    assert rows["load"].is_between(50, 150).all()
    assert Path("f.svg").read_text().startswith("<svg")


def test_images_are_classified_as_patches_and_as_rows(clew: Clew) -> None:
    write_images(Path("a.npz"))
    trained(clew, "a.npz")
    assert clew("predict", "run", "a.npz", "-o", "p.npz")[0] == 0
    with np.load("p.npz") as arrays:
        assert arrays["probabilities"].shape == (40, 2)
        assert arrays["predicted"].shape == (40,)
    code, _, err = clew("train", "a.npz", "--model", "lstm", *SHORT, "--out", "rows")
    assert code == 0, err
    assert json.loads(Path("rows/plan.json").read_text())["data"]["layout"] == "rows"


def test_a_configuration_is_kept_and_makes_the_same_run_again(clew: Clew) -> None:
    write_table(Path("a.csv"))
    Path("sub").mkdir()
    Path("sub/a.toml").write_text('file = "../a.csv"\n[model]\npreset = "lstm"\nhidden = 8\n[training]\nepochs = 2\n')
    assert clew("train", "--config", "sub/a.toml", "--out", "run")[0] == 0
    plan = json.loads(Path("run/plan.json").read_text())
    assert plan["model"]["preset"] == "lstm"
    assert plan["training"]["epochs"] == 2
    before = Path("run/metrics.jsonl").read_bytes()
    assert clew("train", "--config", "sub/a.toml", "--out", "run")[0] == 0
    assert Path("run/metrics.jsonl").read_bytes() == before
    code, _, err = clew("train", "--config", "sub/a.toml", "--out", "run", "--seed", "5")
    assert code == 1
    assert "add --force" in err
    assert clew("train", "--config", "sub/a.toml", "--out", "run", "--seed", "5", "--force")[0] == 0


def test_recipes_are_compared_on_a_file(clew: Clew) -> None:
    write_table(Path("a.csv"), 40)
    Path("c.toml").write_text(
        'file = "a.csv"\n[compare]\nseeds = [1, 2]\n[training]\nepochs = 2\n[model]\nhidden = 8\n'
        '[recipes.gru.model]\npreset = "gru"\n[recipes.rnn.model]\npreset = "rnn"\n[recipes.rnn.training]\nepochs = 1\n'
    )
    code, out, _ = clew("compare", "c.toml", "--workers", "0", "-o", "both")
    assert code == 0
    assert all(word in out for word in ("gru", "rnn", "majority", "over seeds"))
    results = json.loads(Path("both/results.json").read_text())
    assert len(results["rows"]) == 4


def test_a_file_is_described_before_training(clew: Clew) -> None:
    write_table(Path("a.csv"))
    _, out, _ = clew("data", "a.csv")
    assert "clew train would take it for classification: 'label' is one word a sequence." in out
    assert json.loads(clew("data", "a.csv", "--json")[1])["file"]["sequences"] == 60
    for write, name, words in (
        (write_text, "a.txt", "predict next tokens"),
        (write_images, "a.npz", "classify images"),
        (write_treebank, "a.conllu", "tag words"),
        (write_series, "b.csv", "forecasting"),
    ):
        write(Path(name))
        assert words in clew("data", name)[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vowels", "tagging", "bible", "electricity", "digits"])
def test_every_example_configuration_trains(clew: Clew, name: str) -> None:
    code, _, err = clew("train", "--config", str(EXAMPLES / f"{name}.toml"), "--set", "training.epochs=2", "-o", "run")
    assert code == 0, err


@pytest.mark.slow
def test_a_newcomer_gets_from_the_examples_to_predictions_in_three_commands() -> None:
    program = Path(sys.executable).with_name("clew")
    vowels = EXAMPLES / "data/japanese-vowels.csv"
    for words in (
        ["train", str(vowels)],
        ["evaluate", "runs/japanese-vowels"],
        ["predict", "runs/japanese-vowels", str(EXAMPLES / "data/japanese-vowels-new.csv"), "-o", "p.csv"],
    ):
        subprocess.run([program, *words], check=True, capture_output=True)
    assert pl.read_csv("p.csv").height == 18
