"""`empty_row`: a row or query with nothing to read gives neither NaN nor hidden content.

Varied: which steps are real: none in one row of a batch, none before a step where padding stands on the left. Must not
happen: NaN anywhere in the output or in a gradient, or an output of the empty row that moves with the content hidden in
it. Outputs at padded steps may show their own step's content. A model that refuses an empty row with an error is
right too: a remark. Whether a value is finite is asked in the model's own number type: in another one a sentinel that
was chosen for it may overflow.
"""

import torch

from clew.checks.batch_mates import paired
from clew.checks.content import other_content, quiet_fill
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.gradient_probe import parameter_gradients
from clew.checks.locating import first_not_a_number, locate
from clew.checks.padding_side import padded_on
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, EVALUATION_WITH_GRADIENTS, Setting, weight_keywords
from clew.errors import AuditError

CAUSE = "Usual causes: a softmax over nothing but -inf, a division by a length of 0, a length raised to 1."


def check_empty_row(exam: Examination) -> Finding:
    """Try a batch with an empty row, a row padded on the left, and queries to which a matrix permits nothing."""
    remarks: list[str] = []
    tried: list[str] = []
    for label, sample in _cases(exam):
        for setting in _settings(exam):
            try:
                found = _trouble(exam, label, sample, setting)
            except AuditError as error:
                remarks.append(f"the model refused {label} ({getattr(error, 'what', error)})")
                break
            if found is not None:
                return found
        else:
            tried.append(label)
    if not tried:
        reason = remarks[0] if remarks else "the call cannot express a row or query with nothing to read"
        return not_applicable("empty_row", reason, remarks=tuple(remarks))
    reason = f"finite outputs and gradients with {', '.join(tried)}"
    return passed("empty_row", reason, changed="which steps are real", floor=exam.floor, remarks=tuple(remarks))


def _cases(exam: Examination) -> list[tuple[str, Sample]]:
    cases: list[tuple[str, Sample]] = []
    if exam.can_pad:
        sample = paired(exam)
        valid = sample.real.clone()
        valid[-1] = False
        content = sample.filled(quiet_fill(sample).expand_as(sample.content), ~valid) if _knows_by_id(exam) else sample
        cases.append(("an empty row", content.with_valid(valid)))
    if exam.can_pad_left and not exam.options.is_matrix:
        cases.append(("padding on the left", padded_on(exam.sample, "left")))
    if exam.options.is_matrix and not bool((exam.allowed & exam.sample.real.unsqueeze(1)).any(dim=2).all()):
        cases.append(("a query that may read nothing", exam.sample))
    return cases


def _knows_by_id(exam: Examination) -> bool:
    return exam.sample.form.padding == "pad"


def _settings(exam: Examination) -> list[Setting]:
    words = weight_keywords(exam.precise.model) if exam.options.call is None else []
    return [EVALUATION, EVALUATION_WITH_GRADIENTS, *(Setting(keyword=word) for word in words)]


def _trouble(exam: Examination, label: str, sample: Sample, setting: Setting) -> Finding | None:
    outputs = exam.native.outputs(sample, setting)
    wrong = (~outputs.isfinite()).any(dim=2)
    if bool(wrong.any()):
        row, output = wrong.nonzero()[0].tolist()
        reason = f"{label} gives NaN at row {row}, output {output} ({setting.label}). {CAUSE}"
        return failed(
            "empty_row",
            reason,
            changed=label,
            moved=f"output {output} of row {row}",
            movement=torch.inf,
            place=first_not_a_number(exam.native, sample, setting),
        )
    if setting.gradients:
        name = _wrong_gradient(exam, sample, setting)
        if name:
            reason = f"{label} gives a gradient that is not finite, of {name}, although all outputs are. {CAUSE}"
            return failed("empty_row", reason, changed=label, moved=f"gradient of {name}", movement=torch.inf)
    return _hidden_content(exam, sample) if label == "an empty row" and not _knows_by_id(exam) else None


def _wrong_gradient(exam: Examination, sample: Sample, setting: Setting) -> str:
    try:
        gradients = parameter_gradients(exam, sample, setting, engine=exam.native)
    except RuntimeError:
        return ""
    wrong = [name for name, value in gradients.items() if value is not None and not bool(value.isfinite().all())]
    return wrong[0] if wrong else ""


def _hidden_content(exam: Examination, sample: Sample) -> Finding | None:
    """Vary what an empty row hides; where outputs have steps, only padding sees it, which does no harm."""
    if exam.has_steps or exam.has_failed("padding_content") or exam.has_failed("mask_polarity"):
        return None
    empty = ~sample.real.any(dim=1)
    after = sample.filled(other_content(sample, exam.generator), empty.unsqueeze(1).expand_as(sample.real))
    moved = exam.moved(sample, after).where(empty.unsqueeze(1), 0)
    largest, place = exam.worst(moved)
    if largest <= exam.floor:
        return None
    return failed(
        "empty_row",
        f"a row without real steps shows what is hidden in it. {CAUSE}",
        changed="content of the empty row",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
        place=locate(exam.precise, sample, after, empty.unsqueeze(1).expand_as(sample.real), exam.relative_floor),
    )
