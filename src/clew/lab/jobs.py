"""The two jobs of a run: train and select, which is given no test; and score, once, what was selected.

Both work on one run folder, hold its lock while they write, and can be killed at any moment: training goes on from the
last checkpoint to the same bits, and a test is either scored whole or not at all.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clew.data.batch import Batch
from clew.errors import RunError, complain
from clew.lab.plan import RunPlan
from clew.models.saving import build_from_config
from clew.models.sequence_model import SequenceModel
from clew.runs import RunFolder
from clew.tasks import Task
from clew.training import EpochRecord, TrainingState, load_weights, save_weights, train_epoch

CHECKPOINT_SECONDS = 2.0
Examine = Callable[[SequenceModel, Task, Batch], list[dict[str, Any]]]
OnEpoch = Callable[[EpochRecord, float], None]


def train_run(plan: RunPlan, root: Path, train: Batch, validation: Batch, on_epoch: OnEpoch) -> None:
    """Train a planned run to its last epoch, from where it stands; the selected weights are in `best.safetensors`.

    Args:
        plan: What to run.
        root: Folder of the run folders.
        train: Training sequences.
        validation: Sequences for selection.
        on_epoch: Called after each epoch with its record and the seconds it took.

    Raises:
        RunError: If the folder is in use, damaged or cannot be written.
        TrainingError: If a loss or gradient is not finite.
    """
    folder = RunFolder(root / plan.identity)
    config = plan.config()
    folder.begin(config)
    training = plan.recipe.training
    task = plan.make_task()
    with folder.locked():
        model = plan.recipe.build(plan.seed).to(plan.device)
        state = TrainingState.start(model, training, plan.order_seed, plan.seed)
        if folder.last.exists():
            state.restore(folder.last)
        folder.cut_back(state.progress.epoch)
        keeper = _Keeper(folder, state)
        while state.progress.epoch < training.epochs:
            started = time.perf_counter()
            record = train_epoch(state, task, train, validation, training)
            seconds = time.perf_counter() - started
            keeper.take(record, seconds)
            on_epoch(record, seconds)
            if keeper.is_due or record.epoch == training.epochs:
                keeper.write()


class _Keeper:
    """Keeps epochs and the best weights in memory and writes them together, so that `last` is never ahead of them."""

    def __init__(self, folder: RunFolder, state: TrainingState) -> None:
        self.folder = folder
        self.state = state
        self.best: dict[str, Tensor] | None = None
        self.best_epoch = 0
        self.records: list[dict[str, Any]] = []
        self.seconds: list[float] = []
        self.written_at = time.monotonic()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self.written_at > CHECKPOINT_SECONDS

    def take(self, record: EpochRecord, seconds: float) -> None:
        self.records.append(record.to_mapping())
        self.seconds.append(seconds)
        if record.is_best:
            self.best = {name: tensor.detach().clone() for name, tensor in self.state.model.state_dict().items()}
            self.best_epoch = record.epoch

    def write(self) -> None:
        if self.best is not None:
            save_weights(self.best, self.folder.best, self.best_epoch)
            self.best = None
        self.folder.append_metrics(self.records, self.seconds)
        self.records, self.seconds = [], []
        self.state.save(self.folder.last)
        self.written_at = time.monotonic()


def score_run(plan: RunPlan, root: Path, test: Batch, examine: Examine | None = None) -> None:
    """Score the selected weights on the test sequences and write `test.json`; a scored run is left as it is.

    Args:
        plan: The run.
        root: Folder of the run folders.
        test: The test sequences, opened after selection.
        examine: Further measurements on the selected weights, such as interventions; kept beside the score.

    Raises:
        RunError: If training has not ended, or the folder is in use or cannot be written.
    """
    folder = RunFolder(root / plan.identity)
    with folder.locked():
        if folder.is_scored:
            return
        lines = folder.metrics()
        if not lines or lines[-1]["epoch"] < plan.recipe.training.epochs or not folder.best.exists():
            raise RunError(complain(str(folder.path), "training", "at its end before the test is scored", "unfinished"))
        task = plan.make_task()
        model = build_from_config(plan.config()["model"]).to(plan.device)
        epoch = load_weights(model, folder.best)
        selected = lines[epoch - 1]
        correct = task.correct(model, test)
        time_steps = task.align(test).inputs.shape[1]
        result = {
            "selected_epoch": epoch,
            "selection": {"metric": task.selection, "value": selected["validation"][task.selection]},
            "metrics": task.evaluate(model, test),
            "correct": None if correct is None else "".join("01"[int(value)] for value in correct.tolist()),
            "evidence": task.evidence(model, test),
            "parameters": model.parameter_count(),
            "state_size": model.state_size(time_steps),
            "multiply_adds": model.multiply_adds(time_steps),
            "tokens_seen": lines[-1]["tokens_seen"],
            "examination": [] if examine is None else examine(model, task, test),
            "scored_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        folder.write_test(result)


@contextmanager
def single_thread() -> Iterator[None]:
    """Run torch on one thread, as every run does wherever it runs, and restore the number afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
