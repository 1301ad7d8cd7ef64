"""The six data sets give the figures that docs/datasets.md states, from its own commands; this takes about an hour."""

import json
import lzma
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import mean
from time import monotonic
from typing import Any

import pytest

from clew.cli.application import build_application

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "datasets.md").read_text()
SETS = ("japanese-vowels", "portuguese", "bible", "electricity", "digits", "sp500")
MOST_SECONDS = 600.0
of_datasets = pytest.mark.datasets


def lines_of(name: str) -> list[str]:
    """Give the commands below the paragraph of a data set."""
    block = re.search(rf"^\*\*{name}\*\*:.*?^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert block is not None, name
    return block.group(1).splitlines()


@pytest.mark.parametrize("name", SETS)
def test_every_command_can_be_parsed(name: str) -> None:
    assert lines_of(name)
    for line in lines_of(name):
        program, *words = shlex.split(line)
        assert program == "clew"
        build_application().parse_args(words, exit_on_error=False, print_error=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of its own, where the files of the page are; an hour's work in another one is never taken for new."""
    assert (ROOT / "datasets").is_dir(), "run make datasets first"
    folder = tmp_path_factory.mktemp("datasets")
    for name in ("examples", "datasets"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(place: Path, line: str, *more: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*shlex.split(line), *more], cwd=place, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{line}\n{done.stderr[-2000:]}"
    return done.stdout


def carry_out(place: Path, name: str) -> list[Any]:
    """Run the commands of a set, each within its time; give what each prints, as JSON where it has figures."""
    found: list[Any] = []
    for line in lines_of(name):
        start = monotonic()
        printed = run(place, line)
        seconds = monotonic() - start
        print(f"{line}: {seconds:.0f} s")
        assert seconds < MOST_SECONDS, f"{line}: {seconds:.0f} s"
        # A finished comparison or test is not run again: the same command gives all digits of it.
        has_figures = line.startswith(("clew compare", "clew evaluate"))
        found.append(json.loads(run(place, line, "--json")) if has_figures else printed)
    return found


def of_recipe(comparison: dict[str, Any], recipe: str, figure: str) -> list[float]:
    rows = [row for row in comparison["task"]["rows"] if row["recipe"] == recipe]
    assert all(row["status"] == "finished" for row in rows)
    return [row[figure] for row in rows]


def reference(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in result["references"] if row["name"] == name)


def bits_of(content: bytes) -> int:
    return 8 * len(lzma.compress(content, preset=9))


@of_datasets
def test_the_recipe_chosen_on_validation_tells_the_speakers_apart(place: Path) -> None:
    (comparison,) = carry_out(place, "japanese-vowels")
    losses = {name: of_recipe(comparison, name, "validation_loss_nats") for name in ("gru", "transformer")}
    assert all(len(values) == 5 for values in losses.values())
    chosen = min(losses, key=lambda name: mean(losses[name]))
    assert mean(of_recipe(comparison, chosen, "test_accuracy")) >= 0.97


@of_datasets
def test_parts_of_speech_are_found_and_the_reference_stands_beside(place: Path) -> None:
    *_, result = carry_out(place, "portuguese")
    assert result["metrics"]["accuracy"] >= 0.95
    assert 0.8 < reference(result, "most_frequent_per_word")["accuracy"] < result["metrics"]["accuracy"]


@of_datasets
def test_the_next_character_is_predicted_better_than_by_compression_and_5_grams(place: Path) -> None:
    _, result, *texts = carry_out(place, "bible")
    train, test = ((ROOT / "datasets" / "bible" / f"{part}.txt").read_bytes() for part in ("train", "test"))
    alone = bits_of(test) / len(test)
    assert alone == pytest.approx(2.18, abs=0.01)
    assert (bits_of(train + test) - bits_of(train)) / len(test) == pytest.approx(1.95, abs=0.01)
    assert result["metrics"]["bits_per_byte"] < alone
    assert result["metrics"]["bits_per_byte"] < reference(result, "5-gram")["bits_per_byte"]
    assert len(texts) == 3 == len(set(texts)) and all("In the beginning" in text for text in texts)


@of_datasets
def test_demand_is_forecast_better_than_by_the_week_before(place: Path) -> None:
    (comparison,) = carry_out(place, "electricity")
    naive = reference(comparison["task"], "seasonal_naive")
    lstm, transformer = (mean(of_recipe(comparison, name, "test_rollout_mase")) for name in ("lstm", "transformer"))
    assert lstm < naive["rollout_mase"] and transformer < naive["rollout_mase"]
    assert mean(of_recipe(comparison, "lstm", "test_one_step_mase")) < naive["one_step_mase"]
    against = [one for one in comparison["task"]["contrasts"] if one["second"] == "seasonal_naive"]
    assert {(one["first"], one["mode"]) for one in against} >= {("lstm", "rollout"), ("transformer", "rollout")}


@of_datasets
def test_digits_are_read(place: Path) -> None:
    vit, rows, _, mnist, _, mnist_rows = carry_out(place, "digits")
    accuracies = of_recipe(vit, "vit", "test_accuracy")
    assert len(accuracies) == 5 and mean(accuracies) >= 0.96
    assert mean(of_recipe(rows, "lstm", "test_accuracy")) >= 0.96
    assert mnist["metrics"]["accuracy"] > 0.9 and mnist_rows["metrics"]["accuracy"] > 0.94


@of_datasets
def test_no_model_is_said_to_forecast_returns(place: Path) -> None:
    *_, result = carry_out(place, "sp500")
    words = result["assessment"]["words"]
    assert len(words) == 2 and all("no model beat the naive reference" in line for line in words)
