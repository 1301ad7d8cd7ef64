"""`audit`: run every check on one model and put the findings together.

Each fault is told once, under the most telling name: checks run in an order in which later ones can see what earlier
ones found. The model is run on a copy where it can be copied, and everything is put back in any case.
"""

from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from clew.checks.arguments import require_fit
from clew.checks.batch_mates import check_batch_mates
from clew.checks.batch_order import check_batch_order
from clew.checks.cache import check_cache
from clew.checks.determinism import check_determinism
from clew.checks.empty_row import check_empty_row
from clew.checks.engine import RefusedError
from clew.checks.examination import Examination, Options, examine
from clew.checks.finding import Finding, not_applicable
from clew.checks.gradients import check_gradients
from clew.checks.ignored_targets import check_ignored_targets
from clew.checks.influence import Influence, measure_influence
from clew.checks.input_changed import check_input_changed
from clew.checks.loss_probe import probe_loss
from clew.checks.loss_weight import check_loss_weight
from clew.checks.modes import check_modes
from clew.checks.padding_amount import check_padding_amount
from clew.checks.padding_content import check_mask_polarity, check_padding_content
from clew.checks.padding_side import check_padding_side
from clew.checks.position import check_position
from clew.checks.power import measure_power
from clew.checks.preserving import modules_behind, preserved
from clew.checks.reading import read_sample
from clew.checks.reading_ahead import check_boundary, check_future
from clew.checks.report import AuditReport
from clew.checks.sample import Sample
from clew.checks.state_carry import check_state_carry
from clew.checks.target_shift import check_target_shift
from clew.errors import AuditError, complain
from clew.threads import on_threads

Check = Callable[[Examination], Finding]
CHECKS_OF_INFLUENCE = {"future": check_future, "boundary": check_boundary, "position": check_position}
EARLY: dict[str, Check] = {
    "determinism": check_determinism,
    "state_carry": check_state_carry,
    "input_changed": check_input_changed,
    "batch_mates": check_batch_mates,
    "batch_order": check_batch_order,
}
LATE: dict[str, Check] = {
    "padding_content": check_padding_content,
    "mask_polarity": check_mask_polarity,
    "empty_row": check_empty_row,
    "padding_amount": check_padding_amount,
    "padding_side": check_padding_side,
    "modes": check_modes,
    "gradients": check_gradients,
    "target_shift": check_target_shift,
    "ignored_targets": check_ignored_targets,
    "loss_weight": check_loss_weight,
    "cache": check_cache,
}
CHECKS = (*EARLY, *CHECKS_OF_INFLUENCE, *LATE)
QUICK = (
    "determinism",
    "state_carry",
    "batch_mates",
    "future",
    "boundary",
    "padding_content",
    "mask_polarity",
    "target_shift",
    "ignored_targets",
    "loss_weight",
)
"""What `quick_audit` tries; the other checks are not applicable there."""


SHARED_WORK = 2e7
"""Weights times steps of a pass from which it is worth to share its work between threads."""


def audit(
    model: Any,
    inputs: Any,
    boundary: str | Tensor = "causal",
    lengths: Any = None,
    valid: Tensor | None = None,
    call: Callable[[Any, Any, Any], Any] | None = None,
    outputs: str | Callable[[Any], Tensor] | None = None,
    vocab: int | None = None,
    pad: int | None = None,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    targets: Tensor | None = None,
    step: Callable[[Any, Any, Any], tuple[Any, Any]] | None = None,
    ordered: bool = True,
    stateful: bool = False,
    generator: torch.Generator | None = None,
) -> AuditReport:
    """Find out what information a sequence model uses, by varying it and looking at what moves.

    Args:
        model: A module or another callable, trained or not; it is left as it was found.
        inputs: Ids (batch, time), real values (batch, time, ...), or a dict of keyword tensors.
        boundary: "causal", "full", or True where an output may read a source: (outputs, time) or (batch, outputs,
            time).
        lengths: Real steps of each row, (batch,); at most one of `lengths` and `valid`.
        valid: True at real steps, (batch, time).
        call: (model, inputs, lengths or valid as given or None) -> result, where the signature is unusual.
        outputs: Name of the tensor of the result to judge, or a function of the result.
        vocab: Number of legal ids; by default the ids seen in the inputs.
        pad: The id of padding.
        loss: (outputs, targets) -> scalar, with targets of -100 ignored.
        targets: What the loss is given.
        step: (model, new inputs, cache) -> (outputs for them, cache); the cache is None at first.
        ordered: False where the order of the steps means nothing.
        stateful: True where a model is meant to carry its state from call to call.
        generator: Draws all made-up content; by default a new one seeded with 0.

    Returns:
        One finding a check.

    Raises:
        AuditError: If the model raises on the given inputs, gives no tensor or NaN, or an argument does not fit.
        ShapeError: If lengths, valid or a mask do not fit the inputs.

    >>> model = torch.nn.GRU(3, 4, batch_first=True)
    >>> audit(model, torch.randn(2, 5, 3), boundary="causal").failures
    []
    """
    options = Options(call, outputs, loss, targets, step, ordered, stateful)
    return _audited(model, (inputs, lengths, valid, vocab, pad), boundary, options, generator)


