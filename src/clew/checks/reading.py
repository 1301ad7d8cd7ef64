"""Reading the arguments of an audit: which tensor is content, how padding is told, what a boundary allows.

Whatever is wrong with them ends here, in one line.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from clew.checks.sample import MASK, Form, PaddingForm, Sample
from clew.errors import AuditError, ShapeError, complain, did_you_mean
from clew.shapes import describe, resolve_valid
from clew.visibility import causal, from_attention_mask, full

CONTENT_NAMES = ("input_ids", "inputs_embeds")
BOUNDARIES = {"causal": causal, "full": full}


def read_sample(
    inputs: Any, lengths: Any, valid: Tensor | None, vocab: int | None, pad: int | None
) -> tuple[Sample, Bool[Tensor, " batch"]]:
    """Turn the arguments of an audit into a sample; rows without any real step are left out.

    Returns:
        The sample, and which rows of the inputs it holds.

    Raises:
        AuditError: If the inputs are no tensor or dict with one, are empty, not finite, or hold ids out of range.
        ShapeError: If lengths, valid or an attention_mask do not fit.
    """
    key, content, others = _content_of(inputs)
    _require_sequence(content)
    batch, time = content.shape[:2]
    real = resolve_valid("audit", batch, time, lengths=_at_least_one(lengths), valid=valid)
    padding: PaddingForm = "lengths" if lengths is not None else "valid" if valid is not None else "none"
    if lengths is not None and real is not None:
        real = real & (torch.as_tensor(lengths).reshape(-1, 1) > 0).to(real.device)
    if padding == "none" and isinstance(others.get(MASK), Tensor) and others[MASK].ndim == 2:
        real, padding = from_attention_mask(others[MASK].long()), "mask"
    elif padding == "none" and pad is not None and not content.is_floating_point():
        real, padding = content != pad, "pad"
    if real is not None and real.shape != (batch, time):
        got = tuple(real.shape)
        raise ShapeError(complain("audit", MASK, f"of shape (batch={batch}, time={time})", got))
    if real is not None and not bool(real.any()):
        raise AuditError(complain("audit", "a row of the inputs", "one with real steps", "padding alone in all rows"))
    form = Form(key, padding, pad, _legal_ids(content, real, vocab, pad), lengths)
    sample = Sample(content.detach(), real, others, form)
    filled = sample.real.any(dim=1)
    sample = sample if bool(filled.all()) else sample.rows(filled.nonzero().flatten())
    return _with_finite_content(sample), filled


def _at_least_one(lengths: Any) -> Any:
    """Lengths of 0 are rows without content: they are left out of the sample later."""
    if lengths is None:
        return None
    counts = torch.as_tensor(lengths)
    return (
        counts.clamp(min=1)
        if counts.ndim == 1 and not counts.is_floating_point() and bool((counts == 0).any())
        else counts
    )


def _content_of(inputs: Any) -> tuple[str | None, Tensor, dict[str, Any]]:
    if isinstance(inputs, Tensor):
        return None, inputs, {}
    if not isinstance(inputs, Mapping):
        rule = "a tensor, or a dict of keyword tensors"
        remedy = "Give the model another signature with call=."
        raise AuditError(complain("audit", "inputs", rule, type(inputs).__name__, remedy))
    entries = {str(name): value for name, value in inputs.items()}
    for name in CONTENT_NAMES:
        if isinstance(entries.get(name), Tensor):
            return name, entries[name], {other: value for other, value in entries.items() if other != name}
    found = [name for name, value in entries.items() if _is_content(name, value)]
    if len(found) != 1:
        rule = "input_ids, inputs_embeds or one real-valued (batch, time, ...) tensor"
        raise AuditError(complain("audit", "the dict's content", rule, f"{len(found)} such in {sorted(entries)}"))
    return found[0], entries[found[0]], {name: value for name, value in entries.items() if name != found[0]}


def _is_content(name: str, value: Any) -> bool:
    if not isinstance(value, Tensor) or value.ndim < 2 or name in (MASK, "labels", "label"):
        return False
    return value.is_floating_point()


def _require_sequence(content: Tensor) -> None:
    is_ids = not content.is_floating_point()
    is_fit = content.ndim == 2 if is_ids else content.ndim >= 2
    if content.dtype == torch.bool or content.is_complex() or not is_fit:
        rule = "ids (batch, time) or real values (batch, time, features)"
        raise AuditError(complain("audit", "inputs", rule, describe(content)))
    if 0 in content.shape:
        raise AuditError(complain("audit", "inputs", "of at least one row and one step", describe(content)))


def _legal_ids(
    content: Tensor, real: Bool[Tensor, "batch time"] | None, vocab: int | None, pad: int | None
) -> tuple[int, ...] | None:
    if content.is_floating_point():
        return None
    seen = content if real is None else content[real]
    if vocab is not None and seen.numel() and not 0 <= int(seen.min()) <= int(seen.max()) < vocab:
        outside = seen[(seen < 0) | (seen >= vocab)][0]
        raise AuditError(complain("audit", "ids", f"in [0, vocab={vocab})", int(outside)))
    known = range(vocab) if vocab is not None else sorted(set(seen.flatten().tolist()))
    legal = tuple(one for one in known if one != pad)
    if len(legal) < 2:
        remedy = "Say how many ids are legal with vocab=."
        raise AuditError(
            complain("audit", "the legal ids", "at least 2, to have something to vary", len(legal), remedy)
        )
    return legal


def _with_finite_content(sample: Sample) -> Sample:
    if sample.is_ids:
        return sample
    is_finite = (
        sample.content.flatten(2).isfinite().all(dim=2) if sample.content.ndim > 2 else sample.content.isfinite()
    )
    if not bool(is_finite[sample.real].all()):
        row, step = (~is_finite & sample.real).nonzero()[0].tolist()
        raise AuditError(
            complain("audit", "inputs", "finite at real steps", f"NaN or infinity at row {row}, step {step}")
        )
    return sample.filled(torch.zeros_like(sample.content), ~sample.real)


def read_boundary(
    boundary: str | Tensor, sample: Sample, outputs: int, is_single: bool
) -> Bool[Tensor, "batch outputs time"]:
    """Say which source each output may read.

    Raises:
        AuditError: If the word is unknown, or the matrix is not bool or of another shape.
    """
    batch, time = sample.batch, sample.time
    if isinstance(boundary, str):
        if boundary not in BOUNDARIES:
            rule = "'causal', 'full' or a bool matrix"
            raise AuditError(complain("audit", "boundary", rule, f"'{boundary}'", did_you_mean(boundary, BOUNDARIES)))
        name = "full" if is_single else boundary
        return BOUNDARIES[name](time).expand(batch, time, time)[:, :outputs].to(sample.content.device)
    if not isinstance(boundary, Tensor) or boundary.dtype != torch.bool:
        got = describe(boundary) if isinstance(boundary, Tensor) else type(boundary).__name__
        raise AuditError(
            complain("audit", "boundary", "'causal', 'full' or a bool matrix", got, "True means may read.")
        )
    if boundary.shape not in ((outputs, time), (batch, outputs, time)):
        rule = f"of shape (outputs={outputs}, time={time}) or (batch={batch}, outputs={outputs}, time={time})"
        raise AuditError(complain("audit", "boundary", rule, tuple(boundary.shape)))
    if not bool(boundary.any()):
        raise AuditError(complain("audit", "boundary", "True somewhere", "False everywhere", "True means may read."))
    return boundary.expand(batch, outputs, time).to(sample.content.device)
