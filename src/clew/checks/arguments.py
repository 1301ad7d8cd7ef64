"""What is wrong with the arguments of an audit before anything runs, in one line."""

from typing import Any

import torch
from torch import Tensor

from clew.checks.examination import Options
from clew.checks.preserving import modules_behind
from clew.errors import AuditError, complain


def require_fit(model: Any, inputs: Any, lengths: Any, vocab: Any, pad: Any, options: Options, generator: Any) -> None:
    """Complain about the first argument of the wrong kind.

    Raises:
        AuditError: In every such case.
    """
    _require(callable(model), "model", "a torch module or another callable", model)
    for name, value in (("call", options.call), ("step", options.step), ("loss", options.loss)):
        _require(value is None or callable(value), name, "a function", value)
    chosen = options.chosen
    _require(chosen is None or isinstance(chosen, str) or callable(chosen), "outputs", "a name or a function", chosen)
    _require(vocab is None or _is_whole(vocab), "vocab", "a number of ids", vocab)
    _require(pad is None or _is_whole(pad), "pad", "an id", pad)
    _require(generator is None or isinstance(generator, torch.Generator), "generator", "a torch.Generator", generator)
    _require(_is_numbers(lengths), "lengths", "whole numbers of shape (batch,)", lengths)
    targets = options.targets
    _require(targets is None or isinstance(targets, Tensor), "targets", "a tensor", targets)
    if (options.loss is None) != (targets is None):
        given = "a loss alone" if targets is None else "targets alone"
        raise AuditError(complain("audit", "loss and targets", "given together", given))
    _require_values(model, inputs)


def _require(is_fit: bool, name: str, rule: str, got: Any) -> None:
    if not is_fit:
        raise AuditError(complain("audit", name, rule, type(got).__name__))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_numbers(lengths: Any) -> bool:
    if lengths is None:
        return True
    try:
        return torch.as_tensor(lengths).ndim == 1
    except (TypeError, ValueError, RuntimeError):
        return False


def _require_values(model: Any, inputs: Any) -> None:
    """Refuse tensors that hold no values, or that are stored in an unusual way."""
    entries = inputs.values() if isinstance(inputs, dict) else [inputs]
    for tensor in entries:
        if isinstance(tensor, Tensor) and (tensor.is_meta or tensor.layout != torch.strided):
            got = "a meta tensor, which has none" if tensor.is_meta else str(tensor.layout)
            raise AuditError(complain("audit", "inputs", "dense tensors with values", got))
    for module in modules_behind(model):
        for name, value in [*module._parameters.items(), *module._buffers.items()]:
            if value is not None and value.is_meta:
                rule = "filled with values"
                remedy = "Move the model to a device with to_empty, and load or initialize its weights."
                raise AuditError(complain("audit", f"parameter {name}", rule, "a meta tensor", remedy))
