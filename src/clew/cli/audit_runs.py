"""Run folders under audit: the selected weights, on sequences of the task, with its boundary and its loss.

What is read is the beginning of a few training sequences, where the run keeps its training part; otherwise it is drawn:
episodes for cue recall, random ids, values or images for other tasks. A folder of `clew recall` or of a comparison
stands for all runs in it.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clew.cli.faults import UsageError
from clew.data import SequenceData
from clew.data.batch import Batch
from clew.data.recall_episodes import sample_episodes
from clew.errors import ClewError, DataError, complain
from clew.models import SequenceModel
from clew.models.saving import build_from_config
from clew.runs import FORMAT, RunFolder, read_json
from clew.runs.audit_arguments import input_arguments, loss_arguments
from clew.tasks import CueRecall, Forecasting, NextToken, Task, task_from_config
from clew.training import load_weights

WHERE = "clew audit"
ROWS, STEPS = 4, 12
SHORTER = (0, 3, 5, 0)
LOOKED_AT = 4096
SEED = 0


def runs_at(path: Path) -> list[RunFolder]:
    """Give the run that a folder is, or the runs that it holds, those without selected weights left out.

    Raises:
        UsageError: If there is none.
    """
    if (path / "config.json").exists():
        return [RunFolder(path)]
    runs = [RunFolder(found.parent) for found in sorted(path.glob("runs/*/config.json"))]
    trained = [run for run in runs if run.best.exists()]
    if not trained:
        got = f"{len(runs)} runs without selected weights" if runs else "none"
        remedy = "Let its training end." if runs else "Make one with `clew train`, or name a model as FILE.py:BUILD."
        raise UsageError(complain(WHERE, str(path), "a run folder, or one that holds runs", got, remedy))
    return trained


def run_arguments(run: RunFolder) -> tuple[str, dict[str, Any]]:
    """Give the label of a run and the arguments of its audit.

    Raises:
        UsageError: If the run is damaged, has no selected weights or was made by another version.
    """
    config = read_json(run.path / "config.json")
    if config.get("format") != FORMAT:
        remedy = "Audit it with the version of clew that made it."
        raise UsageError(
            complain(str(run.path / "config.json"), "format", str(FORMAT), repr(config.get("format")), remedy)
        )
    if not run.best.exists():
        remedy = "Let its training end."
        raise UsageError(complain(str(run.path), "run", "one with selected weights", "no best.safetensors", remedy))
    try:
        model = build_from_config(config["model"])
        load_weights(model, run.best)
        task = task_from_config(config["task"]["name"], config["task"]["config"])
        label = ", ".join(
            part for part in (config["recipe"], task.label, f"seed {config['seeds']['initialization']}") if part
        )
    except (KeyError, TypeError, ClewError) as error:
        got = f"another one ({error})".splitlines()[0]
        remedy = "Audit it with the version of clew that made it."
        raise UsageError(complain(str(run.path), "run", "one of this version of clew", got, remedy)) from error
    return label, {"model": model, "boundary": task.boundary} | task_arguments(task, model, kept_sequences(run, task))


def kept_sequences(run: RunFolder, task: Task) -> Batch | None:
    """Take the beginnings of a few training sequences of different lengths; None where the run keeps none.

    Raises:
        UsageError: If what it keeps is damaged.
    """
    folder = run.path / "train"
    if not folder.exists() or isinstance(task, CueRecall):
        return None
    try:
        data = SequenceData.open(folder)
    except DataError as error:
        raise UsageError(str(error)) from error
    order = data.lengths[:LOOKED_AT].argsort(descending=True, stable=True)
    batch = data.select(order[torch.linspace(0, len(order) - 1, min(ROWS, len(order))).long()])
    return batch if batch.inputs.ndim == 4 else beginning(batch, STEPS + _steps_before_targets(task))


def beginning(batch: Batch, steps: int) -> Batch:
    """Cut sequences to their first steps, some rows shorter than others, so that there is padding."""
    time = min(steps, batch.inputs.shape[1])
    real = batch.valid if batch.valid is not None else torch.ones(batch.inputs.shape[:2], dtype=torch.bool)
    wanted = torch.tensor([max(2, time - SHORTER[row % ROWS]) for row in range(len(batch))])
    valid = real[:, :time] & (torch.arange(time) < wanted.unsqueeze(1))
    targets = batch.targets
    if targets is not None and targets.ndim > 1 and targets.shape[1] == batch.inputs.shape[1]:
        targets = targets[:, :time]
    return Batch(batch.inputs[:, :time], valid, targets)


def _steps_before_targets(task: Task) -> int:
    """Count the steps that a task reads before, or beside, those that the model reads."""
    if isinstance(task, Forecasting):
        return task.lead + 1
    return 1 if isinstance(task, NextToken) else 0


def task_arguments(task: Task, model: SequenceModel, kept: Batch | None) -> dict[str, Any]:
    """Give what a model of a task reads, with targets and loss where there are any."""
    if kept is not None:
        aligned = task.align(kept)
        return input_arguments(model, aligned.inputs, aligned.valid) | loss_arguments(task, kept)
    batch, loss = _drawn(task, model), {}
    if isinstance(task, CueRecall | NextToken):
        loss, aligned = loss_arguments(task, batch), task.align(batch)
        batch = Batch(aligned.inputs, aligned.valid)
    return input_arguments(model, batch.inputs, batch.valid) | loss


def _drawn(task: Task, model: SequenceModel) -> Batch:
    """Draw what a model can read."""
    assert model.config is not None
    config, generator = model.config, torch.Generator().manual_seed(SEED)
    if isinstance(task, CueRecall):
        return Batch(sample_episodes(ROWS, task.delay, generator, task.cue_position))
    if config.get("image") is not None:
        return Batch(torch.randn(ROWS, config["channels"], *config["image"], generator=generator))
    steps = STEPS + isinstance(task, NextToken)
    valid = torch.arange(steps) < torch.tensor([steps, steps - 3, steps - 5, steps]).unsqueeze(1)
    if config.get("vocab") is not None:
        return Batch(torch.randint(0, config["vocab"], (ROWS, steps), generator=generator), valid)
    columns: list[Tensor] = [torch.randn(ROWS, steps, config["features"] or 0, generator=generator)]
    for size in config.get("categories") or ():
        columns.append(torch.randint(0, size, (ROWS, steps, 1), generator=generator).float())
    return Batch(torch.cat(columns, dim=2), valid)
