"""`batch_order`: rows come out in the order in which they went in, wherever they stand.

Varied: the order of the rows. Must not move: each row's output, followed to its new place. Must move: rows, because
their contents differ. Where other rows move a row, that is told under `batch_mates`.
"""

import torch

from clew.checks.batch_mates import paired
from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.locating import Places, first_difference, watched
from clew.checks.results import movement


def check_batch_order(exam: Examination) -> Finding:
    """Reverse and rotate the rows."""
    if exam.has_failed("batch_mates"):
        return not_applicable("batch_order", "other rows move a row: told under batch_mates")
    if exam.has_failed("determinism"):
        return not_applicable("batch_order", "evaluation draws random numbers: told under determinism")
    sample = paired(exam)
    before = exam.precise.outputs(sample)
    judged = exam.judged_in(sample)
    differs = False
    for order in (torch.arange(sample.batch).flip(0), torch.arange(sample.batch).roll(1)):
        order = order.to(sample.content.device)
        after = exam.precise.outputs(sample.rows(order))
        moved = movement(before[order], after).where(judged[order], 0)
        differs |= bool((movement(before, after).where(judged & judged[order], 0) > exam.floor).any())
        largest, (row, output) = exam.worst(moved)
        if largest > exam.floor:
            rows = order.argsort()
            places = Places.at(sample.real)
            runs = [
                watched(exam.precise, sample, places),
                watched(exam.precise, sample.rows(order), places.among(sample.batch, rows)),
            ]
            return failed(
                "batch_order",
                "a row's output depends on its place in the batch. Usual causes: rows sorted by length and not put "
                "back, a state or bias for each place.",
                changed=f"order of the rows to {order.tolist()}",
                moved=f"output {output} of the row now at {row}",
                movement=largest,
                floor=exam.floor,
                place=first_difference(runs[0], runs[1], exam.relative_floor),
            )
    if not differs:
        return not_applicable("batch_order", "all rows give the same")
    return passed(
        "batch_order", "rows keep their outputs in every order", changed="order of the rows", floor=exam.floor
    )
