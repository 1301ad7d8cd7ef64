"""Which sources move which outputs: many positions varied in few batched passes.

A trial replaces the content of a group of sources and looks at all outputs at once. Short sequences get one group a
source. In long ones each group is a block of about the root of the time, with cuts (everything from a step on) and
some single steps, so that the number of trials grows with the root; a cut proves all outputs before it at once. What
could hide between them is looked for in `clew.checks.search`, one row a trial.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.search import cuts_are_searched, search
from clew.checks.trials import Trial, run_trials

SHORT = 32
"""Up to this many steps every source is varied alone."""
OTHER_SEEDS = 2
FEW = 8
"""Blocks of a quick audit."""


@dataclass(frozen=True, eq=False)
class Influence:
    """All trials of the main setting.

    Attributes:
        trials: What was varied, and what moved.
        map: Largest movement of each output when a source is varied, (outputs, time); a block's value where only the
            block was varied.
        by_row: The same for each row of the sample.
        step: Steps of a block; 1 if every source was varied alone.
        coverage: At how many steps sources were looked at one by one, in words.
        is_complete: Whether those were all.
    """

    trials: tuple[Trial, ...]
    map: Float[Tensor, "outputs time"]
    by_row: Float[Tensor, "batch outputs time"]
    step: int
    coverage: str
    is_complete: bool


def measure_influence(exam: Examination) -> Influence:
    """Vary the sources of the sample, with several draws of content."""
    time = exam.sample.time
    step = block_steps(exam)
    blocks = [tuple(range(start, min(start + step, time))) for start in range(0, time, step)]
    cuts = list(_cuts(time, step))
    is_proved = step > 1 and cuts_are_searched(exam)
    singles = [(place,) for place in _some_steps(time, step, exam.generator)] if step > 1 and not is_proved else []
    alike = alike_sources(exam) if exam.options.is_matrix else []
    if exam.options.is_quick:
        trials = run_trials(exam, exam.sample, [*blocks, *alike[:FEW]])
    else:
        first = [] if is_proved else cuts
        trials = run_trials(exam, exam.sample, [*blocks, *singles, *first, *alike[: 2 * len(blocks)]])
        for _ in range(OTHER_SEEDS):
            more = blocks if step == 1 else alike[: len(blocks)]
            trials += run_trials(exam, exam.drawn(exam.sample), [*more, *cuts[:: 4 if is_proved else 2]])
    by_row = torch.zeros_like(exam.allowed, dtype=torch.float64)
    for trial in trials:
        if trial.group in blocks or len(trial.group) == 1:
            where = list(trial.group)
            known = by_row[:, :, where]
            fresh = trial.moved.unsqueeze(2).expand_as(known)
            by_row[:, :, where] = torch.maximum(known, fresh) if len(where) > 1 or step == 1 else fresh
    coverage, is_complete = f"every one of {time} steps", True
    if step > 1:
        searched = search(exam)
        trials += searched.confirmed
        coverage, is_complete = searched.coverage, searched.is_complete
        if searched.by_row is not None:
            by_row, step = searched.by_row, 1
    counted = torch.where(exam.judged.unsqueeze(2), by_row, torch.zeros_like(by_row))
    return Influence(tuple(trials), counted.amax(dim=0), by_row, step, coverage, is_complete)


def block_steps(exam: Examination) -> int:
    """Choose how many neighbouring sources are varied together."""
    time = exam.sample.time
    if exam.options.is_quick:
        return -(-time // FEW)
    return 1 if time <= SHORT else isqrt(time)


def alike_sources(exam: Examination) -> list[tuple[int, ...]]:
    """Group the sources that the boundary permits to exactly the same outputs, the largest groups first."""
    columns = exam.allowed.flatten(0, 1).mT.cpu().numpy()
    groups: dict[bytes, list[int]] = {}
    for source, column in enumerate(columns):
        groups.setdefault(column.tobytes(), []).append(source)
    return sorted((tuple(group) for group in groups.values() if len(group) > 1), key=len, reverse=True)


def _cuts(time: int, step: int) -> Iterator[tuple[int, ...]]:
    """Everything from a step on, shortest group first."""
    starts = sorted({*range(step, time, step), time - 1} - {0}, reverse=True)
    yield from (tuple(range(start, time)) for start in starts)


def _some_steps(time: int, count: int, generator: torch.Generator) -> list[int]:
    drawn = torch.randperm(time, generator=generator)[:count].tolist()
    return sorted({0, 1, time // 2, time - 2, time - 1, *drawn})
