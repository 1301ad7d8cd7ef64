"""A recurrent layer explained step by step, each step from the state that really went into it.

So rounding does not build up along time. Backward, the sensitivity of a state is the sum of what the head sends
directly and of what later steps send back; the layer's derived backward carries it, and the step's own equations, all
steps at once, say what it means for gates, inputs and shared weights.

    g[h_t] = direct_t + later_t,        later_t = g[h_(t+1)] * dh_(t+1)/dh_t
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from clew.ledger.explanation import (
    Explanation,
    Sensitivities,
    as_leaf,
    differentiate,
    standing_in,
    weights_of,
)
from clew.ledger.recording import Border


@runtime_checkable
class Recurrence(Protocol):
    """What the ledger asks of a recurrent layer."""

    state_parts: tuple[str, ...]

    def project(self, inputs: Tensor) -> Tensor:
        """Give what the inputs contribute to the gates."""
        ...

    def step(self, projected: Tensor, states: tuple[Tensor, ...]) -> Any:
        """Apply the cell's equations once."""
        ...

    def states_before(self, projected: Tensor, rows: Tensor, initial: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Give the state that went into each step, from the states that really came out."""
        ...

    def carry_back(
        self, direct: tuple[Tensor, ...], before: tuple[Tensor, ...], values: Mapping[str, Tensor]
    ) -> tuple[Tensor, ...]:
        """Give the sensitivity of each part of the state after each step, the derived backward through time."""
        ...


def is_recurrence(border: object) -> bool:
    """Whether a layer, or the border of one, is explained here."""
    if isinstance(border, Border):
        return not border.part and is_recurrence(border.layer)
    return hasattr(border, "carry_back") and hasattr(border, "states_before")


def explain_recurrence(border: Border, weights: Mapping[str, Tensor]) -> Explanation:
    """Apply the step equations to all steps at once, each to the state that really went into it."""
    layer: Recurrence = border.layer
    initial = tuple(stand_in(border.inputs[f"initial_{part}"]) for part in layer.state_parts)
    leaves, stand_ins = {"inputs": as_leaf(border.inputs["inputs"])}, {n: as_leaf(w) for n, w in weights.items()}
    with torch.enable_grad(), standing_in(border, stand_ins):
        projected = layer.project(leaves["inputs"].to(stand_ins["weight_ih"].dtype))
        before = layer.states_before(projected.detach(), stand_in(border.outputs["state"]), initial)
        for part, states in zip(layer.state_parts, before, strict=True):
            leaves[f"{part}_before"] = as_leaf(states)
        states = tuple(leaves[f"{part}_before"] for part in layer.state_parts)
        values = dict(layer.step(projected, states)._asdict())
    return Explanation(values, leaves, stand_ins)


def explain_recurrence_backward(
    border: Border, explanation: Explanation, arrived: Mapping[str, Tensor | None]
) -> Sensitivities:
    """Carry the direct sensitivities through time, then through the equations of every step."""
    layer: Recurrence = border.layer
    values, leaves, parts = explanation.values, explanation.leaves, layer.state_parts
    direct = tuple(_direct(border, values[part], part, arrived) for part in parts)
    before = tuple(leaves[f"{part}_before"].detach() for part in parts)
    with torch.no_grad(), standing_in(border, explanation.weights):
        totals = layer.carry_back(direct, before, {name: value.detach() for name, value in values.items()})
    heads = _heads(layer, totals, direct, values)
    names = [name for name in values if name not in parts]
    inside = [*(values[name] for name in names), *leaves.values()]
    found = differentiate(values, heads, [*inside, *explanation.weights.values()])
    sent_back = dict(zip(leaves, found[len(names) :], strict=False))
    later = tuple(_one_step_earlier(sent_back[f"{part}_before"]) for part in parts)
    terms = {part: {"direct": own, "later": back} for part, own, back in zip(parts, direct, later, strict=True)}
    for part, total in zip(parts[1:], totals[1:], strict=True):
        terms[part]["own state"] = total - terms[part]["direct"] - terms[part]["later"]
    real = weights_of(border)
    return Sensitivities(
        dict(zip(names, found, strict=False)) | dict(zip(parts, totals, strict=True)),
        _sent_to_inputs(border, sent_back, arrived),
        {real[n]: part for n, part in zip(explanation.weights, found[len(inside) :], strict=True)},
        heads,
        terms,
    )


def _heads(
    layer: Recurrence, totals: tuple[Tensor, ...], direct: tuple[Tensor, ...], values: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The sensitivities of the parts of a state as independent coordinates.

    A cell also reaches the loss through the state of its own step; that part is left out here, because differentiating
    the step adds it.
    """
    heads = {layer.state_parts[0]: totals[0]}
    for part, own in zip(layer.state_parts[1:], direct[1:], strict=True):
        heads[part] = own + _from_later(layer, part, totals, values)
    return heads


def _sent_to_inputs(
    border: Border, sent_back: Mapping[str, Tensor], arrived: Mapping[str, Tensor | None]
) -> dict[str, Tensor]:
    """What goes back to the real inputs; a row without a valid step passes its initial state on."""
    sent = {"inputs": sent_back["inputs"]}
    is_empty = (border.facts["last_step"] < 0).unsqueeze(1)
    for part in border.layer.state_parts:
        back, at_end = sent_back[f"{part}_before"][:, 0], arrived.get(f"final_{part}")
        sent[f"initial_{part}"] = back if at_end is None else back + torch.where(is_empty, at_end, 0.0)
    return sent


def last_part(border: Border, explanation: Explanation, part: str) -> Tensor:
    """Give a part of the state after the last valid step; the initial one for a row without any."""
    last, values = border.facts["last_step"], explanation.values[part].detach()
    at_end = values[torch.arange(len(values), device=values.device), last.clamp(min=0)]
    return torch.where((last < 0).unsqueeze(1), border.inputs[f"initial_{part}"].detach(), at_end)


def stand_in(tensor: Tensor) -> Tensor:
    """Detach a real tensor; one of inference mode is copied, so that it may be used with derivatives."""
    return tensor.clone() if tensor.is_inference() else tensor.detach()


def _direct(border: Border, value: Tensor, part: str, arrived: Mapping[str, Tensor | None]) -> Tensor:
    """What reaches the states from outside the layer: at every step through the rows, at the end through the rest."""
    at_steps = arrived.get(part)
    direct = torch.zeros_like(value) if at_steps is None else at_steps.clone()
    at_end = arrived.get(f"final_{part}")
    if at_end is not None:
        last = border.facts["last_step"]
        rows = torch.arange(len(direct), device=direct.device)
        direct[rows, last.clamp(min=0)] += torch.where((last >= 0).unsqueeze(1), at_end, 0.0)
    return direct


def _one_step_earlier(
    sent_back: Float[Tensor, "batch time hidden"],
) -> Float[Tensor, "batch time hidden"]:
    """What each step sends back arrives at the state after the step before it; nothing comes after the last."""
    return torch.cat([sent_back[:, 1:], torch.zeros_like(sent_back[:, :1])], dim=1)


def _from_later(layer: Recurrence, part: str, totals: tuple[Tensor, ...], values: Mapping[str, Tensor]) -> Tensor:
    """What later steps send to the stored part: its total there times the gate that carried it."""
    kept = totals[layer.state_parts.index(part)] * values["forget_gate"].detach()
    return _one_step_earlier(kept)


def transition_jacobian(border: Border, explanation: Explanation, row: int, step: int) -> Float[Tensor, "state state"]:
    """Differentiate one step of one sequence; see `transition_jacobians`."""
    return transition_jacobians(border, explanation, row, step, step + 1)[0]


def transition_jacobians(
    border: Border, explanation: Explanation, row: int, start: int, stop: int
) -> Float[Tensor, "steps state state"]:
    """Differentiate steps of one sequence: entry (t, i, j) is how new state i of step t moves with old state j.

    For an LSTM the state is (state, cell) joined, so that a matrix is 2 hidden wide. Steps count in the order in which
    the layer reads. All steps are differentiated together, one new state at a time: given the state before it, no step
    depends on another.
    """
    layer: Recurrence = border.layer
    inputs = explanation.leaves["inputs"][row, start:stop].detach()
    parts = [explanation.leaves[f"{part}_before"][row, start:stop].detach() for part in layer.state_parts]
    before = torch.cat(parts, dim=-1).requires_grad_()
    with torch.enable_grad(), standing_in(border, explanation.weights):
        named = layer.step(layer.project(inputs), before.split([part.shape[-1] for part in parts], dim=-1))
        after = torch.cat([getattr(named, part) for part in layer.state_parts], dim=-1).sum(dim=0)
        rows = [torch.autograd.grad(one, before, retain_graph=True)[0] for one in after]
    return torch.stack(rows, dim=1)
