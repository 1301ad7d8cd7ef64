"""`padding_amount`: more or less padding moves no valid output.

Varied: the number of padded columns, behind the real steps, in every mode without noise. Must not move: valid outputs.
Must move: nothing more than `padding_content` asks for. A model may refuse a number of steps that it was not made for;
that is a remark.
"""

from dataclasses import replace

import torch
from torch import Tensor

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
    for setting in (EVALUATION, *settings_without_noise(exam)):
        for sample, other in _pairs(exam, setting):
            try:
                if excuse(exam, setting):
                    break
                largest, place = _distance(exam, sample, other, setting)
            except AuditError as error:
                mode = "" if setting is EVALUATION else f" in {setting.label}"
                remarks.append(f"the model refused {other.time} steps{mode} ({getattr(error, 'what', error)})")
                continue
            if largest > exam.floor and _is_of_other_length(exam, sample, other, setting):
                remarks.append("an entry with as many steps as the content was kept as it is: it has its own length")
                break
            tried += 1
            if largest > exam.floor:
                return _told(exam, sample, other, largest, place, setting)
    if not tried:
        return not_applicable(name, "the model refused every other number of steps", remarks=tuple(remarks))
    reason = "valid outputs do not depend on the number of padded columns"
    return passed(name, reason, changed="columns", movement=0.0, floor=exam.floor, remarks=tuple(remarks))


def _pairs(exam: Examination, setting: Setting) -> list[tuple[Sample, Sample]]:
    """List samples, each with one of another number of columns; one pair in the other modes."""
    samples = (exam.sample, exam.full_sample())
    pairs = [(sample, other) for sample in samples for other in _resized(sample)]
    return pairs if setting is EVALUATION else pairs[1:2]


def _resized(sample: Sample) -> list[Sample]:
    longer = [sample.extended(amount, quiet_fill(sample)) for amount in AMOUNTS]
    last = int(sample.real.any(dim=0).nonzero().max())
    shorter = [sample.steps(torch.arange(last + 1, device=sample.content.device))] if last + 1 < sample.time else []
    return longer + shorter


def _distance(exam: Examination, sample: Sample, other: Sample, setting: Setting) -> tuple[float, tuple[int, int]]:
    before, after = exam.precise.outputs(sample, setting), exam.precise.outputs(other, setting)
    judged = exam.judged_in(sample)
    if exam.has_steps:
        steps = min(before.shape[1], after.shape[1])
        before, after, judged = before[:, :steps], after[:, :steps], judged[:, :steps]
    if before.shape != after.shape:
        raise AuditError("the output has another shape")
    return exam.worst(movement(before, after).where(judged, 0))


def _is_of_other_length(exam: Examination, sample: Sample, other: Sample, setting: Setting) -> bool:
    """Say whether outputs stay once real-valued entries beside the content keep their steps.

    Such an entry may have as many steps as the content by chance, as the source of an encoder-decoder model may.
    """
    kept = {name: value for name, value in sample.others.items() if isinstance(value, Tensor) and value.ndim > 2}
    if not kept:
        return False
    try:
        largest, _ = _distance(exam, sample, replace(other, others=other.others | kept), setting)
    except AuditError:
        return False
    return largest <= exam.floor


def _told(
    exam: Examination, sample: Sample, other: Sample, largest: float, place: tuple[int, int], setting: Setting
) -> Finding:
    runs = [watched(exam.precise, one, padding_places(exam, one), setting) for one in (sample, other)]
    return failed(
        "padding_amount",
        f"output {place[1]} of row {place[0]} differs with {other.time} columns instead of {sample.time}. Usual "
        "causes: a division by the padded length, positions or a state counted from the end, a window over columns.",
        changed=f"columns, from {sample.time} to {other.time}",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
        place=first_difference(runs[0], runs[1], exam.relative_floor),
        setting="" if setting is EVALUATION else setting.label,
    )
