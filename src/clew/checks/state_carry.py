"""`state_carry`: an earlier call does not change a later one.

Varied: what the model was called with before. Must not move: outputs for the same inputs. Must move: outputs of the
other call, whose content is another. In evaluation a call after others is compared with a first call; in training two
histories are compared, because layers may count calls there.
"""

from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.locating import Places, Run, first_difference, watched
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, TRAINING_HELD, Setting
from clew.errors import AuditError


def check_state_carry(exam: Examination) -> Finding:
    """Call the model with other content in between."""
    if exam.options.is_stateful:
        return not_applicable("state_carry", "the model is declared to carry its state")
    other = exam.drawn(exam.sample)
    for setting in (EVALUATION, TRAINING_HELD):
        try:
            moved = _after_history(exam, other, setting)
        except AuditError as error:
            if setting is EVALUATION:
                return _refused(error)
            remark = f"not tried in training ({getattr(error, 'what', error)})"
            return _clean(exam, other, (remark,))
        largest, place = exam.worst(moved)
        if largest > exam.floor:
            return _told(exam, other, largest, place, setting)
    return _clean(exam, other, ())


def _refused(error: AuditError) -> Finding:
    return failed(
        "state_carry",
        f"the model raises on a second call, although it takes the same inputs first: {getattr(error, 'what', error)}.",
        changed="the inputs of the call before",
        moved="the second call raises",
        setting=EVALUATION.label,
    )


def _after_history(exam: Examination, other: Sample, setting: Setting) -> Tensor:
    before = exam.sample if setting.training else None
    first = _last_of(exam, before, setting)
    again = _last_of(exam, other, setting)
    if first.shape != exam.base.shape:
        raise AuditError("the output has another shape in training")
    return movement(first, again).where(exam.judged, 0)


def _last_of(exam: Examination, before: Sample | None, setting: Setting) -> Tensor:
    """Give the outputs for the sample after a fresh start and perhaps another call."""
    if before is None:
        return exam.precise.outputs(exam.sample, setting)
    exam.precise.outputs(before, setting)
    return exam.precise.outputs(exam.sample, setting, restores=False)


def _watched_last(exam: Examination, before: Sample | None, setting: Setting) -> Run | None:
    places = Places.at(exam.sample.real)
    if before is None:
        return watched(exam.precise, exam.sample, places, setting)
    exam.precise.outputs(before, setting)
    return watched(exam.precise, exam.sample, places, setting, restores=False)


def _told(exam: Examination, other: Sample, largest: float, place: tuple[int, int], setting: Setting) -> Finding:
    runs = [_watched_last(exam, one, setting) for one in (exam.sample if setting.training else None, other)]
    if setting is EVALUATION:
        first = exam.precise.outputs(exam.sample)
        exam.is_repeatable = bool((movement(first, exam.precise.outputs(exam.sample)) <= exam.floor).all())
    return failed(
        "state_carry",
        f"an earlier call changes a later one ({setting.label}). Usual causes: a hidden state, cache or running value "
        "that is kept on the model and not reset. If it is meant, say stateful=True.",
        changed="the inputs of the call before",
        moved=f"output {place[1]} of row {place[0]}, for the same inputs",
        movement=largest,
        floor=exam.floor,
        place=first_difference(runs[0], runs[1], exam.relative_floor),
        setting=setting.label,
    )


def _clean(exam: Examination, other: Sample, remarks: tuple[str, ...]) -> Finding:
    if not bool((exam.moved(exam.sample, other) > exam.floor).any()):
        return not_applicable("state_carry", "no content that was tried moves any output", remarks=remarks)
    return passed(
        "state_carry",
        "a call gives the same after other calls as before them",
        changed="the inputs of the call before",
        moved="nothing",
        movement=0.0,
        floor=exam.floor,
        remarks=remarks,
    )