def quick_audit(
    model: Any,
    inputs: Any,
    boundary: str | Tensor = "causal",
    lengths: Any = None,
    valid: Tensor | None = None,
    call: Callable[[Any, Any, Any], Any] | None = None,
    outputs: str | Callable[[Any], Tensor] | None = None,
    vocab: int | None = None,
    pad: int | None = None,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    targets: Tensor | None = None,
    step: Callable[[Any, Any, Any], tuple[Any, Any]] | None = None,
    ordered: bool = True,
    stateful: bool = False,
    generator: torch.Generator | None = None,
) -> AuditReport:
    """Try the checks of `QUICK` with few passes each, before a training.

    Arguments, result and errors are those of `audit`. Checks that are left out are not applicable.
    """
    options = Options(call, outputs, loss, targets, step, ordered, stateful, is_quick=True)
    return _audited(model, (inputs, lengths, valid, vocab, pad), boundary, options, generator)


def _audited(
    model: Any,
    given: tuple[Any, Any, Tensor | None, int | None, int | None],
    boundary: str | Tensor,
    options: Options,
    generator: torch.Generator | None,
) -> AuditReport:
    started = perf_counter()
    inputs, lengths, _, vocab, pad = given
    require_fit(model, inputs, lengths, vocab, pad, options, generator)
    generator = generator if generator is not None else torch.Generator().manual_seed(0)
    sample, kept = read_sample(*given)
    if options.targets is not None and len(options.targets) == len(kept):
        options.targets = options.targets[kept]
    if isinstance(boundary, Tensor) and boundary.ndim == 3 and len(boundary) == len(kept):
        boundary = boundary[kept]
    with preserved(model), on_threads(_threads(model, sample)):
        exam = examine(model, sample, boundary, options, generator)
        if options.loss is not None and options.targets is not None:
            probe_loss(exam)  # a loss that does not fit is an error of the call, not a finding
        _require_made_up_content(exam)
        _run(exam, EARLY)
        influence = measure_influence(exam)
        _run(exam, {name: partial(check, influence=influence) for name, check in CHECKS_OF_INFLUENCE.items()})
        _run(exam, LATE)
        _tell_once(exam)
        return _report(exam, influence, perf_counter() - started)


def _threads(model: Any, sample: Sample) -> int:
    """Give small work one thread: sharing it costs more than it saves, many times more on a busy machine."""
    weights = sum(p.numel() for module in modules_behind(model) for p in module._parameters.values() if p is not None)
    return 1 if weights * sample.batch * sample.time < SHARED_WORK else torch.get_num_threads()


def _require_made_up_content(exam: Examination) -> None:
    """Complain where the model refuses other legal content: nothing could be varied."""
    try:
        exam.precise.outputs(exam.drawn(exam.sample))
    except RefusedError as error:
        vocab = exam.sample.form.vocab
        rule = f"callable on other ids of the {len(vocab)} legal ones" if vocab else "callable on other real values"
        remedy = "Say with vocab= how many ids the model knows." if vocab else "Say how with call=."
        raise AuditError(complain("audit", "the model", rule, error.what, remedy)) from error


def _run(exam: Examination, checks: Mapping[str, Check]) -> None:
    for name, check in checks.items():
        if exam.options.is_quick and name not in QUICK:
            exam.found[name] = not_applicable(name, "not part of the quick audit")
        else:
            exam.found[name] = _guarded(name, check, exam)


def _tell_once(exam: Examination) -> None:
    """Leave each fault under its most telling name, where only a later check could know it."""
    for name in ("future", "boundary"):
        case = exam.found[name].setting
        if exam.has_failed(name) and exam.has_failed("batch_mates") and exam.found["batch_mates"].setting == case != "":
            exam.found["batch_mates"] = not_applicable("batch_mates", f"{case}: told under {name}")
    if exam.broken_padding and exam.has_failed("empty_row"):
        exam.found["padding_content"] = not_applicable("padding_content", "NaN: told under empty_row")


def _guarded(name: str, check: Check, exam: Examination) -> Finding:
    """Run a check; a model that refuses what the check makes up is a remark."""
    if not exam.is_repeatable:
        return not_applicable(name, "the model does not repeat itself, so that nothing can be compared")
    try:
        return check(exam)
    except AuditError as error:
        return not_applicable(name, f"the model refused: {getattr(error, 'what', error)}")


def _report(exam: Examination, influence: Influence, elapsed_seconds: float) -> AuditReport:
    precision = "float64" if exam.precise is not exam.native else "the model's own number type"
    return AuditReport(
        tuple(exam.found[name] for name in CHECKS),
        measure_power(exam),
        influence.map.where(_varied(exam).any(dim=0), torch.nan).cpu().numpy(),
        influence.step,
        _allowed(exam, influence).cpu().numpy(),
        exam.floor,
        precision,
        elapsed_seconds,
    )


def _varied(exam: Examination) -> Bool[Tensor, "batch outputs time"]:
    return exam.judged.unsqueeze(2) & exam.sample.real.unsqueeze(1)


def _allowed(exam: Examination, influence: Influence) -> Bool[Tensor, "outputs time"]:
    """Give one boundary for the map of all rows: what a row permits, unless it moved where another row forbids it."""
    if not exam.options.is_matrix:
        return exam.allowed[0]
    wrong = _varied(exam) & ~exam.allowed & (influence.by_row > exam.floor)
    return exam.allowed.any(dim=0) & ~wrong.any(dim=0)
