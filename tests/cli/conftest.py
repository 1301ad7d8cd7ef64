"""The command line in this process, with the experiment replaced where a test asks for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.cli.application import DEBUG_VARIABLE
from clew.lab.progress import Progress
from clew.lab.recall import RecallConfig, RecallOutcome

Run = Callable[[Progress], RecallOutcome]


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


@pytest.fixture
def replace_experiment(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], list[tuple[Any, ...]]]:
    """Put a function in the place of `run_recall`; the list it gives fills with the arguments of each call.

    Table and report are replaced too: what they show has tests of its own.
    """

    def replace(run: Run) -> list[tuple[Any, ...]]:
        calls: list[tuple[Any, ...]] = []

        def replacement(config: RecallConfig, out: Path, workers: int | None, progress: Progress) -> RecallOutcome:
            calls.append((config, out, workers))
            return run(progress)

        monkeypatch.setattr("clew.lab.recall.run_recall", replacement)
        monkeypatch.setattr("clew.report.recall.write_recall_report", lambda *arguments: None)
        monkeypatch.setattr(
            "clew.report.comparison_table.print_comparison",
            lambda results, console: console.print(f"table of {len(results['rows'])} rows"),
        )
        return calls

    return replace
