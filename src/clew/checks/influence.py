"""Which sources move which outputs: many positions varied in few batched passes.

A trial replaces the content of a group of sources and looks at all outputs at once. Short sequences get one group a
source. In long ones each group is a block of about the root of the time, with cuts (everything from a step on) and
some single steps, so that the number of trials grows with the root; a cut proves all outputs before it at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.checks.content import other_content
from clew.checks.examination import Examination
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, Setting

SHORT = 32
"""Up to this many steps every source is varied alone."""
OTHER_SEEDS = 2


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


@dataclass(frozen=True, eq=False)
class Influence:
    """All trials of the main setting.

    Attributes:
        trials: What was varied, and what moved.
        map: Largest movement of each output when a source is varied, (outputs, time); a block's value where only the
            block was varied.
        by_row: The same for each row of the sample.
        step: Steps of a block; 1 if every source was varied alone.
    """

    trials: tuple[Trial, ...]
    map: Float[Tensor, "outputs time"]
    by_row: Float[Tensor, "batch outputs time"]
    step: int


def measure_influence(exam: Examination) -> Influence:
    """Vary the sources of the sample, with several draws of content."""
    time = exam.sample.time
    is_fine = time <= SHORT or exam.options.is_matrix
    step = 1 if is_fine else isqrt(time)
    blocks = [tuple(range(start, min(start + step, time))) for start in range(0, time, step)]
    singles = [] if is_fine else [(place,) for place in _some_steps(time, step, exam.generator)]
    cuts = list(_cuts(time, step)) if time <= SHORT else list(_cuts(time, step))[:: 1 if step > 1 else isqrt(time)]
    trials = run_trials(exam, exam.sample, [*blocks, *singles, *cuts])
    for _ in range(OTHER_SEEDS):
        more = blocks if is_fine and time <= SHORT else []
        trials += run_trials(exam, exam.drawn(exam.sample), [*more, *cuts[::2]])
    by_row = torch.zeros_like(exam.allowed, dtype=torch.float64)
    for trial in trials:
        if len(trial.group) <= step:
            where = list(trial.group)
            known = by_row[:, :, where]
            fresh = trial.moved.unsqueeze(2).expand_as(known)
            by_row[:, :, where] = torch.maximum(known, fresh) if len(where) > 1 or step == 1 else fresh
    counted = torch.where(exam.judged.unsqueeze(2), by_row, torch.zeros_like(by_row))
    return Influence(tuple(trials), counted.amax(dim=0), by_row, step)


def _cuts(time: int, step: int) -> Iterator[tuple[int, ...]]:
    """Everything from a step on, shortest group first."""
    starts = sorted({*range(step, time, step), time - 1} - {0}, reverse=True)
    yield from (tuple(range(start, time)) for start in starts)


def _some_steps(time: int, count: int, generator: torch.Generator) -> list[int]:
    drawn = torch.randperm(time, generator=generator)[:count].tolist()
    return sorted({0, 1, time // 2, time - 2, time - 1, *drawn})


def run_trials(
    exam: Examination,
    sample: Sample,
    groups: list[tuple[int, ...]],
    setting: Setting = EVALUATION,
    stacks: bool = True,
) -> list[Trial]:
    """Vary each group of sources of a sample in turn; batches keep their size unless they may be stacked."""
    changed = other_content(sample, exam.generator)
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
