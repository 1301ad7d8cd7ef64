"""The search for a leak into a single output: a group of sources for each row of a pass, not one for each pass.

Where rows do not touch, each row of a stacked pass is a trial of its own, so that n trials cost n rows, whatever the
batch. Against a boundary that hides what lies ahead, a trial is a cut: everything from a step on is varied, and every
output before it must stay; all cuts together prove that no output reads ahead, not even one step. Against a matrix, a
trial is one source. Up to `EVERY` steps all of them are run; beyond, one at random in each of as many stretches as
grow with the root of the time, which finds what happens again and again, and may miss what happens once.
"""

from dataclasses import dataclass
from math import isqrt

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from clew.checks.content import other_content
from clew.checks.examination import STACKED_STEPS, Examination
from clew.checks.results import movement
from clew.checks.trials import Trial, run_trials

EVERY = 512
"""Up to this many steps each is looked at."""
TIMES_ROOT = 8
"""How many times the root of the time beyond."""
QUICK = 32
"""Trials of a quick audit."""
CONFIRMED = 3
"""How many of the rows that moved most are tried again in the whole batch."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search found.

    Attributes:
        confirmed: Trials of the whole sample that move what they must not.
        coverage: What was looked at, in words.
        by_row: How far each source alone moves each output, where sources were varied alone.
        is_complete: Whether nothing forbidden was left out.
    """

    confirmed: list[Trial]
    coverage: str
    by_row: Float[Tensor, "batch outputs time"] | None
    is_complete: bool


def cuts_are_searched(exam: Examination) -> bool:
    """Say whether `search` tries cuts of its own, so that no others need to be."""
    return not exam.options.is_matrix and exam.is_stacked and not exam.has_failed("batch_mates")


def search(exam: Examination) -> Searched:
    """Look at steps one by one."""
    time = exam.sample.time
    forbidden = ~exam.allowed & exam.sample.real.unsqueeze(1) & exam.judged.unsqueeze(2)
    is_matrix = exam.options.is_matrix
    if not exam.is_stacked or exam.has_failed("batch_mates"):
        return _in_whole_batches(exam) if is_matrix else Searched([], "none, because rows touch", None, False)
    if not is_matrix and not bool(forbidden.any()):
        return Searched([], "none, because nothing is forbidden", None, True)
    steps = _chosen_steps(exam)
    is_shared = bool((exam.allowed == exam.allowed[:1]).all())
    rows, starts = _places(exam, steps, forbidden, is_shared)
    changed = other_content(exam.sample, exam.generator)
    moved = _moved(exam, rows, starts, changed, is_matrix)
    groups = [(start,) if is_matrix else tuple(range(start, time)) for start in starts.tolist()]
    wrong = moved.where(_must_stay(exam, rows, starts, is_matrix), 0).amax(dim=1)
    worst = [place for place in wrong.argsort(descending=True)[:CONFIRMED].tolist() if float(wrong[place]) > exam.floor]
    confirmed = run_trials(exam, exam.sample, [groups[place] for place in worst], changed=changed) if worst else []
    by_row = _by_row(exam, rows, starts, moved, is_shared) if is_matrix and len(steps) == time else None
    total = time if is_matrix else time - 1
    return Searched(confirmed, _words(len(steps), total, is_matrix), by_row, len(steps) == total)


def _words(count: int, total: int, is_matrix: bool) -> str:
    what = "sources" if is_matrix else "cuts"
    if count == total:
        return f"all {total} {what}"
    return f"{count} of {total} {what}, one in each {-(-total // max(count, 1))}"


def _chosen_steps(exam: Examination) -> list[int]:
    """Choose sources, or starts of cuts: all of them, or one in each stretch."""
    first, time = (0 if exam.options.is_matrix else 1), exam.sample.time
    total = time - first
    count = min(total, QUICK if exam.options.is_quick else total if time <= EVERY else TIMES_ROOT * isqrt(time))
    ends = [first + total * place // count for place in range(count + 1)]
    drawn = torch.rand(count, generator=exam.generator).tolist()
    return [low + int(part * (high - low)) for low, high, part in zip(ends, ends[1:], drawn, strict=False)]


def _places(
    exam: Examination, steps: list[int], forbidden: Bool[Tensor, "batch outputs time"], is_shared: bool
) -> tuple[Int[Tensor, " trials"], Int[Tensor, " trials"]]:
    """Choose a row for each step in turn, or all rows where each has a boundary of its own."""
    rows, starts = [], []
    matters = forbidden.any(dim=1) if not exam.options.is_matrix else exam.sample.real
    for number, step in enumerate(steps):
        fit = matters[:, step].nonzero().flatten().tolist()
        chosen = fit if not is_shared else fit[number % len(fit) :][:1] if fit else []
        rows += chosen
        starts += [step] * len(chosen)
    return torch.tensor(rows), torch.tensor(starts)


def _marks(
    exam: Examination, rows: Int[Tensor, " trials"], starts: Int[Tensor, " trials"], is_matrix: bool
) -> Bool[Tensor, "trials time"]:
    steps = torch.arange(exam.sample.time)
    marked = steps == starts.unsqueeze(1) if is_matrix else steps >= starts.unsqueeze(1)
    return marked.to(exam.sample.real.device) & exam.sample.real[rows]


def _moved(
    exam: Examination,
    rows: Int[Tensor, " trials"],
    starts: Int[Tensor, " trials"],
    changed: Shaped[Tensor, "batch time *features"],
    is_matrix: bool,
) -> Float[Tensor, "trials outputs"]:
    size = max(1, STACKED_STEPS // exam.sample.time)
    found = [exam.base.new_zeros(0, exam.base.shape[1])]
    for part, part_starts in zip(rows.split(size), starts.split(size), strict=True):
        before = exam.sample.rows(part.to(exam.sample.content.device))
        after = before.filled(changed[part], _marks(exam, part, part_starts, is_matrix))
        found.append(movement(exam.base[part], exam.precise.outputs(after)))
    return torch.cat(found)


def _must_stay(
    exam: Examination, rows: Int[Tensor, " trials"], starts: Int[Tensor, " trials"], is_matrix: bool
) -> Bool[Tensor, "trials outputs"]:
    stays = [exam.judged.new_zeros(0, exam.judged.shape[1])]
    for part, part_starts in zip(rows.split(64), starts.split(64), strict=True):
        marked = _marks(exam, part, part_starts, is_matrix).unsqueeze(1)
        stays.append(~(exam.allowed[part] & marked).any(dim=2) & exam.judged[part])
    return torch.cat(stays)


def _by_row(
    exam: Examination,
    rows: Int[Tensor, " trials"],
    sources: Int[Tensor, " trials"],
    moved: Float[Tensor, "trials outputs"],
    is_shared: bool,
) -> Float[Tensor, "batch outputs time"]:
    """Put movements in their place; where rows share a boundary, the one that was tried stands for all."""
    by_row = torch.zeros_like(exam.allowed, dtype=torch.float64)
    for row, source, one in zip(rows.tolist(), sources.tolist(), moved, strict=True):
        by_row[slice(None) if is_shared else row, :, source] = one
    return by_row


def _in_whole_batches(exam: Examination) -> Searched:
    """Vary each source alone in a pass of its own."""
    steps = _chosen_steps(exam)
    trials = run_trials(exam, exam.sample, [(step,) for step in steps])
    time = exam.sample.time
    by_row = torch.stack([trial.moved for trial in trials], dim=2) if len(steps) == time else None
    return Searched(trials, _words(len(steps), time, True), by_row, len(steps) == time)
