"""`position`: the model can tell the order of steps, and reads what a given matrix permits.

Varied: the contents of two steps change places. Must move: an output, other than those two, that reads both. A model
that treats its input as a bag of steps does not notice. For a boundary given as a matrix, each source that it permits
must move the output that may read it; reading less than "causal" or "full" allows is no fault.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.influence import SHORT, Influence
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.trials import run_trials

DRAWS = 3
PAIRS = 8
FEWER_PAIRS = 5
"""Pairs for long inputs, whose passes cost more."""
CLEARLY = 100
"""How many rounding floors a source must move an output to count as read there."""


def check_position(exam: Examination, influence: Influence) -> Finding:
    """Look for permitted sources that are never read, then let steps change places."""
    unread = _unread(exam, influence)
    if unread is not None:
        return unread
    if not exam.options.is_ordered:
        return not_applicable("position", "the task is declared to have no order")
    pairs = _pairs(exam)
    count = DRAWS if exam.sample.time <= SHORT else DRAWS - 1
    draws = [exam.sample, *(exam.drawn(exam.sample) for _ in range(count - 1))]
    verdicts = [_unnoticed(exam, sample, pairs) for sample in draws]
    tried = 0
    for place, pair in enumerate(pairs):
        told = [verdict[place] for verdict in verdicts if verdict[place] is not None]
        tried += bool(told)
        if told and all(told):
            return _blind(exam, pair)
    if not tried:
        return not_applicable("position", "no output reads two other steps that could change places")
    return passed(
        "position",
        f"{tried} pairs of steps changed places and every time an output moved",
        changed="places of two steps",
        moved="outputs that read both",
        floor=exam.floor,
    )


def _unread(exam: Examination, influence: Influence) -> Finding | None:
    if not exam.options.is_matrix:
        return None
    permitted = exam.allowed & exam.sample.real.unsqueeze(1) & exam.judged.unsqueeze(2)
    silent = permitted & (influence.by_row <= exam.floor)
    # A source that one row reads is read: content may leave a path unused in another row.
    silent = silent.any(dim=0) & ~(permitted & (influence.by_row > exam.floor)).any(dim=0)
    pair = _surely_silent(exam, silent)
    if pair is None:
        return None
    output, source = pair
    return failed(
        "position",
        f"the boundary permits output {output} to read step {source}, and nothing there ever moves it "
        f"({int(silent.sum())} such pairs). Usual causes: a mask that hides too much, or is shifted by one.",
        changed=f"content of step {source}",
        moved="nothing",
        movement=0.0,
        floor=exam.floor,
    )


def _surely_silent(exam: Examination, silent: Bool[Tensor, "outputs time"]) -> tuple[int, int] | None:
    """Vary the sources in question again, in every row and with more content: what moves nothing then is never read."""
    sources = silent.any(dim=0).nonzero().flatten().tolist()
    for start in range(0, len(sources), PAIRS):
        groups = [(source,) for source in sources[start : start + PAIRS]]
        again = [run_trials(exam, one, groups) for one in (exam.sample, exam.drawn(exam.sample))]
        for trials in zip(*again, strict=True):
            (source,) = trials[0].group
            moved = torch.stack([(trial.moved > exam.floor).any(dim=0) for trial in trials]).any(dim=0)
            still = silent[:, source] & ~moved
            if bool(still.any()):
                return int(still.nonzero()[0]), source
    return None


def _pairs(exam: Examination) -> list[tuple[int, int]]:
    """Choose steps that are real in some row: neighbours at both ends and in the middle, and some at random."""
    steps = exam.sample.real.sum(dim=0).argsort(descending=True, stable=True).tolist()
    real = sorted(step for step in steps if bool(exam.sample.real[:, step].any()))
    count = len(real)
    if count < 2:
        return []
    chosen = [(0, 1), (count // 2 - 1, count // 2), (count - 2, count - 1), (0, count - 1), (0, count - 2)]
    chosen += [(int(a), int(b)) for a, b in torch.randint(count, (PAIRS - 3, 2), generator=exam.generator)]
    ordered = [(min(real[a], real[b]), max(real[a], real[b])) for a, b in chosen if a >= 0 and a != b]
    return list(dict.fromkeys(ordered))[: PAIRS if exam.sample.time <= SHORT else FEWER_PAIRS]


def _unnoticed(exam: Examination, sample: Sample, pairs: list[tuple[int, int]]) -> list[bool | None]:
    """Say for each pair whether no output that reads both moves when they change places; None if none reads both."""
    steps = sorted({step for pair in pairs for step in pair})
    other = exam.drawn(sample)
    varied = [sample.filled(other.content, _at_step(sample, step)) for step in steps]
    swapped = [sample.with_content(sample.content[:, _swapping(sample, pair)]) for pair in pairs]
    outputs = exam.many_outputs([sample, *varied, *swapped])
    moves = [movement(outputs[0], output) for output in outputs[1:]]
    reads = {step: moved > CLEARLY * exam.floor for step, moved in zip(steps, moves, strict=False)}
    verdicts: list[bool | None] = []
    for pair, moved in zip(pairs, moves[len(steps) :], strict=True):
        readers = _readers(exam, sample, pair) & reads[pair[0]] & reads[pair[1]]
        is_told = bool(readers.any()) and (not exam.has_steps or sample.time <= 3 or int(readers.sum()) > 1)
        verdicts.append(not bool((moved[readers] > exam.floor).any()) if is_told else None)
    return verdicts


def _at_step(sample: Sample, step: int) -> Bool[Tensor, "batch time"]:
    marked = torch.zeros_like(sample.real)
    marked[:, step] = True
    return marked & sample.real


def _swapping(sample: Sample, pair: tuple[int, int]) -> Int[Tensor, " time"]:
    order = torch.arange(sample.time, device=sample.content.device)
    order[list(pair)] = order[list(pair[::-1])]
    return order


def _readers(exam: Examination, sample: Sample, pair: tuple[int, int]) -> Bool[Tensor, "batch outputs"]:
    """Mark outputs that may read both steps and stand at neither, in rows where the steps are real and differ."""
    differs = (sample.content[:, pair[0]] != sample.content[:, pair[1]]).reshape(sample.batch, -1).any(dim=1)
    is_real = sample.real[:, list(pair)].all(dim=1)
    readers = exam.judged & exam.allowed[:, :, list(pair)].all(dim=2) & (differs & is_real).unsqueeze(1)
    if exam.has_steps:
        readers[:, list(pair)] = False
    return readers


def _blind(exam: Examination, pair: tuple[int, int]) -> Finding:
    return failed(
        "position",
        f"steps {pair[0]} and {pair[1]} can change places and no output that reads both moves. Usual causes: positions "
        "that are missing, multiplied by an inverted mask, or clipped; pooling before anything depends on order.",
        changed=f"places of steps {pair[0]} and {pair[1]}",
        moved="nothing",
        movement=0.0,
        floor=exam.floor,
    )
