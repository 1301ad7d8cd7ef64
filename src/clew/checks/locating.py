"""Where on the way through a module a difference first shows.

The model is run twice, before and after a change, with temporary hooks on its submodules. Their calls are compared in
the order in which they finished, at the places that must not move; where rows or steps stand elsewhere in the second
run, they are followed. A tensor whose axes cannot be recognized is skipped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Int
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


@dataclass(frozen=True, eq=False)
class Places:
    """Where nothing may move, in the batch of one run.

    Attributes:
        batch: Rows of the run.
        time: Steps of the run.
        rows: Rows of the steps that must not move.
        steps: Those steps.
        whole: Rows of which nothing may move, not even what belongs to no step.
    """

    batch: int
    time: int
    rows: Int[Tensor, " places"]
    steps: Int[Tensor, " places"]
    whole: Int[Tensor, " rows"]

    @classmethod
    def at(cls, still: Bool[Tensor, "batch time"], whole: Bool[Tensor, " batch"] | None = None) -> "Places":
        """Take the steps that are marked; whole rows are those marked from end to end, unless they are given."""
        rows, steps = still.nonzero(as_tuple=True)
        marked = still.all(dim=1) if whole is None else whole
        return cls(still.shape[0], still.shape[1], rows, steps, marked.nonzero().flatten())

    def among(self, batch: int, new_rows: Int[Tensor, " batch"]) -> "Places":
        """Follow the rows into another batch, to the places that are given."""
        return Places(batch, self.time, new_rows[self.rows], self.steps, new_rows[self.whole])


@dataclass(frozen=True, eq=False)
class Run:
    """What was seen while a model ran: the calls of its submodules, its output, and where it is to be compared."""

    kind: str
    calls: list[ModuleCall]
    output: Tensor
    places: Places


def watched(engine: Engine, sample: Sample, places: Places, setting: Setting = EVALUATION, **how: Any) -> Run | None:
    """Run a model and keep what its submodules do; None if it is no module, or raises.

    Args:
        engine: What runs the model.
        sample: Inputs.
        places: Where the run is to be compared with another.
        setting: Mode of the model.
        **how: As for `Engine.result`.
    """
    if not isinstance(engine.model, nn.Module):
        return None
    try:
        with Watch(engine.model) as watch:
            output = engine.chosen(sample, setting, **how)
    except AuditError:
        return None
    return Run(type(engine.model).__name__, watch.calls, output.detach(), places)


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
    places = Places.at(still)
    first, second = (watched(engine, sample, places, setting) for sample in (before, after))
    return first_difference(first, second, relative_floor)


def first_difference(first: Run | None, second: Run | None, relative_floor: float) -> Place | None:
    """Compare two runs call by call, each at its own places."""
    if first is None or second is None:
        return None
    if first.output.shape == second.output.shape and torch.equal(first.output, second.output):
        return None
    for index, (old, new) in enumerate(zip(first.calls, second.calls, strict=False)):
        if old.name != new.name:
            return None
        if _moved(old.outputs, new.outputs, first, second, relative_floor):
            return _place(first, second, index, relative_floor)
    return Place("", first.kind, 1, 1, "")


def first_not_a_number(engine: Engine, sample: Sample, setting: Setting = EVALUATION) -> Place | None:
    """Find the first submodule that gives NaN."""
    run = watched(engine, sample, Places.at(sample.real), setting)
    calls = [] if run is None else run.calls
    found = next((call for call in calls if _has_nan(call.outputs)), None)
    return None if found is None else _named(found, calls, _origin(found, lambda call: _has_nan(call.inputs)))


def _has_nan(tensors: list[Tensor]) -> bool:
    return any(bool(tensor.isnan().any()) for tensor in tensors)


def _origin(found: ModuleCall, is_touched: Callable[[ModuleCall], bool]) -> str:
    """Name the innermost module around a call whose input was still right."""
    origin: ModuleCall | None = found
    while origin is not None and is_touched(origin):
        origin = origin.parent
    return "" if origin is None else origin.name


def _named(found: ModuleCall, calls: list[ModuleCall], origin: str) -> Place:
    same = [call for call in calls if call.name == found.name]
    number = next(place for place, call in enumerate(same) if call is found) + 1
    return Place(found.name, found.kind, number, len(same), origin)


def _place(first: Run, second: Run, index: int, relative_floor: float) -> Place:
    twins = dict(zip(map(id, first.calls), second.calls, strict=False))

    def is_touched(call: ModuleCall) -> bool:
        twin = twins.get(id(call))
        return twin is None or _moved(call.inputs, twin.inputs, first, second, relative_floor)

    return _named(first.calls[index], first.calls, _origin(first.calls[index], is_touched))


def _moved(old: list[Tensor], new: list[Tensor], first: Run, second: Run, relative_floor: float) -> bool:
    pairs = zip(old, new, strict=False)
    return any(_has_moved(one, other, first.places, second.places, relative_floor) for one, other in pairs)


def _has_moved(old: Tensor, new: Tensor, first: Places, second: Places, relative_floor: float) -> bool:
    if old.is_nested or new.is_nested or old.ndim != new.ndim or not (old.is_floating_point() or old.is_complex()):
        return False
    known = _layouts(new.shape, second)
    layout = next((layout for layout in _layouts(old.shape, first) if layout in known), None)
    if layout is None:
        return False
    old_part, new_part = _at(old, layout, first), _at(new, layout, second)
    if old_part.shape != new_part.shape or old_part.numel() == 0:
        return False
    is_same = (old_part == new_part) | (old_part.isnan() & new_part.isnan())
    if bool(is_same.all()):
        return False
    distance = (new_part - old_part).abs().nan_to_num(torch.inf, torch.inf)[~is_same]
    finite = old.abs()[old.isfinite()]
    scale = float(finite.max()) if finite.numel() else 1.0
    return float(distance.max()) > relative_floor * scale


def _layouts(shape: torch.Size, places: Places) -> list[str]:
    """List the usual layouts that a tensor may have, by its shape; the most usual first."""
    batch, steps, count = places.batch, places.time, len(shape)
    fits = {
        "batch time": count >= 2 and shape[:2] == (batch, steps),
        "time batch": count >= 3 and shape[:2] == (steps, batch),
        "batch any time": count in (3, 4) and (shape[0], shape[2]) == (batch, steps),
        "batch*any time": count == 3 and shape[1] == steps and shape[0] % batch == 0,
        "batch*time": count >= 1 and steps > 1 and shape[0] == batch * steps,
        "batch": count >= 1 and shape[0] == batch and len(places.whole) > 0,
    }
    return [layout for layout, is_fit in fits.items() if is_fit]


def _at(values: Tensor, layout: str, places: Places) -> Tensor:
    """Take the places that must not move."""
    where = (places.rows, places.steps)
    match layout:
        case "batch time":
            return values[where]
        case "time batch":
            return values.transpose(0, 1)[where]
        case "batch any time":
            return values.transpose(1, 2)[where]
        case "batch*any time":
            return values.unflatten(0, (places.batch, -1)).transpose(1, 2)[where]
        case "batch*time":
            return values.unflatten(0, (places.batch, places.time))[where]
        case _:
            return values[places.whole]
