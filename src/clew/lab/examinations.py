"""Named measurements on selected weights, beyond the score: a worker process is told a name, never code."""

from typing import Any

import torch

from clew.data.batch import Batch
from clew.errors import ConfigError, complain, did_you_mean
from clew.lab.jobs import Examine
from clew.models.sequence_model import SequenceModel
from clew.tasks import CueRecall, Task

EXAMINATIONS = ("recall_interventions",)
INTERVENTION_SEED = 62064  # draws the new cues, moves and episodes, the same for every model


def examination_named(name: str | None) -> Examine | None:
    """Find a measurement by name; None stays None.

    Raises:
        ConfigError: If there is no such measurement.
    """
    if name is None:
        return None
    if name == "recall_interventions":
        return _recall_interventions
    raise ConfigError(complain("compare", "examination", "a known one", f"'{name}'", did_you_mean(name, EXAMINATIONS)))


def _recall_interventions(model: SequenceModel, task: Task, test: Batch) -> list[dict[str, Any]]:
    from clew.lab.recall.interventions import run_interventions

    assert isinstance(task, CueRecall)
    return run_interventions(model, task, test, torch.Generator().manual_seed(INTERVENTION_SEED))
