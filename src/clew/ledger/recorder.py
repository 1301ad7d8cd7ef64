"""Takes what layers report, names it, and listens for the sensitivities that a backward pass computes.

A hook on a tensor sees its complete derivative, hooks on the edges of a border what this border sends back to each of
its inputs and weights (`crossing.py`). They return nothing, so that no bit of the pass changes. Weights are copied as
they were when the layer ran, so that a step of an optimizer before the ledger is read changes nothing that it says.
Start with `clew.record`; the names and numbers are read from `Ledger`.
"""

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from clew.errors import LedgerError, complain
from clew.ledger import recording
from clew.ledger.crossing import Edge, edge_of, edges_into, listen
from clew.ledger.explanation import Explanation, Sensitivities, weights_of
from clew.ledger.recording import Border

Sent = dict[str | nn.Parameter, Tensor]


@dataclass(eq=False)
class Recorded:
    """One border under its name.

    Attributes:
        name: Path of the layer in the model; empty for a layer that is recorded alone.
        border: The real tensors.
        weights: Copies of the layer's weights as they were, by their name in the layer.
        sent: What the border really sent back to each input and weight, summed over backward passes.
        explanation: The inside, once it has been asked for.
        sensitivities: The inside of the backward pass, likewise.
        heard: How much had been heard when the sensitivities were computed.
        verified: How much had been heard when they were compared with the real ones.
    """

    name: str
    border: Border
    weights: dict[str, Tensor] = field(default_factory=dict)
    sent: Sent = field(default_factory=dict)
    explanation: Explanation | None = None
    sensitivities: Sensitivities | None = None
    heard: int = 0
    verified: int = 0

    def address(self, key: str) -> str:
        """Name of one quantity of the layer."""
        return f"{self.name}.{key}" if self.name else key


@dataclass(eq=False)
class Pass:
    """What one call of the model reported, in the order of computation; and the weights that it ran with."""

    recorded: list[Recorded] = field(default_factory=list)
    copies: dict[int, Tensor] = field(default_factory=dict)


class Recorder:
    """Listens to one model.

    Attributes:
        passes: One for each call of the model.
        parameter_names: Name of each parameter, by its identity.
    """

    def __init__(self, model: nn.Module) -> None:
        self.names = {id(module): name for name, module in model.named_modules()}
        self.parameter_names = {id(weight): name for name, weight in model.named_parameters()}
        self.passes: list[Pass] = []
        self._arrived: dict[int, Tensor] = {}
        self._heard = [0]
        self._kept: dict[int, Tensor] = {}
        self._known: dict[int, Pass] = {}
        self._edges: dict[Edge, None] = {}
        self._handles: list[Any] = []
        self._calls = [0]
        self._calls_seen = 0
        self._of_calls = model.register_forward_pre_hook(_counter(self._calls))
        for weight in model.parameters():
            if weight.requires_grad:
                self._listen(weight)
        weakref.finalize(self, _remove, self._handles)

    def close(self) -> None:
        """Hear no more calls; backward passes are heard as long as somebody holds the ledger."""
        self._of_calls.remove()

    def take(self, border: Border) -> None:
        """Take over a border of the model; those of other models are left alone.

        Raises:
            LedgerError: Under autocast.
        """
        name = self._name_of(border)
        if name is None:
            return
        if any(torch.is_autocast_enabled(tensor.device.type) for tensor in border.outputs.values()):
            remedy = "Its numbers have another type inside a layer than at its border, and could not be compared."
            raise LedgerError(complain("record", "model", "called outside of torch.autocast", "a call inside", remedy))
        one = self._pass_of(border)
        one.recorded.append(self._recorded(_numbered(one, name, border), border, one))
        for tensor in border.outputs.values():
            self._known[id(tensor)] = one
            if tensor.requires_grad and id(tensor) not in self._kept:
                self._listen(tensor)
                self._edges[edge_of(tensor)] = None

    def arrived(self, tensor: Tensor) -> Tensor | None:
        """The sensitivity that backward passes have computed for a real tensor, summed; None if none has."""
        return self._arrived.get(id(tensor))

    @property
    def has_backward(self) -> bool:
        """Whether any backward pass has reached the model."""
        return bool(self._arrived)

    @property
    def heard(self) -> int:
        """Grows with every sensitivity that is heard, so that what was computed from fewer is known to be old."""
        return self._heard[0]

    def _recorded(self, name: str, border: Border, one: Pass) -> Recorded:
        weights = weights_of(border)
        copies = {key: one.copies.setdefault(id(weight), weight.detach().clone()) for key, weight in weights.items()}
        recorded = Recorded(name, border, copies)
        outputs = [tensor for tensor in border.outputs.values() if tensor.requires_grad]
        targets: dict[str | nn.Parameter, Tensor] = {**border.inputs, **{weight: weight for weight in weights.values()}}
        targets = {key: tensor for key, tensor in targets.items() if tensor.requires_grad}
        if outputs:
            self._handles.extend(listen(edges_into(outputs, targets, self._edges), recorded.sent))
        return recorded

    def _listen(self, tensor: Tensor) -> None:
        key, arrived, heard = id(tensor), self._arrived, self._heard
        self._kept[key] = tensor  # an id stays its own as long as its tensor lives

        def hear(sensitivity: Tensor) -> None:
            known = arrived.get(key)
            arrived[key] = sensitivity.detach().clone() if known is None else known + sensitivity.detach()
            heard[0] += 1

        self._handles.append(tensor.register_hook(hear))

    def _name_of(self, border: Border) -> str | None:
        """Name the layer; a loss belongs to no model, and is taken if it reads what the recorded one gave."""
        name = self.names.get(id(border.layer))
        if name is None and not self._reads_known(border) and (recording.count() > 1 or not self.passes):
            return None
        return getattr(border.layer, "recorded_name", None) if name is None else name

    def _reads_known(self, border: Border) -> bool:
        return any(id(tensor) in self._known for tensor in border.inputs.values())

    def _pass_of(self, border: Border) -> Pass:
        """Give the pass that a border belongs to: a call of the model begins one, a loss joins that of its logits."""
        if id(border.layer) not in self.names:
            for tensor in border.inputs.values():
                if id(tensor) in self._known:
                    return self._known[id(tensor)]
        if not self.passes or self._begins_again(border):
            self._calls_seen = self._calls[0]
            self.passes.append(Pass())
        return self.passes[-1]

    def _begins_again(self, border: Border) -> bool:
        if self._calls_seen != self._calls[0]:
            return True
        first = self.passes[-1].recorded[0].border
        is_called_in_parts = self._calls[0] == 0
        return is_called_in_parts and border.layer is first.layer and border.part == first.part


def _numbered(one: Pass, name: str, border: Border) -> str:
    """Tell repeated uses of one layer within a call apart: the second one gets "#2"."""
    uses = sum(known.border.layer is border.layer and known.border.part == border.part for known in one.recorded)
    return name if uses == 0 else f"{name}#{uses + 1}"


def _counter(calls: list[int]) -> Any:
    def count(_model: nn.Module, _arguments: object) -> None:
        calls[0] += 1

    return count


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
