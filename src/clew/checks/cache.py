"""`cache`: incremental decoding gives what one full pass gives.

Varied: the chunks in which the steps arrive: one at a time, several, a long first one and then one at a time. Must not
move: any output. Must move: outputs, with content. Rows have equal length. The lengths tried include the longest that
the full pass accepts, up to twice the given one.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.results import choose_output, movement
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, applied
from clew.errors import AuditError

NAME = "cache"


def check_cache(exam: Examination) -> Finding:
    """Decode in chunks and compare with the full pass."""
    if exam.options.step is None:
        return not_applicable(NAME, "no step was given")
    if not exam.has_steps:
        return not_applicable(NAME, "outputs have no steps to decode one after the other")
    sample = exam.full_sample()
    tried: list[str] = []
    for longer in _lengths(exam, sample):
        full = exam.precise.outputs(longer)
        for chunks in _chunkings(longer.time):
            label = f"{longer.time} steps in chunks of {_words(chunks)}"
            try:
                moved = movement(full, _decoded(exam, longer, chunks))
            except AuditError as error:
                return failed(NAME, f"{label}: {getattr(error, 'what', error)}, although one full pass works.")
            largest, place = exam.worst(moved)
            if largest > exam.floor:
                return _told(exam, label, largest, place)
            tried.append(label)
    return passed(NAME, f"equal to the full pass: {'; '.join(tried)}", movement=0.0, floor=exam.floor)


def _lengths(exam: Examination, sample: Sample) -> list[Sample]:
    """The sample, and the longest one up to twice as long that a full pass accepts."""
    drawn = exam.drawn(sample)
    twice = torch.arange(2 * sample.time, device=sample.content.device) % sample.time
    low, high = sample.time, 2 * sample.time
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _is_accepted(exam, drawn.steps(twice[:middle])) else (low, middle - 1)
    return [sample] if low == sample.time else [sample, drawn.steps(twice[:low])]


def _is_accepted(exam: Examination, sample: Sample) -> bool:
    try:
        return exam.precise.outputs(sample).shape[1] == sample.time
    except (AuditError, RuntimeError):
        return False


def _chunkings(time: int) -> list[list[int]]:
    several = [3] * (time // 3) + ([time % 3] if time % 3 else [])
    prefilled = [max(time - 2, 1)] + [1] * (time - max(time - 2, 1))
    last_together = [1, time - 1] if time > 1 else [1]
    found = [[1] * time, several, prefilled, last_together, [time]]
    return [chunks for place, chunks in enumerate(found) if chunks not in found[:place]]


def _words(chunks: list[int]) -> str:
    return (
        str(chunks[0]) if len(set(chunks)) == 1 else ", ".join(map(str, chunks[:3])) + (", ..." if chunks[3:] else "")
    )


def _decoded(exam: Examination, sample: Sample, chunks: list[int]) -> Float[Tensor, "batch time coordinates"]:
    """Feed the chunks one after the other and put their outputs together.

    Raises:
        AuditError: If the step raises, or gives outputs of another shape.
    """
    step, engine = exam.options.step, exam.precise
    assert step is not None
    engine.outputs(sample)  # puts hidden state back
    cache, outputs, start = None, [], 0
    for size in chunks:
        part = sample.steps(torch.arange(start, start + size, device=sample.content.device))
        inputs, _ = part.arguments(engine.dtype)
        with applied(engine.model, EVALUATION):
            result, cache = _stepped(step, engine.model, inputs, cache)
        found = choose_output(result, exam.options.chosen if not isinstance(result, Tensor) else None)
        if found.shape[:2] != (sample.batch, size):
            raise AuditError(f"a step gave outputs of shape {tuple(found.shape)} for {size} new inputs")
        outputs.append(engine.arranged(found, size))
        start += size
    return torch.cat(outputs, dim=1)


def _stepped(step: Any, model: Any, inputs: Any, cache: Any) -> tuple[Any, Any]:
    try:
        result, cache = step(model, inputs, cache)
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else "no text"
        raise AuditError(f"{type(error).__name__}: {first}") from error
    return result, cache


def _told(exam: Examination, label: str, largest: float, place: tuple[int, int]) -> Finding:
    return failed(
        NAME,
        f"{label}: output {place[1]} of row {place[0]} differs from the full pass. Usual causes: a causal mask aligned "
        "with the first key instead of the last; positions that start again in each chunk; a convolution that forgets "
        "what came before; a cache that is cut.",
        changed="chunks",
        moved=f"output {place[1]} of row {place[0]}",
        movement=largest,
        floor=exam.floor,
    )
