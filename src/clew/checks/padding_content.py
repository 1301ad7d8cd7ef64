"""`padding_content` and `mask_polarity`: what stands in padding moves no valid output and no gradient.

Varied: the content of padding: other content, large values, NaN and infinity for real inputs. Must not move: valid
outputs, and the gradients of parameters. Must move: valid outputs, when real steps are varied. Where padding moves
outputs and no other real step does, the mask is inverted: that is `mask_polarity`, and it replaces `padding_content`.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.checks.content import other_content, padding_fills
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.gradient_probe import parameter_gradients
from clew.checks.locating import locate
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
    real_moved = _moved_by_real_steps(exam, sample)
    for label, fill in padding_fills(sample, exam.generator):
        after = sample.filled(fill, ~sample.real)
        for setting in (EVALUATION, EVALUATION_WITH_GRADIENTS):
            largest, place = exam.worst(exam.moved(sample, after, setting).where(exam.judged_in(sample), 0))
            if largest > exam.floor:
                return _told(exam, sample, after, place, largest, label, setting, real_moved)
        if _gradients_move(exam, sample, after):
            reason = f"{label} in padding moves gradients, although no valid output moves. {CAUSE}"
            return failed(name, reason, changed=f"padding, to {label}", moved="gradients of parameters")
    if not bool((real_moved > exam.floor).any()):
        return not_applicable(name, "no content that was tried moves any valid output")
    reason = "valid outputs and gradients do not depend on what stands in padding"
    return passed(name, reason, changed="content of padding", moved="nothing", movement=0.0, floor=exam.floor)


def check_mask_polarity(exam: Examination) -> Finding:
    """Say whether `padding_content` found an inverted mask."""
    found = exam.found["padding_content"]
    if found.name == "mask_polarity":
        exam.found["padding_content"] = not_applicable("padding_content", "the mask is inverted: see mask_polarity")
        return found
    if found.status == "not applicable":
        return not_applicable("mask_polarity", found.reason)
    return passed("mask_polarity", "real steps are read" if found.status == "passed" else "real steps are read too")


def _moved_by_real_steps(exam: Examination, sample: Sample) -> Float[Tensor, "batch outputs"]:
    """Vary every real step but the output's own, and say how far valid outputs move."""
    changed = other_content(sample, exam.generator)
    judged = exam.judged_in(sample)
    if not exam.has_steps:
        return exam.moved(sample, sample.filled(changed, sample.real)).where(judged, 0)
    moved = torch.zeros(judged.shape, dtype=torch.float64, device=judged.device)
    for own in _some_real_steps(sample):
        others = sample.real & (torch.arange(sample.time, device=judged.device) != own)
        step_moved = exam.moved(sample, sample.filled(changed, others))
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
    real_moved: Float[Tensor, "batch outputs"],
) -> Finding:
    padded: Bool[Tensor, " batch"] = ~sample.real.all(dim=1)
    has_several = sample.real.sum(dim=1)[padded] > (1 if exam.has_steps else 0)
    is_inverted = bool(has_several.any()) and not bool((real_moved[padded] > exam.floor).any())
    scale = max(float(exam.base[exam.judged].abs().max()), torch.finfo(torch.float64).tiny)
    still = exam.judged_in(sample) if exam.has_steps else sample.real
    where = locate(exam.precise, sample, after, still, exam.floor / scale, setting)
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
        place=where,
        setting="" if setting is EVALUATION else setting.label,
    )


def _gradients_move(exam: Examination, sample: Sample, after: Sample) -> bool:
    try:
        first, second = (parameter_gradients(exam, one, EVALUATION_WITH_GRADIENTS) for one in (sample, after))
    except (AuditError, RuntimeError):
        return False
    scale = max(float(exam.base[exam.judged].abs().max()), torch.finfo(torch.float64).tiny)
    for name, old in first.items():
        new = second[name]
        if old is None or new is None or not bool(old.isfinite().all()):
            continue
        limit = exam.floor / scale * max(float(old.abs().max()), 1.0) * max(1, sample.real.numel())
        if not bool(((new - old).abs() <= limit).all()):
            return True
    return False
