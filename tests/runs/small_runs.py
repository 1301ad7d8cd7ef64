"""A small training of each task, for tests here and for processes that are killed.

`python small_runs.py TASK FOLDER STEPS` trains into a folder and kills itself after some steps.
"""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import clew
from clew.data import SequenceData
from clew.runs import Run
from clew.runs import fitting as fitting_room
from clew.runs import keeping as keeping_room
from clew.tasks import Classification, Forecasting, NextToken, Regression, Tagging, Task, chronological_windows
from clew.training import SilentTraining


@dataclass(frozen=True)
class Small:
    """What a training needs."""

    task: Task
    model: dict[str, Any]
    train: SequenceData
    validation: SequenceData


def ragged(count: int, seed: int, kind: str) -> SequenceData:
    """Sequences of 1 to 9 steps whose targets follow from their inputs."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(2, 10, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if kind == "tokens":
        return SequenceData(generator.integers(0, 5, offsets[-1]), offsets)
    values = generator.normal(size=(offsets[-1], 3)).astype(np.float32)
    sums = np.add.reduceat(values[:, 0], offsets[:-1])
    if kind == "tags":
        return SequenceData(values, offsets, (values[:, 0] > 0).astype(int), targets_per_step=True)
    return SequenceData(values, offsets, (sums > 0).astype(int) if kind == "classes" else sums[:, None])


def small(name: str) -> Small:
    """Give the small training of a task."""
    if name == "forecasting":
        steps = np.arange(240)
        series = (np.sin(2 * np.pi * steps / 12) + 0.01 * steps)[:, None].astype(np.float32)
        parts = chronological_windows(SequenceData(series, [0, 240]), series=1, context=20, horizon=4, season=12)
        task = Forecasting(horizon=4, season=12, scaling=parts.scaling)
        return Small(task, {"preset": "lstm", "hidden": 6}, parts.train, parts.validation)
    task, kind, model = {
        "classification": (Classification(2), "classes", {"preset": "gru", "layers": 2, "dropout": 0.2}),
        "tagging": (Tagging(2), "tags", {"preset": "lstm", "bidirectional": True}),
        "next_token": (NextToken(5), "tokens", {"preset": "transformer", "heads": 2, "dropout": 0.2}),
        "regression": (Regression(), "numbers", {"preset": "rnn"}),
    }[name]
    return Small(task, model | {"hidden": 6}, ragged(90, 1, kind), ragged(30, 2, kind))


SILENT: dict[str, Any] = {"audit": "skip"}
SOURCES = "the sources, which nobody edits while a test runs"
SMALL = ("classification", "tagging", "next_token", "forecasting", "regression")
TRAINING = {"epochs": 3, "batch_size": 8, "accumulate": 2, "learning_rate": 0.01, "decay": "cosine", "warmup_steps": 5}


def train(name: str, out: Path, **more: Any) -> Run:
    """Train a small run into a folder."""
    one = small(name)
    arguments = {"training": TRAINING, "out": out, "seed": 3, "audit": "skip"} | more
    return clew.fit(one.task, one.model, one.train, one.validation, **arguments)


class KillAfter(SilentTraining):
    """Does something when some steps are over."""

    def __init__(self, steps: int, what: Any) -> None:
        self.left, self.what = steps, what

    def step(self, epoch: int, step: int, loss: float) -> None:
        self.left -= 1
        if self.left == 0:
            self.what()


if __name__ == "__main__":
    torch.set_num_threads(1)
    fitting_room.source_fingerprint = lambda: SOURCES
    keeping_room.CHECKPOINT_SECONDS = 0.004
    keeping_room.WRITING_SHARE = 1.0
    keeping_room.SECONDS_BETWEEN_WORDS = -1.0
    task_name, folder, steps_left = sys.argv[1:]
    train(task_name, Path(folder), progress=KillAfter(int(steps_left), lambda: os.kill(os.getpid(), signal.SIGKILL)))
