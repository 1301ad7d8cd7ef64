"""The two jobs of a run: train and select, which is given no test; and score, once, what was selected.

Both work on one run folder, hold its lock while they write, and can be killed at any moment: training goes on from the
last checkpoint to the same bits, and a test is either scored whole or not at all.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.data.batch import Batch
from clew.errors import RunError, complain
from clew.lab.plan import RunPlan
from clew.models.saving import build_from_config
from clew.models.sequence_model import SequenceModel
from clew.runs import RunFolder
from clew.runs.keeping import OnEpoch, train_in_folder
from clew.tasks import Task
from clew.training import TrainingState, load_weights, weighted

Examine = Callable[[SequenceModel, Task, Batch], list[dict[str, Any]]]


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
        DataError: If a step has no scored target.
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
        train_in_folder(folder, state, weighted(task, train, training), train, validation, training, on_epoch)


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
        if not folder.is_trained:
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
            "errors": task.errors(model, test),
            "parameters": model.parameter_count(),
            "state_size": model.state_size(time_steps),
            "multiply_adds": model.multiply_adds(time_steps),
            "tokens_seen": lines[-1]["tokens_seen"],
            "examination": [] if examine is None else examine(model, task, test),
            "scored_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        folder.write_test(result)
