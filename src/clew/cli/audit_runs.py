"""Run folders under audit: the selected weights, on sequences of the task, with its boundary and its loss.

A run folder holds the fingerprint of its data and not the data. What is read is therefore drawn: episodes for cue
recall, random ids or values for other tasks. A folder of `clew recall` or `clew.compare` stands for all runs in it.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clew.cli.faults import UsageError
from clew.data.batch import Batch
from clew.data.recall_episodes import sample_episodes
from clew.errors import ClewError, complain
from clew.models import SequenceModel
from clew.models.saving import build_from_config
from clew.runs import FORMAT, RunFolder, read_json
from clew.tasks import CueRecall, NextToken, Task, task_from_config
from clew.training import load_weights

WHERE = "clew audit"
ROWS, STEPS = 4, 12
SEED = 0
IGNORED = -100


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
        remedy = "Let its training end." if runs else "Make one with `clew recall`, or name a model as FILE.py:BUILD."
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
    return label, {"model": model, "boundary": task.boundary, "call": call_model, **task_arguments(task, model)}


def call_model(model: nn.Module, inputs: Tensor, valid: Tensor | None) -> Any:
    """Call a model of clew."""
    return model(inputs) if valid is None else model(inputs, valid=valid)


def task_arguments(task: Task, model: SequenceModel) -> dict[str, Any]:
    """Draw what a model of a task reads, with targets and loss where the task predicts the next token."""
    assert model.config is not None
    generator = torch.Generator().manual_seed(SEED)
    vocab = model.config.get("vocab")
    if vocab is None:
        return {"inputs": torch.randn(ROWS, STEPS, model.config["features"], generator=generator)}
    if isinstance(task, CueRecall):
        episodes = Batch(sample_episodes(ROWS, task.delay, generator, task.cue_position))
    else:
        valid = torch.arange(STEPS + 1) < torch.tensor([STEPS + 1, STEPS - 2, STEPS - 4, STEPS + 1]).unsqueeze(1)
        episodes = Batch(torch.randint(0, vocab, (ROWS, STEPS + 1), generator=generator), valid)
    predictor = task.next_token if isinstance(task, CueRecall) else task
    if not isinstance(predictor, NextToken):
        return {"inputs": episodes.inputs, "valid": episodes.valid, "vocab": vocab}
    aligned = predictor.align(episodes)
    targets = aligned.targets if aligned.scored is None else aligned.targets.where(aligned.scored, IGNORED)

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return predictor.loss_of(outputs, targets, targets != IGNORED)

    return {"inputs": aligned.inputs, "valid": aligned.valid, "vocab": vocab, "targets": targets, "loss": loss}
