"""Which tensor of a model's result is judged, and how far two of them are apart.

By default: `logits`, else `last_hidden_state`, else the tensor itself, else the first tensor of a tuple or mapping.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from clew.errors import AuditError, complain, did_you_mean

PREFERRED = ("logits", "last_hidden_state")
Chooser = str | Callable[[Any], Tensor] | None


def choose_output(result: Any, chosen: Chooser = None) -> Tensor:
    """Pick the tensor to judge.

    Args:
        result: What the model gave back.
        chosen: Name of an entry or attribute, or a function of the result.

    Raises:
        AuditError: If there is no such tensor.
    """
    if callable(chosen):
        picked = _picked(chosen, result)
    elif chosen is not None:
        picked = _named(result, chosen)
    else:
        picked = _usual(result)
    if not isinstance(picked, Tensor):
        remedy = "Name the tensor to judge with outputs=, or give it with call=."
        raise AuditError(complain("audit", "the model's result", "or hold a tensor", type(picked).__name__, remedy))
    if picked.ndim == 0:
        remedy = "Name the tensor to judge with outputs=."
        raise AuditError(complain("audit", "the output", "of shape (batch, ...)", "a tensor without axes", remedy))
    if picked.numel() == 0 and len(picked):
        raise AuditError(complain("audit", "the output", "of at least one value a row", tuple(picked.shape)))
    return picked


def _picked(chosen: Callable[[Any], Any], result: Any) -> Any:
    try:
        return chosen(result)
    except Exception as error:
        what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no text'}"
        raise AuditError(complain("audit", "outputs", "a function of the model's result", what)) from error


def _named(result: Any, name: str) -> Any:
    if isinstance(result, Mapping) and name in result:
        return result[name]
    if not isinstance(result, Tensor) and hasattr(result, name):
        return getattr(result, name)
    if isinstance(result, Mapping):
        known = [str(key) for key in result]
    else:
        held = {} if isinstance(result, Tensor) else getattr(result, "__dict__", {})
        known = [key for key, value in held.items() if isinstance(value, Tensor)] + [*getattr(result, "_fields", ())]
    got = f"'{name}'"
    remedy = did_you_mean(name, known) if known else f"It is a {type(result).__name__} without names."
    raise AuditError(complain("audit", "outputs", "a name in the model's result", got, remedy))


def _usual(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result
    for name in PREFERRED:
        value = result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)
        if isinstance(value, Tensor):
            return value
    entries = result.values() if isinstance(result, Mapping) else result
    if isinstance(entries, tuple | list) or isinstance(result, Mapping):
        return next((entry for entry in entries if isinstance(entry, Tensor)), result)
    data = getattr(result, "data", None)  # a packed sequence is a tuple too, hence comes before
    return data if isinstance(data, Tensor) else result


def tensors_in(result: Any, depth: int = 4) -> Iterator[Tensor]:
    """Walk through every tensor of a result, however it is nested."""
    if isinstance(result, Tensor):
        yield result
    elif depth and isinstance(result, Mapping):
        for value in result.values():
            yield from tensors_in(value, depth - 1)
    elif depth and isinstance(result, tuple | list):
        for value in result:
            yield from tensors_in(value, depth - 1)
    elif depth and hasattr(result, "__dict__"):
        for value in vars(result).values():
            yield from tensors_in(value, depth - 1)


def movement(
    before: Float[Tensor, "batch outputs coordinates"], after: Float[Tensor, "_ _ _"]
) -> Float[Tensor, "batch outputs"]:
    """Say how far each output moved: the largest change of a coordinate.

    NaN in the place of NaN, or infinity in the place of the same infinity, has not moved; anything else not finite
    moved by infinity.

    Raises:
        AuditError: If the outputs have another shape.
    """
    if before.shape != after.shape:
        got = f"{tuple(after.shape)} instead of {tuple(before.shape)}"
        raise AuditError(complain("audit", "the output", "of the same shape for inputs of the same shape", got))
    is_same = (before == after) | (before.isnan() & after.isnan())
    distance = (after - before).abs().nan_to_num(torch.inf, torch.inf)
    distance = torch.where(is_same, torch.zeros_like(distance), distance)
    return distance.amax(dim=2) if distance.shape[2] else distance.sum(dim=2)
