"""`ignored_targets`: what is ignored does not count, and what is not ignored does.

Varied: targets of -100 are put in the place of others, and padded targets are changed. Must not move: the loss, by an
ignored target's own output or by the id that stands at a padded target. Must move: the loss, by each counted target.
A batch without any target may raise or give NaN: a remark.
"""

import torch
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.loss_probe import LossProbe, probe_loss
from clew.checks.sample import IGNORED
from clew.checks.target_shift import chosen_places
from clew.errors import AuditError

PLACES = 12
NAME = "ignored_targets"


def check_ignored_targets(exam: Examination) -> Finding:
    """Look at the pull of the loss where a target is ignored and where it counts."""
    if exam.options.loss is None or exam.options.targets is None:
        return not_applicable(NAME, "no loss and targets were given")
    probe = probe_loss(exam)
    offset = _real_offset(exam, probe)
    if not bool(probe.counted.any()):
        return not_applicable(NAME, "no target counts", remarks=_without_targets(probe))
    found = (
        _counts_although_ignored(probe, offset)
        or _is_ignored_although_counted(probe, offset)
        or _end_is_padding(exam, probe)
    )
    if found is not None:
        return found
    if probe.targets.is_floating_point() and not bool(probe.ignored.any()):
        return not_applicable(NAME, "real-valued targets, and none of them at padding")
    remarks = () if probe.targets.is_floating_point() else _without_targets(probe)
    return passed(NAME, "ignored targets do not count, all others do", changed="targets", remarks=remarks)


def _real_offset(exam: Examination, probe: LossProbe) -> int:
    """Where the loss really ties targets: a wrong shift is told under target_shift, not again here."""
    if not probe.has_steps or exam.has_failed("target_shift") or probe.offset is None:
        return -1
    return probe.offset


def _counts_although_ignored(probe: LossProbe, offset: int) -> Finding | None:
    for place in probe.ignored.nonzero().tolist()[:PLACES]:
        if probe.value(probe.outputs, probe.targets) != probe.value(probe.outputs, probe.other_target(tuple(place))):
            if int(probe.targets[tuple(place)].flatten()[0]) == IGNORED:
                continue  # another id there is another task
            return failed(
                NAME, f"the target at padding {place} counts. Usual cause: {_PADDED}", changed=f"target {place}"
            )
    if probe.targets.is_floating_point():
        return None
    for place in chosen_places(probe, PLACES):
        targets = probe.targets.clone()
        targets[place] = IGNORED
        if not bool(_left(probe, place).any()):
            continue
        output = _output_of(place, offset)
        if output is not None and bool((probe.pull(targets)[output] != 0).any()):
            reason = f"a target of -100 at {list(place)} still counts. Usual cause: the loss has another ignored id."
            return failed(
                NAME, reason, changed=f"target {list(place)}, to -100", moved=f"pull on output {list(output)}"
            )
    return None


_PADDED = "the loss does not know of padding; give targets of -100 there."


def _left(probe: LossProbe, place: tuple[int, ...]) -> Tensor:
    counted = probe.counted.clone()
    counted[place] = False
    return counted


def _is_ignored_although_counted(probe: LossProbe, offset: int) -> Finding | None:
    pull = probe.pull(probe.targets)
    scale = float(pull.abs().max())
    if scale == 0 or not pull.isfinite().all():
        return None
    for place in probe.counted.nonzero().tolist():
        output = _output_of(tuple(place), offset)
        if output is not None and not bool((pull[output].abs() > torch.finfo(pull.dtype).tiny).any()):
            target = probe.targets[tuple(place)].flatten()[0].item()
            reason = (
                f"the target {target} at {place} does not count. Usual causes: an id that means padding and something "
            )
            return failed(
                NAME, reason + "else, such as the end; a weight of 0; a target that is cut off.", moved="nothing"
            )
    return None


def _end_is_padding(exam: Examination, probe: LossProbe) -> Finding | None:
    """Look for an id of padding that real steps have too, and that is ignored as a target at each of them."""
    content, real = exam.sample.content, exam.sample.real
    if not exam.sample.is_ids or not probe.has_steps or content.shape != probe.targets.shape or bool(real.all()):
        return None
    ahead = 0 if probe.offset == 1 else 1
    width = content.shape[1] - ahead
    targets, following = probe.targets[:, :width], content[:, ahead:]
    is_target = real[:, ahead:] & real[:, :width]
    if ahead == 0:
        is_target[:, 0] = False
    kept = is_target & (targets != IGNORED)
    if not bool(kept.any()) or not bool((targets == following)[kept].all()):
        return None
    for value in content[~real].unique().tolist():
        places = (is_target & (following == value)).nonzero().tolist()
        if places and not bool((kept & (following == value)).any()):
            row, step = places[0]
            return failed(
                NAME,
                f"id {value} stands in padding and is a real step too, at {[row, step + ahead]}, and is ignored as a "
                "target wherever it is one. Usual cause: padding and the end of a row have the same id, and targets "
                "are made by ignoring that id: the model never learns to end.",
                changed="nothing",
                moved=f"target {[row, step]} is -100",
            )
    return None


def _output_of(place: tuple[int, ...], offset: int) -> tuple[int, ...] | None:
    """Index of the output that is tied to a target; None where that is not known."""
    if len(place) == 1:
        return place
    return None if offset < 0 else (place[0], place[1] - offset)


def _without_targets(probe: LossProbe) -> tuple[str, ...]:
    try:
        value = probe.value(probe.outputs, torch.full_like(probe.targets, IGNORED))
    except AuditError:
        return ("a batch without any target raises an error",)
    return () if value == 0 else (f"the loss of a batch without any target is {value:g}",)
