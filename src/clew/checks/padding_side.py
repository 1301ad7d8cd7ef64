"""`padding_side`: padding on the left instead of on the right moves no valid output.

Varied: the side, and so the column at which a row's real steps stand. Must not move: the output of each real step,
followed to its new column. Tried only where the call can express padding on the left.
"""

import torch

from clew.checks.content import quiet_fill
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.results import movement
from clew.checks.sample import Sample

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
    before, after = exam.precise.outputs(right), exam.precise.outputs(left)
    if not bool(after[left.real if exam.has_steps else exam.judged].isfinite().all()) and exam.has_failed("empty_row"):
        return not_applicable(name, "outputs are not finite: told under empty_row")
    if exam.has_steps:
        before, after = _real_steps_first(before, right), _real_steps_first(after, left)
    judged = right.real if exam.has_steps else exam.judged_in(right)
    largest, place = exam.worst(movement(before, after).where(judged, 0))
    if largest > exam.floor:
        return failed(
            name,
            f"output {place[1]} of row {place[0]} differs when its padding stands on the left. Usual causes: positions "
            "counted from the first column; the last or first column taken for the last or first step.",
            changed="side of the padding",
            moved=f"output {place[1]} of row {place[0]}",
            movement=largest,
            floor=exam.floor,
        )
    return passed(name, "valid outputs do not depend on the side of padding", movement=0.0, floor=exam.floor)


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
