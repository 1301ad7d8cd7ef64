"""`modes`: one model, one answer, whatever the mode.

Varied: the mode: evaluation with gradients, weights asked for, training without dropout. Must not move: any valid
output. Layers with running statistics stay in evaluation. Where training draws random numbers even so, or shares
statistics between rows by design, that part does not apply; a leak in one mode only is told under `future`.
"""

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.locating import Places, first_difference, watched
from clew.checks.other_modes import excuse
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, EVALUATION_WITH_GRADIENTS, TRAINING_HELD, Setting, weight_keywords
from clew.errors import AuditError

PADDING = ("padding_content", "mask_polarity", "padding_amount", "padding_side")


def check_modes(exam: Examination) -> Finding:
    """Compare every mode with evaluation without gradients."""
    remarks: list[str] = []
    tried: list[str] = []
    words = weight_keywords(exam.precise.model) if exam.options.call is None else []
    for setting in (EVALUATION_WITH_GRADIENTS, *(Setting(keyword=word) for word in words), TRAINING_HELD):
        try:
            why_not = _excuse(exam, setting)
            found = None if why_not else _difference(exam, setting)
        except (AuditError, RuntimeError) as error:
            why_not, found = str(getattr(error, "what", error)), None
        if why_not:
            remarks.append(f"not compared: {setting.label} ({why_not})")
            continue
        tried.append(setting.label)
        if found is not None and exam.has_failed("future"):
            remarks.append(f"{setting.label} differs; the leak is told under future")
        elif found is not None:
            return _told(exam, setting, *found)
    if not tried:
        return not_applicable("modes", "no other mode could be compared", remarks=tuple(remarks))
    reason = f"the same as evaluation without gradients: {', '.join(tried)}"
    return passed("modes", reason, changed="the mode", movement=0.0, floor=exam.floor, remarks=tuple(remarks))


def _excuse(exam: Examination, setting: Setting) -> str:
    """Say why a mode cannot be compared, or nothing."""
    if exam.has_failed("mask_polarity"):
        return "told under mask_polarity"
    for name in ("future", "boundary", "state_carry"):
        if exam.has_failed(name) and exam.found[name].setting:
            return f"told under {name}"
    return excuse(exam, setting)


def _difference(exam: Examination, setting: Setting) -> tuple[Sample, float, tuple[int, int]] | None:
    padded = exam.padded_sample()
    samples = [exam.sample, *([padded] if padded is not None and padded is not exam.sample else [])]
    if any(exam.has_failed(name) for name in PADDING):  # told there, in whichever mode it happens
        samples = [exam.full_sample()]
    for sample in samples:
        before, after = exam.precise.outputs(sample), exam.precise.outputs(sample, setting)
        largest, place = exam.worst(movement(before, after).where(exam.judged_in(sample), 0))
        if largest > exam.floor:
            return sample, largest, place
    return None


def _told(exam: Examination, setting: Setting, sample: Sample, largest: float, place: tuple[int, int]) -> Finding:
    padding = ", in a batch with padding" if sample.has_padding else ""
    runs = [watched(exam.precise, sample, Places.at(sample.real), one) for one in (EVALUATION, setting)]
    return failed(
        "modes",
        f"{setting.label} differs from evaluation without gradients{padding}. Usual causes: a mask that one path "
        "ignores, a fast path that treats padding otherwise, code that looks at the mode.",
        changed=f"the mode, to {setting.label}",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
        place=first_difference(runs[0], runs[1], exam.relative_floor),
        setting=setting.label,
    )
