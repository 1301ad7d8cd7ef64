"""`batch_mates`: other rows of a batch do not move a row.

Varied: the content of the other rows, and how many there are. Must not move: the row that stayed. Must move: the rows
that were varied. Judged in evaluation; what rows share in training only (batch statistics) is a remark.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clew.checks.content import drawn_content
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.locating import Places, first_difference, locate, watched
from clew.checks.results import movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, TRAINING, Setting
from clew.errors import AuditError

ROWS = 4
LARGEST_BATCH = 64


def check_batch_mates(exam: Examination) -> Finding:
    """Vary other rows, then take them away."""
    if exam.has_failed("determinism"):
        return not_applicable("batch_mates", "evaluation draws random numbers: told under determinism")
    sample = paired(exam)
    has_moved = False
    for row in range(min(sample.batch, ROWS)):
        after = _with_other_mates(exam, sample, row)
        moved = exam.moved(sample, after).where(exam.judged_in(sample), 0)
        has_moved |= bool((moved > exam.floor).any())
        if float(moved[row].max()) > exam.floor:
            return _told(exam, sample, after, row, moved)
    refused = []
    for size in sorted(
        {1, sample.batch + 1, *([sample.time] if sample.time <= LARGEST_BATCH else [])} - {sample.batch}
    ):
        try:
            largest = _in_company(exam, sample, size)
        except AuditError as error:
            refused.append(f"not tried with {size} rows ({getattr(error, 'what', error)})")
            continue
        if largest > exam.floor:
            return _told_size(exam, sample, size, largest)
    if not has_moved:
        return not_applicable("batch_mates", "no content that was tried moves any output")
    remarks = (*refused, *_in_training(exam, sample))
    reason = "a row is the same whatever the other rows are, and alone"
    return passed("batch_mates", reason, changed="other rows", movement=0.0, floor=exam.floor, remarks=remarks)


def paired(exam: Examination) -> Sample:
    """Give the sample with at least two rows; a second one is made up."""
    if exam.sample.batch > 1:
        return exam.sample
    twice = exam.sample.rows(torch.tensor([0, 0], device=exam.sample.content.device))
    return _with_other_mates(exam, twice, 0)


def _with_other_mates(exam: Examination, sample: Sample, row: int) -> Sample:
    mates = sample.real.clone()
    mates[row] = False
    return sample.filled(drawn_content(sample, exam.generator), mates)


def _in_company(exam: Examination, sample: Sample, size: int) -> float:
    """Compare row 0 with itself as the first of `size` rows."""
    rows = sample.rows(torch.arange(size, device=sample.content.device) % sample.batch)
    outputs = exam.precise.outputs(rows)[:1]
    together = exam.precise.outputs(sample)[:1]
    if outputs.shape != together.shape:
        raise AuditError("the output has another shape")
    return float(movement(together, outputs).where(exam.judged_in(sample)[:1], 0).max())


def _in_training(exam: Examination, sample: Sample) -> list[str]:
    try:
        moved = _training_movement(exam, sample, TRAINING)
    except (AuditError, RuntimeError):
        return []
    is_shared = moved.shape[1] == exam.base.shape[1] and bool((moved[0] > exam.floor).any())
    return ["in training, and only there, other rows move a row (batch statistics)"] if is_shared else []


def _training_movement(exam: Examination, sample: Sample, setting: Setting) -> Float[Tensor, "batch outputs"]:
    moved = exam.moved(sample, _with_other_mates(exam, sample, 0), setting)
    return moved.where(exam.judged_in(sample), 0)


def shares_rows_in_training(exam: Examination, setting: Setting) -> bool:
    """Say whether other rows move a row in a training mode."""
    return bool((_training_movement(exam, paired(exam), setting)[0] > exam.floor).any())


def is_reordered(exam: Examination, sample: Sample) -> bool:
    """Say whether the outputs of a batch are those of its rows alone, in another order."""
    together = exam.precise.outputs(sample)
    try:
        alone = torch.cat([exam.precise.outputs(sample.rows(torch.tensor([row]))) for row in range(sample.batch)])
    except AuditError:  # a model may refuse a batch of one row, as statistics over the batch do
        return False
    if alone.shape != together.shape:
        return False
    taken = []
    for row in range(sample.batch):
        judged = exam.judged_in(sample)
        near = [
            other
            for other in range(sample.batch)
            if float(movement(together[row : row + 1], alone[other : other + 1])[:, judged[other]].max()) <= exam.floor
        ]
        taken.append(near[0] if near else -1)
    return -1 not in taken and taken != list(range(sample.batch)) and len(set(taken)) == sample.batch


def _told(exam: Examination, sample: Sample, after: Sample, row: int, moved: Float[Tensor, "batch outputs"]) -> Finding:
    if is_reordered(exam, sample) or is_reordered(exam, after):
        return not_applicable("batch_mates", "rows come out in another order: told under batch_order")
    still = torch.zeros_like(sample.real)
    still[row] = True
    output = int(moved[row].argmax())
    return failed(
        "batch_mates",
        f"other rows of the batch move row {row}. Usual causes: statistics or attention over the batch axis, a layer "
        "that takes time first, a flattening that joins rows.",
        changed="content of the other rows",
        moved=f"output {output} of row {row}",
        movement=float(moved[row, output]),
        floor=exam.floor,
        counterexample=exam.example(sample, after, (row, output), "the other rows", EVALUATION),
        place=locate(exam.precise, sample, after, still, exam.relative_floor),
    )


def _told_size(exam: Examination, sample: Sample, size: int, largest: float) -> Finding:
    rows = sample.rows(torch.arange(size, device=sample.content.device) % sample.batch)
    runs = [watched(exam.precise, one, Places.at(_first_row(one))) for one in (sample, rows)]
    reason = (
        f"row 0 differs when its batch has {size} rows. Usual causes: statistics or sizes that depend on the batch."
    )
    setting = "one row" if size == 1 else "as many rows as steps" if size == exam.sample.time else f"{size} rows"
    return failed(
        "batch_mates",
        reason,
        changed=f"number of rows, to {size}",
        moved="row 0",
        movement=largest,
        floor=exam.floor,
        place=first_difference(runs[0], runs[1], exam.relative_floor),
        setting=setting,
    )


def _first_row(sample: Sample) -> Bool[Tensor, "batch time"]:
    marked = torch.zeros_like(sample.real)
    marked[0] = True
    return marked
