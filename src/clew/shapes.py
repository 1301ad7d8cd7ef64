"""What callers say about padding and visibility, checked once at the border and brought into one form.

`resolve_valid` turns lengths or a bool tensor into `valid`, `resolve_documents` does it for packed documents,
`resolve_visible` checks a visibility tensor; behind them nothing asks again. Not here: building and combining who may
read whom, see `clew.visibility`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from clew.errors import ShapeError, complain

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def valid_from_lengths(
    lengths: Tensor | Sequence[int], time: int, where: str = "valid_from_lengths"
) -> Bool[Tensor, "batch time"]:
    """Mark the first `lengths[row]` steps of each row as real, the rest as padding.

    Args:
        lengths: Whole numbers, (batch,).
        time: Steps of each row, padding included.
        where: Who asks, for the error text.

    Raises:
        ShapeError: If the lengths are not whole numbers of shape (batch,), or one is outside [1, time].

    >>> valid_from_lengths([1, 3], 3).tolist()
    [[True, False, False], [True, True, True]]
    """
    counts = torch.as_tensor(lengths)
    if counts.ndim != 1 or counts.dtype not in INTEGERS:
        raise ShapeError(complain(where, "lengths", "whole numbers of shape (batch,)", describe(counts)))
    for row in _first_true((counts < 1) | (counts > time)):
        length = int(counts[row])
        remedy = "Drop the empty row." if length < 1 else f"Pad the inputs to {length} or clip the lengths."
        raise ShapeError(complain(where, "lengths", f"in [1, time={time}]", f"{length} at row {row}", remedy))
    return torch.arange(time, device=counts.device) < counts.unsqueeze(1)


def resolve_valid(
    where: str,
    batch: int,
    time: int,
    lengths: Tensor | Sequence[int] | None = None,
    valid: Tensor | None = None,
) -> Bool[Tensor, "batch time"] | None:
    """Give the real steps of a batch, from whichever of the two descriptions the caller has.

    Args:
        where: Who asks, for the error text.
        batch: Number of rows.
        time: Steps of each row, padding included.
        lengths: Real steps of each row that is padded on the right, (batch,) in [1, time].
        valid: True at real steps, (batch, time), where padding may stand anywhere; a row without any is allowed here.

    Returns:
        `valid`, or None if neither was given: every step is real.

    Raises:
        ShapeError: If both are given, a shape or type is wrong, or a length is out of range.
    """
    if lengths is not None and valid is not None:
        raise ShapeError(complain(where, "padding", "given by at most one of lengths= and valid=", "both"))
    if lengths is not None:
        counted = valid_from_lengths(lengths, time, where)
        if len(counted) != batch:
            rule = f"one for each of batch={batch} rows"
            raise ShapeError(complain(where, "lengths", rule, f"{len(counted)} lengths"))
        return counted
    if valid is None:
        return None
    if valid.dtype != torch.bool:
        remedy = "True marks a real step; clew.visibility.from_attention_mask reads 0/1 masks."
        raise ShapeError(complain(where, "valid", "bool", describe(valid), remedy))
    if valid.shape != (batch, time):
        raise ShapeError(complain(where, "valid", f"of shape (batch={batch}, time={time})", tuple(valid.shape)))
    return valid


def resolve_documents(
    where: str, documents: Tensor, batch: int, time: int, valid: Bool[Tensor, "batch time"] | None = None
) -> tuple[Int[Tensor, "batch time"], Bool[Tensor, "batch time"]]:
    """Bring the documents that are packed into rows, and what is padding, into one form.

    Args:
        where: Who asks, for the error text.
        batch: Number of rows.
        time: Steps of each row.
        documents: Which document of its row a step belongs to, whole numbers (batch, time); negative at padding.
        valid: True at real steps; None if only `documents` tells padding.

    Returns:
        The ids with -1 at padding, and `valid`: a step is real if both say so.

    Raises:
        ShapeError: If the ids are not whole numbers, or of another shape.

    >>> ids, valid = resolve_documents("here", torch.tensor([[5, 5, 7, -3]]), 1, 4)
    >>> ids.tolist(), valid.tolist()
    ([[5, 5, 7, -1]], [[True, True, True, False]])
    """
    if documents.dtype not in INTEGERS or documents.shape != (batch, time):
        rule = f"whole numbers of shape (batch={batch}, time={time})"
        raise ShapeError(complain(where, "documents", rule, describe(documents)))
    real = documents >= 0 if valid is None else valid & (documents >= 0)
    return documents.long().masked_fill(~real, -1), real


def resolve_visible(
    where: str, visible: Tensor | None, batch: int, time: int
) -> Bool[Tensor, "*batch query source"] | None:
    """Check who may read whom, for `batch` rows of `time` queries and sources each.

    Args:
        where: Who asks, for the error text.
        visible: (query, source) for all rows, or (batch, query, source); None if nothing is hidden.

    Raises:
        ShapeError: If the tensor is not bool, or of another shape.
    """
    if visible is None:
        return None
    if visible.dtype != torch.bool:
        remedy = "True means may read; clew.visibility.from_additive and its neighbours read other conventions."
        raise ShapeError(complain(where, "visible", "bool", describe(visible), remedy))
    if visible.shape not in ((time, time), (batch, time, time)):
        rule = f"of shape (query={time}, source={time}) or (batch={batch}, query={time}, source={time})"
        raise ShapeError(complain(where, "visible", rule, tuple(visible.shape)))
    return visible


def describe(tensor: Tensor) -> str:
    """Name shape and type of a tensor for an error text.

    >>> describe(torch.zeros(2, 3))
    '(2, 3) of float32'
    """
    return f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"


def _first_true(found: Bool[Tensor, " batch"]) -> list[int]:
    """Give the index of the first True as a list of one, or an empty list."""
    return found.nonzero()[:1].flatten().tolist()
