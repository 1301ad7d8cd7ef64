"""`padding_amount`: more or less padding moves no valid output.

Varied: the number of padded columns, behind the real steps. Must not move: valid outputs. Must move: nothing more than
`padding_content` asks for. A model may refuse a number of steps that it was not made for; that is a remark.
"""

import torch

from clew.checks.content import quiet_fill
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.errors import AuditError

AMOUNTS = (1, 3, 8)


def check_padding_amount(exam: Examination) -> Finding:
    """Add padded columns, and take away those that are padding in every row."""
    name = "padding_amount"
    if not exam.can_pad:
        return not_applicable(name, "the call has no words for padding")
    if exam.has_failed("padding_content") or exam.has_failed("mask_polarity"):
        return not_applicable(name, "what stands in padding is read: told under padding_content or mask_polarity")
    if exam.options.is_matrix and not exam.has_steps:
        return not_applicable(name, "the boundary is given for this number of steps")
    remarks: list[str] = []
    tried = 0
    for sample in (exam.sample, exam.full_sample()):
        for other in _resized(sample):
            try:
                largest, place = _distance(exam, sample, other)
            except AuditError as error:
                remarks.append(f"the model refused {other.time} steps ({getattr(error, 'what', error)})")
                continue
            tried += 1
            if largest > exam.floor:
                return _told(exam, sample, other, largest, place)
    if not tried:
        return not_applicable(name, "the model refused every other number of steps", remarks=tuple(remarks))
    reason = "valid outputs do not depend on the number of padded columns"
    return passed(name, reason, changed="columns", movement=0.0, floor=exam.floor, remarks=tuple(remarks))


def _resized(sample: Sample) -> list[Sample]:
    longer = [sample.extended(amount, quiet_fill(sample)) for amount in AMOUNTS]
    last = int(sample.real.any(dim=0).nonzero().max())
    shorter = [sample.steps(torch.arange(last + 1, device=sample.content.device))] if last + 1 < sample.time else []
    return longer + shorter


def _distance(exam: Examination, sample: Sample, other: Sample) -> tuple[float, tuple[int, int]]:
    before, after = exam.precise.outputs(sample), exam.precise.outputs(other)
    judged = exam.judged_in(sample)
    if exam.has_steps:
        steps = min(before.shape[1], after.shape[1])
        before, after, judged = before[:, :steps], after[:, :steps], judged[:, :steps]
    if before.shape != after.shape:
        raise AuditError("the output has another shape")
    return exam.worst(movement(before, after).where(judged, 0))


def _told(exam: Examination, sample: Sample, other: Sample, largest: float, place: tuple[int, int]) -> Finding:
    return failed(
        "padding_amount",
        f"output {place[1]} of row {place[0]} differs with {other.time} columns instead of {sample.time}. Usual "
        "causes: a division by the padded length, positions or a state counted from the end, a window over columns.",
        changed=f"columns, from {sample.time} to {other.time}",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
    )
