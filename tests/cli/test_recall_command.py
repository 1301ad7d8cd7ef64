"""What `clew recall` hands to the experiment, and what it prints of the results."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.cli.application import build_application
from clew.lab.recall import RecallConfig, RecallOutcome
from clew.lab.recall.recipes import MODELS

Clew = Callable[..., tuple[int, str, str]]
Replace = Callable[[Callable[..., Any]], list[tuple[Any, ...]]]


def outcome_of(*rows: dict[str, Any]) -> RecallOutcome:
    """What an experiment with these rows, and nothing else, gives."""
    lists = ("cells", "references", "contrasts", "interventions", "warnings")
    results = {"quick": False, "protocol": {}, "rows": list(rows), **{name: [] for name in lists}, "timings": {}}
    return RecallOutcome(results, {}, {"delay": 8})


FINISHED = {"recipe": "gru", "delay": 8, "seed": 1, "status": "finished", "test_accuracy": 1.0}
FAILED = {"recipe": "gru", "delay": 8, "seed": 2, "status": "failed", "test_accuracy": float("nan")}


@pytest.mark.parametrize(
    ("words", "config", "out", "workers"),
    [
        ([], RecallConfig(), "runs/recall", None),
        (
            ["--delays", "8", "16", "--seeds", "1", "2", "--recipes", "gru", "lstm", "--workers", "2"],
            RecallConfig(delays=(8, 16), seeds=(1, 2), recipes=("gru", "lstm")),
            "runs/recall",
            2,
        ),
        (
            ["--epochs=5", "--cue-position", "random", "--out", "some where"],
            RecallConfig(epochs=5, cue_position="random"),
            "some where",
            None,
        ),
        (["--quick"], RecallConfig.quick_look(), "runs/recall-quick", None),
        (
            ["--quick", "--delays", "16", "--epochs", "2", "--out", "x", "--workers", "0"],
            replace(RecallConfig.quick_look(), delays=(16,), epochs=2),
            "x",
            0,
        ),
    ],
)
def test_options_become_a_configuration(
    clew: Clew, replace_experiment: Replace, words: list[str], config: RecallConfig, out: str, workers: int | None
) -> None:
    calls = replace_experiment(lambda progress: outcome_of(FINISHED))
    assert clew("recall", *words)[0] == 0
    assert calls == [(config, Path(out), workers)]


def test_the_table_goes_to_stdout_and_the_report_is_named_on_stderr(clew: Clew, replace_experiment: Replace) -> None:
    replace_experiment(lambda progress: outcome_of(FINISHED))
    assert clew("recall", "--out", "x") == (0, "table of 1 rows\n", "Report: x/report.html\n")


def test_json_is_strict_and_alone_on_stdout(clew: Clew, replace_experiment: Replace) -> None:
    def run(progress: Any) -> RecallOutcome:
        progress.begin(2, 1)
        progress.finished("gru, delay 8, seed 1", "accuracy 1.000")
        return outcome_of(FINISHED, FAILED)

    replace_experiment(run)
    exit_code, printed, said = clew("recall", "--json", "--out", "x")
    refuse = pytest.fail
    rows = json.loads(printed, parse_constant=lambda word: refuse(f"{word} is no JSON"))["rows"]
    assert [row["test_accuracy"] for row in rows] == [1.0, "NaN"]
    assert exit_code == 1
    assert said.splitlines() == [
        "2 runs, 1 of them already finished",
        "[2/2] gru, delay 8, seed 1: accuracy 1.000 (0:00 elapsed)",
        "Report: x/report.html",
        "Error: clew recall: runs must be finished, got 1 of 2 failed. "
        "The results say why; the same command tries them again and keeps the others.",
    ]


def test_help_tells_the_defaults_that_hold(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    _, printed, _ = clew("recall", "--help")
    usual, quick = RecallConfig(), RecallConfig.quick_look()
    for said in (
        f"[default: {words_of(usual.delays)}; quick: {words_of(quick.delays)}]",
        f"[default: {words_of(usual.seeds)}; quick: {words_of(quick.seeds)}]",
        f"{', '.join(MODELS)} [default: {words_of(usual.recipes)}]",
        f"[default: {usual.epochs}; quick: {quick.epochs}]",
        f"[default: {usual.cue_position}]",
    ):
        assert said in printed
    assert quick.recipes == usual.recipes
    assert quick.cue_position == usual.cue_position


def words_of(values: tuple[Any, ...]) -> str:
    return " ".join(map(str, values))


def test_every_command_can_be_imported() -> None:
    application = build_application()
    assert callable(application["recall"].default_command)
