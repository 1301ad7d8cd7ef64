"""`determinism`: evaluation twice on the same inputs gives the same.

Nothing is varied: hidden state is put back between the calls, random generators run on. Must not move: any output. Must
move: outputs, when the content is another. A perfect model moves by 0; one with dropout left on in evaluation moves.
"""

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.locating import Places, first_difference, watched
from clew.checks.results import movement

CALLS = 3


def check_determinism(exam: Examination) -> Finding:
    """Call the model several times without touching its random generators."""
    first = exam.precise.outputs(exam.sample, seed=None)
    judged = exam.judged
    for _ in range(CALLS):
        again = exam.precise.outputs(exam.sample, seed=None)
        moved = movement(first, again).where(judged, 0)
        largest, place = exam.worst(moved)
        if largest > exam.floor:
            return _told(exam, largest, place)
    if not _notices_content(exam):
        return not_applicable("determinism", "no content that was tried moves any output")
    return passed("determinism", "evaluation repeats itself", moved="nothing", movement=0.0, floor=exam.floor)


def _notices_content(exam: Examination) -> bool:
    return any(bool((exam.moved(exam.sample, exam.drawn(exam.sample)) > exam.floor).any()) for _ in range(CALLS))


def _told(exam: Examination, largest: float, place: tuple[int, int]) -> Finding:
    if not _repeats(exam, seed=20_012):
        exam.is_repeatable = _repeats(exam, seed=20_013)
        if not exam.is_repeatable:
            reason = "evaluation differs from call to call, even with every random generator and state put back."
            return failed("determinism", reason, moved="outputs", movement=largest, floor=exam.floor)
    exam.precise.result(exam.sample, seed=1)
    runs = [watched(exam.precise, exam.sample, Places.at(exam.sample.real), seed=None) for _ in range(2)]
    return failed(
        "determinism",
        "evaluation draws random numbers. Usual causes: a dropout rate given to a functional layer whatever the mode; "
        "a layer that was never put in evaluation mode.",
        changed="nothing but the random generators",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
        place=first_difference(runs[0], runs[1], exam.relative_floor),
    )


def _repeats(exam: Examination, seed: int) -> bool:
    first, second = (exam.precise.outputs(exam.sample, seed=seed) for _ in range(2))
    return bool((movement(first, second).where(exam.judged, 0) <= exam.floor).all())
