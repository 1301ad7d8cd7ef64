"""A trial: a group of sources gets other content, and all outputs are looked at at once.

Trials run in few batched passes where rows do not touch. One that moved an output is narrowed to the smallest group
that still does.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from clew.checks.content import other_content
from clew.checks.examination import Examination
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, Setting


@dataclass(frozen=True, eq=False)
class Trial:
    """One group of sources, replaced in every row.

    Attributes:
        group: The steps that were varied.
        before: The sample.
        after: The sample with other content there.
        moved: How far each output moved.
        setting: Mode of the model.
    """

    group: tuple[int, ...]
    before: Sample
    after: Sample
    moved: Float[Tensor, "batch outputs"]
    setting: Setting = EVALUATION

    def forbidden(self, allowed: Bool[Tensor, "batch outputs time"]) -> Bool[Tensor, "batch outputs"]:
        """Say which outputs may read nothing of the group, while something real in it was varied."""
        touched = self.before.real[:, list(self.group)]
        readable = (allowed[:, :, list(self.group)] & touched.unsqueeze(1)).any(dim=2)
        return ~readable & touched.any(dim=1, keepdim=True)


def run_trials(
    exam: Examination,
    sample: Sample,
    groups: list[tuple[int, ...]],
    setting: Setting = EVALUATION,
    stacks: bool = True,
    changed: Shaped[Tensor, "batch time *features"] | None = None,
) -> list[Trial]:
    """Vary each group of sources of a sample in turn; batches keep their size unless they may be stacked."""
    changed = other_content(sample, exam.generator) if changed is None else changed
    rows = _varied_rows(exam, sample)
    afters = [sample.filled(changed, _marked(group, sample) & rows) for group in groups]
    outputs = exam.many_outputs([sample, *afters], setting, stacks)
    moves = [movement(outputs[0], output).where(rows, 0) for output in outputs[1:]]
    return [
        Trial(group, sample, after, moved, setting) for group, after, moved in zip(groups, afters, moves, strict=True)
    ]


def _varied_rows(exam: Examination, sample: Sample) -> Bool[Tensor, "batch 1"]:
    """All rows at once; one alone where rows move each other, which is told under batch_mates."""
    rows = torch.ones(sample.batch, 1, dtype=torch.bool, device=sample.content.device)
    if exam.has_failed("batch_mates"):
        rows[1:] = False
    return rows


def _marked(group: tuple[int, ...], sample: Sample) -> Bool[Tensor, "batch time"]:
    marked = torch.zeros_like(sample.real)
    marked[:, list(group)] = True
    return marked & sample.real


def narrowed(exam: Examination, trial: Trial, place: tuple[int, int], floor: float) -> Trial:
    """Halve the group of a trial as long as one half still moves the output at `place`."""
    group = trial.group
    while len(group) > 1:
        middle = len(group) // 2
        halves = [half for half in (group[:middle], group[middle:]) if _still_moves(exam, trial, half, place, floor)]
        if not halves:
            break
        group = halves[0]
    if group == trial.group:
        return trial
    after = _partly(exam, trial, group)
    return Trial(group, trial.before, after, exam.moved(trial.before, after, trial.setting), trial.setting)


def _partly(exam: Examination, trial: Trial, group: tuple[int, ...]) -> Sample:
    rows = _varied_rows(exam, trial.before)
    return trial.before.filled(trial.after.content, _marked(group, trial.before) & rows)


def _still_moves(exam: Examination, trial: Trial, group: tuple[int, ...], place: tuple[int, int], floor: float) -> bool:
    return bool(exam.moved(trial.before, _partly(exam, trial, group), trial.setting)[place] > floor)
