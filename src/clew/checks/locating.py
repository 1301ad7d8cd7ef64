"""Where on the way through a module a difference first shows.

The model is run twice, before and after a change, with temporary hooks on its submodules. Their calls are compared in
the order in which they finished, at the places that must not move. A tensor whose axes cannot be recognized is skipped.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from clew.checks.engine import Engine
from clew.checks.finding import Place
from clew.checks.results import tensors_in
from clew.checks.sample import Sample
from clew.checks.settings import EVALUATION, Setting
from clew.errors import AuditError


@dataclass(eq=False)
class ModuleCall:
    """One call of one submodule: what went in and what came out."""

    name: str
    kind: str
    parent: "ModuleCall | None"
    inputs: list[Tensor]
    outputs: list[Tensor] = field(default_factory=list)


class Watch:
    """Hooks on every submodule while a model runs, gone afterwards.

    Attributes:
        calls: The calls in the order in which they finished.
    """

    def __init__(self, model: nn.Module) -> None:
        self.calls: list[ModuleCall] = []
        self._open: list[ModuleCall] = []
        self._modules = [(name, module) for name, module in model.named_modules() if name]

    def __enter__(self) -> "Watch":
        self._handles = []
        for name, module in self._modules:
            self._handles.append(module.register_forward_pre_hook(self._enterer(name), with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._leave))
        return self

    def _enterer(self, name: str) -> Any:
        def enter(module: nn.Module, positional: Any, named: Any) -> None:
            parent = self._open[-1] if self._open else None
            self._open.append(ModuleCall(name, type(module).__name__, parent, _kept((positional, named))))

        return enter

    def _leave(self, module: nn.Module, positional: Any, result: Any) -> None:
        call = self._open.pop()
        call.outputs = _kept(result)
        self.calls.append(call)

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()


def _kept(values: Any) -> list[Tensor]:
    return [tensor.detach().clone() for tensor in tensors_in(values)]


def locate(
    engine: Engine,
    before: Sample,
    after: Sample,
    still: Bool[Tensor, "batch steps"],
    relative_floor: float,
    setting: Setting = EVALUATION,
) -> Place | None:
    """Find the first submodule whose output moved at a place that must not move.

    Args:
        engine: What runs the model.
        before: Inputs before the change.
        after: Inputs after it, of the same size.
        still: True at rows and steps that must not move.
        relative_floor: Movement, as a fraction of a tensor's largest value, above which it is no rounding.
        setting: Mode of the model.

    Returns:
        The place; None if the model is no module, or no submodule is seen to move while it is watched.
    """
    if not isinstance(engine.model, nn.Module):
        return None
    try:
        first, old_output = _watched(engine, before, setting)
        second, new_output = _watched(engine, after, setting)
    except AuditError:
        return None
    if torch.equal(old_output, new_output):
        return None
    for index, (old, new) in enumerate(zip(first, second, strict=False)):
        if old.name != new.name:
            return None
        if _moved(old.outputs, new.outputs, still, relative_floor):
            return _place(first, second, index, still, relative_floor)
    kind = type(engine.model).__name__
    return Place("", kind, 1, 1, "")


def _watched(engine: Engine, sample: Sample, setting: Setting) -> tuple[list[ModuleCall], Tensor]:
    with Watch(engine.model) as watch:
        output = engine.chosen(sample, setting)
    return watch.calls, output.detach()


def _place(
    first: list[ModuleCall], second: list[ModuleCall], index: int, still: Tensor, relative_floor: float
) -> Place:
    found = first[index]
    twins = dict(zip(map(id, first), second, strict=False))
    origin: ModuleCall | None = found
    while origin is not None and id(origin) in twins:
        if not _moved(origin.inputs, twins[id(origin)].inputs, still, relative_floor):
            break
        origin = origin.parent
    same = [call for call in first if call.name == found.name]
    number = next(place for place, call in enumerate(same) if call is found) + 1
    return Place(found.name, found.kind, number, len(same), "" if origin is None else origin.name)


def _moved(old: list[Tensor], new: list[Tensor], still: Tensor, relative_floor: float) -> bool:
    return any(_has_moved(one, other, still, relative_floor) for one, other in zip(old, new, strict=False))


def _has_moved(old: Tensor, new: Tensor, still: Tensor, relative_floor: float) -> bool:
    if old.shape != new.shape or not (old.is_floating_point() or old.is_complex()):
        return False
    old_part, new_part = _at(old, still), _at(new, still)
    if old_part is None or new_part is None or old_part.numel() == 0:
        return False
    is_same = (old_part == new_part) | (old_part.isnan() & new_part.isnan())
    if bool(is_same.all()):
        return False
    distance = (new_part - old_part).abs().nan_to_num(torch.inf, torch.inf)[~is_same]
    finite = old.abs()[old.isfinite()]
    scale = float(finite.max()) if finite.numel() else 1.0
    return float(distance.max()) > relative_floor * scale


def _at(values: Tensor, still: Tensor) -> Tensor | None:
    """Take the places that must not move, whichever of the usual layouts the tensor has."""
    batch, steps = still.shape
    shape = values.shape
    whole_rows = still.all(dim=1)
    if len(shape) >= 2 and shape[:2] == (batch, steps):
        return values[still]
    if len(shape) >= 3 and shape[:2] == (steps, batch):
        return values.transpose(0, 1)[still]
    if len(shape) == 4 and (shape[0], shape[2]) == (batch, steps):
        return values.transpose(1, 2)[still]
    if len(shape) == 3 and (shape[0], shape[2]) == (batch, steps):
        return values.transpose(1, 2)[still]
    if len(shape) == 3 and shape[1] == steps and shape[0] % batch == 0:
        return values.unflatten(0, (batch, -1)).transpose(1, 2)[still]
    if len(shape) >= 1 and steps > 1 and shape[0] == batch * steps:
        return values.unflatten(0, (batch, steps))[still]
    if len(shape) >= 1 and shape[0] == batch and bool(whole_rows.any()):
        return values[whole_rows]
    return None
