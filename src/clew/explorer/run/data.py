"""A run as the explorer shows it: its folder, the weights on show, the part that it keeps, and what is computed of it.

The sealed test is never read. What is computed of the training part is kept for as long as the folder stays as it is.
Start with `run_of`.
"""

from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from clew.data import SequenceData
from clew.data.batch import Batch
from clew.errors import DataError
from clew.explorer.scene import Scene
from clew.explorer.sources import LAST
from clew.models.sequence_model import SequenceModel
from clew.report.example_views import Examples, find_examples
from clew.runs import Run, load
from clew.tasks import Classification, Tagging

PART = "train"
MOST_WORK = 3_000_000_000
"""Multiply-adds that one answer may spend on the training part."""
LEAST_SEQUENCES, MOST_SEQUENCES = 16, 1024
MOST_RUNS = 4
"""That are kept in memory, each as long as its files stay as they are."""

_runs: OrderedDict[tuple[Path, bool, tuple[int, ...]], Run] = OrderedDict()


def run_of(scene: Scene) -> Run | None:
    """Open the run of a scene with the weights on show, without edits; None for a model that comes from no run.

    The caller holds the lock of the studio.

    Raises:
        RunError: If the folder is damaged or of another version.
    """
    folder = scene.source.folder
    if folder is None:
        return None
    files = (folder / "config.json", folder / "best.safetensors", folder / "last.safetensors", folder / "metrics.jsonl")
    stamps = tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)
    key = (folder, scene.source.key == LAST, stamps)
    if key not in _runs:
        _runs[key] = with_model(load(folder), (scene.base or scene).subject.model)
    _runs.move_to_end(key)
    while len(_runs) > MOST_RUNS:
        _runs.popitem(last=False)
    return _runs[key]


def with_model(run: Run, model: SequenceModel) -> Run:
    """Give a run that predicts with other weights; the selected epoch stays what it is."""
    other = replace(run)
    vars(other)["_loaded"] = (model, run.selected_epoch)
    return other


@lru_cache(maxsize=4)
def kept_part(run: Run) -> SequenceData | None:
    """Open the training part, where the run keeps it."""
    try:
        return SequenceData.open(run.path / PART) if (run.path / PART).exists() else None
    except DataError:
        return None


def selection(run: Run, data: SequenceData) -> Int[Tensor, " chosen"]:
    """Choose evenly as many sequences as can be looked at in a moment."""
    steps = int(data.lengths.max())
    affordable = MOST_WORK // max(run.model.multiply_adds(steps), 1)
    count = min(len(data), max(LEAST_SEQUENCES, min(MOST_SEQUENCES, affordable)))
    return torch.linspace(0, len(data) - 1, count).long()


def chosen_part(run: Run) -> tuple[Batch, str] | None:
    """Take the sequences that are looked at, and say which they are; None where the run keeps none."""
    data = kept_part(run)
    if data is None or not len(data):
        return None
    places = selection(run, data)
    is_all = len(places) == len(data)
    words = f"all {len(data):,} sequences" if is_all else f"{len(places):,} of {len(data):,} sequences, evenly chosen,"
    return data.select(places), f"{words} of the training part"


@lru_cache(maxsize=4)
def confusion_of(run: Run) -> Int[Tensor, "true said"] | None:
    """Count which class is taken for which in the training part; None where the run keeps none, or has no classes."""
    task, found = run.task, chosen_part(run)
    if found is None or not isinstance(task, Classification | Tagging):
        return None
    return task.confusion(run.model, found[0])


@lru_cache(maxsize=4)
def examples_of(run: Run) -> Examples | None:
    """Predict the sequences of the training part, each with its loss; None where the run keeps none."""
    data = kept_part(run)
    return None if data is None or not len(data) else find_examples(run, data, len(selection(run, data)))
