"""`future` and `boundary`: no output may move when a source that it must not read is varied.

Varied: the content of sources, in groups. Must not move: outputs to which every source of the group is forbidden. Must
move: some output, when sources that it may read are varied. A causal model has no movement before the cut; one whose
mask is missing moves at every step before it. `future` is told for a forbidden source later than the output, `boundary`
for any other. Both are tried in evaluation and training, with and without gradients, with padding and without, for one
row and for as many rows as steps.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from clew.checks.content import quiet_fill
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.influence import Influence, alike_sources
from clew.checks.locating import locate
from clew.checks.other_modes import other_settings
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, TRAINING, Setting, has_statistics
from clew.checks.trials import Trial, narrowed, run_trials
from clew.errors import AuditError, complain


@dataclass(frozen=True, eq=False)
class Case:
    """One way to run the model: a sample, a mode, who may read whom, and what to call it."""

    label: str
    sample: Sample
    setting: Setting
    allowed: Bool[Tensor, "batch outputs time"]


def check_future(exam: Examination, influence: Influence) -> Finding:
    """Vary what lies ahead of an output."""
    if not exam.has_steps:
        return not_applicable("future", "an output belongs to a whole row, not to a step")
    return _judged(exam, influence, "future")


def check_boundary(exam: Examination, influence: Influence) -> Finding:
    """Vary forbidden sources that do not lie ahead."""
    return _judged(exam, influence, "boundary")


def _judged(exam: Examination, influence: Influence, name: str) -> Finding:
    kinds = [(trial, _wrong_places(exam, trial, exam.allowed, name)) for trial in influence.trials]
    if not any(bool(places.any()) for _, places in kinds):
        ahead = " that lies ahead" if name == "future" else " beside those that lie ahead" if exam.has_steps else ""
        return not_applicable(name, f"the boundary forbids no source{ahead}")
    worst = _worst(kinds, exam.floor)
    if worst is not None:
        return _told(exam, name, *worst, exam.allowed, "")
    if float(influence.map.max()) <= exam.floor:
        return not_applicable(name, "no source moves any output, not even one that may be read")
    return _in_other_cases(exam, name, influence)


def _wrong_places(
    exam: Examination, trial: Trial, allowed: Bool[Tensor, "batch outputs time"], name: str
) -> Bool[Tensor, "batch outputs"]:
    """Mark the outputs that must not move in a trial, for one of the two checks."""
    forbidden = trial.forbidden(allowed) & _judged_beside(exam, trial.before)
    if not exam.has_steps:
        return forbidden if name == "boundary" else torch.zeros_like(forbidden)
    is_ahead = torch.arange(forbidden.shape[1], device=forbidden.device) < min(trial.group)
    return forbidden & (is_ahead if name == "future" else ~is_ahead)


def _judged_beside(exam: Examination, sample: Sample) -> Bool[Tensor, "batch outputs"]:
    return (
        exam.judged
        if sample.batch == len(exam.judged) and sample.time == exam.sample.time and (sample.valid is exam.sample.valid)
        else exam.judged_in(sample)
    )


def _worst(
    kinds: list[tuple[Trial, Bool[Tensor, "batch outputs"]]], floor: float
) -> tuple[Trial, tuple[int, int]] | None:
    best: tuple[float, Trial, tuple[int, int]] | None = None
    for trial, places in kinds:
        moved = torch.where(places, trial.moved, torch.zeros_like(trial.moved))
        at = int(moved.argmax())
        largest = float(moved.flatten()[at])
        if largest > floor and (best is None or largest > best[0]):
            best = (largest, trial, divmod(at, moved.shape[1]))
    return None if best is None else best[1:]


def _told(
    exam: Examination,
    name: str,
    trial: Trial,
    place: tuple[int, int],
    allowed: Bool[Tensor, "batch outputs time"],
    label: str,
) -> Finding:
    """Make the smallest counterexample and find where it arises."""
    trial = narrowed(exam, trial, place, exam.floor)
    row, output = place
    group = trial.group
    source = group[0] if len(group) == 1 else f"steps {group[0]} to {group[-1]}"
    still = _still(exam, trial, allowed)
    where = locate(exam.precise, trial.before, trial.after, still, exam.relative_floor, trial.setting)
    what = "a later step" if name == "future" else "a forbidden step"
    when = f" ({label})" if label else ""
    reason = f"output {output} reads {what}, {source}{when}"
    is_unseen = where is None and isinstance(exam.precise.model, nn.Module)
    remarks = ("no submodule is seen to move while it is watched",) if is_unseen else ()
    return failed(
        name,
        reason,
        changed=f"content of {f'step {source}' if isinstance(source, int) else source}",
        moved=f"output {output} of row {row}",
        movement=float(trial.moved[place]),
        floor=exam.floor,
        movement_as_given=exam.measured(trial.before, trial.after, place, trial.setting),
        counterexample=exam.example(trial.before, trial.after, place, source, trial.setting),
        place=where,
        setting=label,
        remarks=remarks,
    )


def _still(exam: Examination, trial: Trial, allowed: Bool[Tensor, "batch outputs time"]) -> Bool[Tensor, "batch steps"]:
    """Mark where nothing may move on the way: outputs that must stay, or steps that were not varied."""
    if exam.has_steps:
        return trial.forbidden(allowed) & _judged_beside(exam, trial.before)
    still = trial.before.real.clone()
    still[:, list(trial.group)] = False
    return still


def _in_other_cases(exam: Examination, name: str, influence: Influence) -> Finding:
    remarks: list[str] = []
    if not influence.is_complete:
        remarks.append(f"a leak that happens at one step only may have been missed; looked at: {influence.coverage}")
    tried = ["evaluation without gradients"]
    for case in _cases(exam):
        try:
            found = _trials_of(exam, case, name)
        except AuditError as error:
            remarks.append(f"not tried: {case.label} ({getattr(error, 'what', error)})")
            continue
        tried.append(case.label)
        if found is None:
            continue
        if case.setting is TRAINING and has_statistics(exam.precise.model):
            remarks.append("in training a source that must not be read moves outputs through batch statistics")
            continue
        finding = _told(exam, name, *found, case.allowed, case.label)
        return finding
    return passed(
        name,
        f"no forbidden source moves an output: {', '.join(tried)}",
        changed=f"content of sources, alone and in groups; looked at one by one: {influence.coverage}",
        moved="outputs that may read them, and no others",
        movement=0.0,
        floor=exam.floor,
        remarks=tuple(remarks),
    )


def _trials_of(exam: Examination, case: Case, name: str) -> tuple[Trial, tuple[int, int]] | None:
    """Try a few groups in one case; its own noise counts as rounding."""
    time = case.sample.time
    if exam.options.is_matrix:
        alike = {source: group for group in alike_sources(exam) for source in group}
        groups = list(dict.fromkeys(alike.get(step, (step,)) for step in sorted({0, time // 2, time - 1})))
    else:
        groups = [tuple(range(start, time)) for start in sorted({1, time // 3, time // 2, time - 1} - {0})]
    trials = run_trials(exam, case.sample, groups, case.setting, stacks=False)
    if any(trial.moved.shape != case.allowed.shape[:2] for trial in trials):
        rule = f"of the shape that it has in evaluation, {tuple(exam.base.shape)}"
        raise AuditError(complain("audit", f"the output in {case.label}", rule, "another"))
    return _worst([(trial, _wrong_places(exam, trial, case.allowed, name)) for trial in trials], exam.floor)


def _cases(exam: Examination) -> list[Case]:
    """The other ways to run the model."""
    sample, allowed = exam.sample, exam.allowed
    cases = [Case(one.label, sample, one, allowed) for one in other_settings(exam)]
    if exam.options.is_quick:
        return cases
    padded = exam.padded_sample()
    if padded is not None and padded.batch == sample.batch:
        other = padded if not sample.has_padding else exam.full_sample()
        cases.append(Case("with padding" if other is padded else "without padding", other, EVALUATION, allowed))
        left = _left_padded(exam, padded)
        cases += [] if left is None else [Case("with padding on the left", left, EVALUATION, allowed)]
    sizes = {1: "one row"} | ({sample.time: "as many rows as steps"} if sample.time <= 64 else {})
    for size, label in sizes.items():
        if size != sample.batch:
            rows = torch.arange(size) % sample.batch
            cases.append(Case(label, exam.drawn(sample.rows(rows)), EVALUATION, allowed[rows]))
    return cases


def _left_padded(exam: Examination, padded: Sample) -> Sample | None:
    """Give a sample with padding on the other side, where the call can say so."""
    if not exam.can_pad_left or exam.options.is_matrix:
        return None
    valid = padded.real.flip(1)
    full = exam.full_sample()
    return full.filled(quiet_fill(full).expand_as(full.content), ~valid).with_valid(valid)
