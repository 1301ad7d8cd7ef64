"""The command line in this process, with the experiment replaced where a test asks for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.checks.finding import failed, passed
from clew.checks.report import Report
from clew.cli import main
from clew.cli.application import DEBUG_VARIABLE
from clew.lab.plan import RunPlan
from clew.lab.progress import Progress
from clew.lab.recall import RecallConfig, RecallOutcome, recall_recipe
from clew.runs import RunFolder
from clew.tasks import CueRecall
from clew.training import TrainConfig, save_weights

Run = Callable[[Progress], RecallOutcome]
MODELS = """
import torch
from torch import nn

print("hello from the module")

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Embedding(64, 4)
        self.tokens = nn.Embedding(9, 4, padding_idx=0)
    def forward(self, ids):
        return self.tokens(ids)

class Hugging(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(9, 4)
    def forward(self, input_ids, attention_mask=None):
        return self.tokens(input_ids)

built = nn.Linear(3, 2)
number = 3

def linear(): return nn.Linear(3, 2)
def twelve(): return nn.Linear(12, 2)
def double(): return nn.Linear(3, 2).double()
def recurrent(): return nn.GRU(3, 4, batch_first=True)
def convolution(): return nn.Sequential(nn.Conv1d(3, 4, 1))
def time_first(): return nn.GRU(3, 4)
def normed(): return nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
def opaque(): return nn.ReLU()
def plain(): return lambda ids: ids.float()
def of_arguments(): return {"model": nn.Linear(3, 2), "inputs": torch.ones(2, 5, 3), "boundary": "full"}
def of_ids(): return {"model": Reader(), "vocab": 5}
def misspelled(): return {"model": nn.Linear(3, 2), "input": torch.ones(2, 5, 3)}
def without_model(): return {"inputs": torch.ones(2, 5, 3)}
def nothing(): pass
def raising(): raise ValueError("no weights\\nhere")
def leaving(): raise SystemExit(3)
def needing(width, depth=2, *more): return nn.Linear(width, 2)
def refusing(): return {"model": nn.Linear(3, 2), "inputs": torch.ones(2, 5, 7)}
"""


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


@pytest.fixture
def models(tmp_path: Path) -> str:
    """A file with functions that build models."""
    path = tmp_path / "some_models.py"
    path.write_text(MODELS)
    return str(path)


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Put a function in the place of the audit; the list fills with the arguments of each call."""
    calls: list[dict[str, Any]] = []

    def audit(**arguments: Any) -> Report:
        calls.append(arguments)
        return Report((passed("future", "nothing moved"),))

    monkeypatch.setattr("clew.checks.audit", audit)
    return calls


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit that finds something."""
    finding = failed("future", "output 1 reads a later step, 5", movement=float("inf"), floor=1e-15)
    monkeypatch.setattr("clew.checks.audit", lambda **_: Report((finding,)))


@pytest.fixture
def write_run() -> Callable[..., Path]:
    """A function that makes the run folder of an untrained model, as training leaves one."""

    def write(folder: Path, recipe: str = "gru", seed: int = 1, task: Any = None) -> Path:
        made, task = recall_recipe(recipe, TrainConfig(epochs=1)), task or CueRecall(8)
        plan = RunPlan(made, {"name": task.name, "config": task.config()}, seed, 0, {})
        run = RunFolder(folder)
        run.begin(plan.config())
        save_weights(made.build(seed).state_dict(), run.best, epoch=1)
        return run.path

    return write


@pytest.fixture
def comparison(tmp_path: Path, write_run: Callable[..., Path]) -> str:
    """A folder with two trained runs and one that was stopped."""
    write_run(tmp_path / "out/runs/a", "gru")
    write_run(tmp_path / "out/runs/b", "rnn", seed=2)
    stopped = write_run(tmp_path / "out/runs/c", "lstm")
    (stopped / "best.safetensors").unlink()
    return str(tmp_path / "out")
