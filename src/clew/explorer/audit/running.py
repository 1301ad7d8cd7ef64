"""The audit of a scene's model on what it reads: quick or whole, held within a time, and kept with the scene.

The model under audit is a copy with all that edits did to it, a mask that they gave it too; the boundary is the one
that the task declares, whatever the edits. Start with `audited`.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import torch

from clew.checks import AuditReport, audit, quick_audit
from clew.data.batch import Batch
from clew.errors import ClewError
from clew.explorer import limits
from clew.explorer.scene import Scene
from clew.models.patch_input import PatchInput
from clew.models.sequence_model import SequenceModel
from clew.rendering.numbers import format_seconds
from clew.report.subject import Subject, count_of
from clew.runs.audit_arguments import input_arguments, loss_arguments
from clew.tasks import Forecasting, NextToken, Task

QUICK, WHOLE = "quick", "full"
MOST_ROWS = 4
MOST_SECONDS = 0.75 * limits.MOST_SECONDS
MOST_WORK = 40_000_000
"""Multiply-adds of one pass over all rows: an audit makes hundreds of them."""
LEAST_STEPS = 8


class _OutOfTimeError(BaseException):
    """The time is over. No `Exception`: an audit takes those for a refusal of the model, and goes on."""


@dataclass(frozen=True, eq=False)
class Audited:
    """What came of an audit.

    Attributes:
        report: The findings; None where it could not be made.
        failure: Why it could not be made.
        notes: What was audited, where that is not all that the model reads, a sentence each.
        is_stopped: Whether the time was over.
    """

    report: AuditReport | None
    failure: str = ""
    notes: list[str] = field(default_factory=list)
    is_stopped: bool = False


_known: WeakKeyDictionary[Subject, dict[str, Audited]] = WeakKeyDictionary()


def deadline() -> float:
    """Give the moment at which all audits of one answer must have ended, by `perf_counter`."""
    return perf_counter() + MOST_SECONDS


def audited(scene: Scene, kind: str, end: float | None = None) -> Audited:
    """Audit the model of a scene, or give what was found before; the caller holds the lock of the studio.

    Args:
        scene: Whose model is audited.
        kind: QUICK or WHOLE.
        end: When it is stopped; None for a deadline of its own. What was stopped is kept only if it had nearly all of
            the time: where another audit took a part of it, the next try may come to its end.
    """
    known = _known.setdefault(scene.subject, {})
    if kind in known:
        return known[kind]
    end = deadline() if end is None else end
    had_all = end - perf_counter() > 0.9 * MOST_SECONDS
    found = _carry_out(scene, kind, end)
    if had_all or not found.is_stopped:
        known[kind] = found
    return found


def _carry_out(scene: Scene, kind: str, end: float) -> Audited:
    task, model = scene.subject.task, deepcopy(scene.subject.model)
    notes: list[str] = []
    try:
        batch = _some_rows(scene, notes)
        if not has_own_mask(scene):
            batch = _beginning(model, task, batch, notes)
        arguments = audit_arguments(model, task, batch, has_mask=has_own_mask(scene))
        with torch.random.fork_rng(devices=[]):
            report = (audit if kind == WHOLE else quick_audit)(model, boundary=task.boundary, **_timed(arguments, end))
    except _OutOfTimeError:
        spent = f"The audit was stopped after {format_seconds(MOST_SECONDS)}, the most that this page spends on it."
        return Audited(None, spent, notes, is_stopped=True)
    except ClewError as error:
        return Audited(None, str(error).splitlines()[0], notes)
    return Audited(report, "", notes)


def has_own_mask(scene: Scene) -> bool:
    """Say whether edits gave the model a mask of its own, which belongs to exactly these steps."""
    return scene.visible is not None or bool(scene.subject.model.encoder._forward_pre_hooks)


def audit_arguments(model: SequenceModel, task: Task, batch: Batch, has_mask: bool = False) -> dict[str, Any]:
    """Give the arguments of an audit but for model and boundary.

    Args:
        model: Under audit.
        task: Says what is read and what is predicted.
        batch: What the task is given.
        has_mask: Whether the model has a mask of its own; it is not told to a model that reads step by step.
    """
    aligned = task.align(batch)
    arguments = input_arguments(model, aligned.inputs, aligned.valid) | loss_arguments(task, batch)
    if has_mask:
        arguments.pop("step", None)
    return arguments


def _some_rows(scene: Scene, notes: list[str]) -> Batch:
    batch, rows = scene.subject.batch, len(scene.subject.words)
    if rows <= MOST_ROWS:
        return batch
    kept = sorted({scene.row, *range(MOST_ROWS - 1)})
    notes.append(f"Audited are the rows {', '.join(map(str, kept))} of {rows}, counted from 0 in this order below.")
    return batch.select(torch.tensor(kept))


def _beginning(model: SequenceModel, task: Task, batch: Batch, notes: list[str]) -> Batch:
    """Cut long sequences to as many steps as an audit can afford."""
    time = batch.inputs.shape[1]
    if isinstance(model.inputs, PatchInput) or len(batch) * model.multiply_adds(time) <= MOST_WORK:
        return batch
    extra = task.lead + 1 if isinstance(task, Forecasting) else int(isinstance(task, NextToken))
    steps = time
    while steps > LEAST_STEPS + extra and len(batch) * model.multiply_adds(steps) > MOST_WORK:
        steps = max(LEAST_STEPS + extra, steps * 3 // 4)
    targets = batch.targets
    if targets is not None and targets.ndim > 1 and targets.shape[1] == time:
        targets = targets[:, :steps]
    notes.append(
        f"Audited is the beginning of what is read, {count_of(steps - extra, 'step')}, because the model is large."
    )
    valid, documents = (None if part is None else part[:, :steps] for part in (batch.valid, batch.documents))
    return Batch(batch.inputs[:, :steps], valid, targets, documents)


def _timed(arguments: dict[str, Any], end: float) -> dict[str, Any]:
    """Let every call of the model look at the clock first."""

    def within_time(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            if perf_counter() > end:
                raise _OutOfTimeError
            return function(*given)

        return called

    timed = {name: within_time(arguments[name]) for name in ("call", "step") if name in arguments}
    return arguments | timed
