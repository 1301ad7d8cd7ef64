"""The command line in this process, with the experiment replaced where a test asks for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.cli.application import DEBUG_VARIABLE

Run = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _no_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)


@pytest.fixture
def clew(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line and give its exit code, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        exit_code = main(words)
        printed = capsys.readouterr()
        return exit_code, printed.out, printed.err

    return run


def results_of(*rows: dict[str, Any]) -> dict[str, Any]:
    """Results of an experiment with these rows and nothing else."""
    lists = ("rows", "cells", "references", "contrasts", "interventions", "warnings")
    return {"quick": False, "protocol": {}, **{name: [] for name in lists}, "timings": {}, "rows": list(rows)}


@pytest.fixture
def replace_experiment(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], list[tuple[Any, ...]]]:
    """Put a function in the place of `run_recall`; the list it gives fills with the arguments of each call."""

    def replace(run: Run) -> list[tuple[Any, ...]]:
        calls: list[tuple[Any, ...]] = []

        def replacement(config: Any, out: Path, workers: int | None, progress: Any) -> dict[str, Any]:
            calls.append((config, out, workers))
            return run(progress)

        monkeypatch.setattr("clew.lab.recall.run_recall", replacement)
        monkeypatch.setattr("clew.cli.recall.format_results", lambda results: f"table of {len(results['rows'])} rows")
        return calls

    return replace
