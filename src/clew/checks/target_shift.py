"""`target_shift`: the loss ties each output to its own target, in its own row.

Varied: one target at a time. Must move: the pull of the loss on the output that predicts it; the output before it where
the targets are the inputs, the output at its own step otherwise. Must not move: the pull on any other output. A double
shift ties an output to a later target, a missing one to its own input, a shift over flattened rows to another row.
"""

import torch
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.loss_probe import LossProbe, probe_loss

PLACES = 48


def check_target_shift(exam: Examination) -> Finding:
    """Find the output to which each target is tied."""
    name = "target_shift"
    if exam.options.loss is None or exam.options.targets is None:
        return not_applicable(name, "no loss and targets were given")
    probe = probe_loss(exam)
    if probe.offset is None:
        return not_applicable(name, "the inputs do not tell whether the targets are shifted: they repeat one value")
    if not bool(probe.counted.any()):
        return not_applicable(name, "no target counts")
    before = probe.pull(probe.targets)
    scale = float(before.abs().max())
    tied = 0
    for place in [*chosen_places(probe, PLACES), *_first_of_rows(probe)]:
        changed = _apart_from_scale(before, probe.pull(probe.other_target(place)), 2 if probe.has_steps else 1)
        moved = _tied_outputs(probe, changed, scale)
        wrong = [output for output in moved if output != _expected(probe, place)]
        if wrong:
            return _told(probe, place, wrong[0])
        tied += bool(moved)
    if not tied:
        return not_applicable(name, "no target that was varied moves the loss: see ignored_targets")
    return passed(name, f"{tied} targets are tied to the output that predicts them and to no other", changed="targets")


def _first_of_rows(probe: LossProbe) -> list[tuple[int, ...]]:
    """First targets that nothing predicts, because the targets are the inputs: nothing may be tied to them."""
    kept = ~probe.ignored
    return [(row, 0) for row in range(len(kept)) if probe.offset == 1 and bool(kept[row, 0])]


def _apart_from_scale(before: Tensor, after: Tensor, axes: int) -> Tensor:
    """Say how far each pull changed beside a factor that all share: a mean over another number of targets."""
    first, second = (pull.reshape(*pull.shape[:axes], -1).flatten(0, axes - 1) for pull in (before, after))
    size = first.square().sum(dim=1)
    ratios = ((first * second).sum(dim=1) / size)[size > 0]
    factor = ratios.sort().values[len(ratios) // 2] if len(ratios) > 2 else 1.0
    return (after - factor * before).abs()


def chosen_places(probe: LossProbe, count: int) -> list[tuple[int, ...]]:
    """Choose counted targets: the last of each row, then some at random."""
    places = [tuple(place) for place in probe.counted.nonzero().tolist()]
    last = list({place[0]: place for place in places}.values())
    order = torch.randperm(len(places), generator=probe.exam.generator).tolist()
    return list(dict.fromkeys([*last, *(places[index] for index in order)]))[:count]


def _expected(probe: LossProbe, place: tuple[int, ...]) -> tuple[int, ...]:
    return (place[0], place[1] - (probe.offset or 0)) if len(place) > 1 else place


def _tied_outputs(probe: LossProbe, changed: Tensor, scale: float) -> list[tuple[int, ...]]:
    """List outputs whose pull changed clearly; a shared denominator moves all by a little and equally."""
    axes = 2 if probe.has_steps else 1
    largest = changed.flatten(axes).amax(dim=-1) if changed.ndim > axes else changed
    limit = max(1e-9 * scale, torch.finfo(changed.dtype).eps * 64 * scale)
    return [tuple(place) for place in (largest > limit).nonzero().tolist()]


def _told(probe: LossProbe, place: tuple[int, ...], output: tuple[int, ...]) -> Finding:
    expected = _expected(probe, place)
    if output[0] != place[0]:
        how = "of another row. Usual cause: a shift after flattening rows and steps into one axis."
    elif output[-1] < expected[-1]:
        how = "that lies before the right one. Usual cause: the loss shifts targets that were shifted already."
    else:
        how = "that lies behind the right one. Usual cause: nobody shifts the targets; an input is its own target."
    where = f"step {place[-1]} of row {place[0]}" if probe.has_steps else f"row {place[0]}"
    return failed(
        "target_shift",
        f"the target at {where} is tied to output {list(output)} {how}",
        changed=f"the target at {where}",
        moved=f"the pull of the loss on output {list(output)}, expected {list(expected)}",
    )
