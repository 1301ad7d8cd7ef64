"""`padding_content` and `mask_polarity`: what stands in padding moves no valid output and no gradient.

Varied: the content of padding: other content, large values, NaN and infinity for real inputs; in evaluation, with
gradients, in training and with weights asked for. Must not move: valid outputs, and the gradients of parameters. Must
move: valid outputs, when real steps are varied. Where padding moves outputs and no other real step does, the mask is
inverted: that is `mask_polarity`, and it replaces `padding_content`.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.checks.batch_mates import shares_rows_in_training
from clew.checks.content import other_content, padding_fills
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.gradient_probe import parameter_gradients
from clew.checks.locating import Places, first_difference, watched
from clew.checks.other_modes import other_settings
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, EVALUATION_WITH_GRADIENTS, Setting
from clew.errors import AuditError

CAUSE = (
    "Usual causes: a mask that is missing, dropped on the way or applied too late; a mean or maximum over padding; the "
    "state at the last column; a backward direction that starts in padding; statistics over padding."
)


def check_padding_content(exam: Examination) -> Finding:
    """Replace what stands in padding."""
    name = "padding_content"
    sample = exam.padded_sample()
    if exam.broken_padding:
        return failed(name, f"outputs are not finite as soon as there is padding. {CAUSE}", movement=torch.inf)
    if sample is None or exam.sample.form.padding == "pad":
        known = "another id there would be a real step" if sample is not None else "the call has no words for padding"
        return not_applicable(name, known)
    real_moved = _moved_by_real_steps(exam, sample, EVALUATION)
    fills = padding_fills(sample, exam.generator)
    for label, fill in fills[:1] if exam.options.is_quick else fills:
        after = sample.filled(fill, ~sample.real)
        found = _found(exam, sample, after, label, EVALUATION)
        if found is not None:
            return found
        if _gradients_move(exam, sample, after):
            reason = f"{label} in padding moves gradients, although no valid output moves. {CAUSE}"
            return failed(name, reason, changed=f"padding, to {label}", moved="gradients of parameters")
    remarks: list[str] = []
    for setting in other_settings(exam):
        for label, fill in fills[:1] if sample.is_ids else [fills[0], fills[-2]]:
            found = _in_other_mode(exam, sample, sample.filled(fill, ~sample.real), label, setting)
            if isinstance(found, Finding):
                return found
            remarks += [found] if found else []
    if not bool((real_moved > exam.floor).any()):
        return not_applicable(name, "no content that was tried moves any valid output", remarks=_once(remarks))
    reason = "valid outputs and gradients do not depend on what stands in padding"
    return passed(
        name,
        reason,
        changed="content of padding, in every mode",
        moved="nothing",
        movement=0.0,
        floor=exam.floor,
        remarks=_once(remarks),
    )


def _once(remarks: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remarks))


def _found(exam: Examination, sample: Sample, after: Sample, label: str, setting: Setting) -> Finding | None:
    moved = exam.moved(sample, after, setting)
    judged = exam.judged_in(sample)
    if moved.shape != judged.shape:
        raise AuditError("the output has another shape")
    largest, place = exam.worst(moved.where(judged, 0))
    return _told(exam, sample, after, place, largest, label, setting) if largest > exam.floor else None


def _in_other_mode(
    exam: Examination, sample: Sample, after: Sample, label: str, setting: Setting
) -> Finding | str | None:
    """Try a mode; what a model refuses there, or shares between rows by design, is a remark."""
    try:
        found = _found(exam, sample, after, label, setting)
        is_shared = found is not None and setting.training and shares_rows_in_training(exam, setting)
    except AuditError as error:
        return f"not tried: {setting.label} ({getattr(error, 'what', error)})"
    return "in training, and only there, padding moves valid outputs (batch statistics)" if is_shared else found


def check_mask_polarity(exam: Examination) -> Finding:
    """Say whether `padding_content` found an inverted mask."""
    found = exam.found["padding_content"]
    if found.name == "mask_polarity":
        exam.found["padding_content"] = not_applicable("padding_content", "the mask is inverted: see mask_polarity")
        return found
    if found.status == "not applicable":
        return not_applicable("mask_polarity", found.reason)
    return passed("mask_polarity", "real steps are read" if found.status == "passed" else "real steps are read too")


def _moved_by_real_steps(exam: Examination, sample: Sample, setting: Setting) -> Float[Tensor, "batch outputs"]:
    """Vary every real step but the output's own, and say how far valid outputs move."""
    changed = other_content(sample, exam.generator)
    judged = exam.judged_in(sample)
    if not exam.has_steps:
        return exam.moved(sample, sample.filled(changed, sample.real), setting).where(judged, 0)
    moved = torch.zeros(judged.shape, dtype=torch.float64, device=judged.device)
    for own in _some_real_steps(sample):
        others = sample.real & (torch.arange(sample.time, device=judged.device) != own)
        step_moved = exam.moved(sample, sample.filled(changed, others), setting)
        moved[:, own] = step_moved[:, own].where(judged[:, own], 0)
    return moved


def _some_real_steps(sample: Sample) -> list[int]:
    padded = sample.real[~sample.real.all(dim=1)]
    steps = padded.any(dim=0).nonzero().flatten().tolist()
    return sorted({steps[0], steps[len(steps) // 2], steps[-1]})


def _told(
    exam: Examination,
    sample: Sample,
    after: Sample,
    place: tuple[int, int],
    largest: float,
    label: str,
    setting: Setting,
) -> Finding:
    real_moved = _moved_by_real_steps(exam, sample, setting)
    padded: Bool[Tensor, " batch"] = ~sample.real.all(dim=1)
    has_several = sample.real.sum(dim=1)[padded] > (1 if exam.has_steps else 0)
    is_inverted = bool(has_several.any()) and not bool((real_moved[padded] > exam.floor).any())
    runs = [watched(exam.precise, one, padding_places(exam, sample), setting) for one in (sample, after)]
    reason = (
        "padding moves valid outputs and no other real step does. Usual cause: a mask whose True means the opposite."
        if is_inverted
        else f"{label} in padding moves output {place[1]} of row {place[0]}. {CAUSE}"
    )
    return failed(
        "mask_polarity" if is_inverted else "padding_content",
        reason,
        changed=f"content of padding, to {label}",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
        counterexample=exam.example(sample, after, place, f"padding (to {label})", setting),
        place=first_difference(runs[0], runs[1], exam.relative_floor),
        setting="" if setting is EVALUATION else setting.label,
    )


def padding_places(exam: Examination, sample: Sample) -> Places:
    """Take the real steps, and all of a row where an output belongs to it."""
    return Places.at(sample.real, None if exam.has_steps else torch.ones_like(sample.real[:, 0]))


def _gradients_move(exam: Examination, sample: Sample, after: Sample) -> bool:
    try:
        first, second = (parameter_gradients(exam, one, EVALUATION_WITH_GRADIENTS) for one in (sample, after))
    except (AuditError, RuntimeError):
        return False
    for name, old in first.items():
        new = second[name]
        if old is None or new is None or not bool(old.isfinite().all()):
            continue
        limit = exam.relative_floor * max(float(old.abs().max()), 1.0) * max(1, sample.real.numel())
        if not bool(((new - old).abs() <= limit).all()):
            return True
    return False
