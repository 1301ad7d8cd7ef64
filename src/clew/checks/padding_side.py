"""`padding_side`: padding on the left instead of on the right moves no valid output.

Varied: the side, and so the column at which a row's real steps stand. Must not move: the output of each real step,
followed to its new column. Tried only where the call can express padding on the left.
"""

import torch

from clew.checks.content import quiet_fill
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.locating import first_difference, watched
from clew.checks.other_modes import excuse, settings_without_noise
from clew.checks.padding_content import padding_places
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, Setting
from clew.errors import AuditError

ADDED = 2


def check_padding_side(exam: Examination) -> Finding:
    """Put the padding of every row on its other side."""
    name = "padding_side"
    if not exam.can_pad_left:
        return not_applicable(name, "the call has no words for padding on the left")
    if exam.options.is_matrix:
        return not_applicable(name, "the boundary is given for steps where they stand")
    for other in ("padding_content", "mask_polarity", "padding_amount"):
        if exam.has_failed(other):
            return not_applicable(name, f"padding is read: told under {other}")
    right = padded_on(exam.sample, "right")
    left = padded_on(exam.sample, "left")
    remarks: list[str] = []
    for setting in (EVALUATION, *settings_without_noise(exam)):
        try:
            if excuse(exam, setting):
                continue
            before, after = exam.precise.outputs(right, setting), exam.precise.outputs(left, setting)
        except AuditError as error:
            if setting is EVALUATION:
                raise
            remarks.append(f"not tried: {setting.label} ({getattr(error, 'what', error)})")
            continue
        is_finite = bool(after[left.real if exam.has_steps else exam.judged].isfinite().all())
        if not is_finite and exam.has_failed("empty_row"):
            return not_applicable(name, "outputs are not finite: told under empty_row")
        if exam.has_steps:
            before, after = _real_steps_first(before, right), _real_steps_first(after, left)
        judged = right.real if exam.has_steps else exam.judged_in(right)
        largest, place = exam.worst(movement(before, after).where(judged, 0))
        if largest > exam.floor:
            return _told(exam, right, left, largest, place, setting)
    reason = "valid outputs do not depend on the side of padding"
    return passed(name, reason, changed="side of the padding", movement=0.0, floor=exam.floor, remarks=tuple(remarks))


def _told(
    exam: Examination, right: Sample, left: Sample, largest: float, place: tuple[int, int], setting: Setting
) -> Finding:
    runs = [watched(exam.precise, one, padding_places(exam, one), setting) for one in (right, left)]
    return failed(
        "padding_side",
        f"output {place[1]} of row {place[0]} differs when its padding stands on the left. Usual causes: positions "
        "counted from the first column; the last or first column taken for the last or first step.",
        changed="side of the padding",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
        place=first_difference(runs[0], runs[1], exam.relative_floor),
        setting="" if setting is EVALUATION else setting.label,
    )


def padded_on(sample: Sample, side: str) -> Sample:
    """Bring all real steps of a row together, with padding on one side in every row."""
    longer = sample if sample.has_padding else sample.extended(ADDED, quiet_fill(sample))
    order = longer.real.int().argsort(dim=1, descending=side == "right", stable=True)
    moved = longer.with_steps_of_row(order)
    moved = moved.with_valid(longer.real.gather(1, order))
    return moved.filled(quiet_fill(sample).expand_as(moved.content), ~moved.real)


def _real_steps_first(outputs: torch.Tensor, sample: Sample) -> torch.Tensor:
    order = sample.real.int().argsort(dim=1, descending=True, stable=True)
    return outputs[torch.arange(len(outputs), device=outputs.device).unsqueeze(1), order]
