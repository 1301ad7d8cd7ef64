"""From the border of a layer to its inside: the layer's own equations, applied to what really went in.

The named quantities come from `layer.named`, their sensitivities from differentiating that function at the real inputs
with the real sensitivities of the outputs. Nothing is read from a second model: change the layer's equation, and the
distance to what really ran shows it (`clew.ledger.verification`). Recurrences are explained in `recurrence.py`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from clew.ledger.recording import Border


@dataclass(eq=False)
class Explanation:
    """The inside of one border.

    Attributes:
        values: Named quantities, still tied to `leaves` and `weights` by autograd.
        leaves: Stand-ins for the real inputs, by name; ids and masks stand for themselves.
        weights: Stand-ins for the layer's weights, by their name in the layer.
    """

    values: dict[str, Tensor]
    leaves: dict[str, Tensor]
    weights: dict[str, Tensor]


@dataclass(eq=False)
class Sensitivities:
    """What a backward pass says about one border.

    Attributes:
        quantities: Of every named quantity that the loss may depend on.
        inputs: What this border sends back to each of its inputs.
        parameters: What it contributes to the gradient of each parameter of its layer.
        heads: Where differentiation of the inside begins: named quantities, and the sensitivity put in at each.
        terms: Parts that sum to a quantity's sensitivity, where the layer tells them apart.
    """

    quantities: dict[str, Tensor]
    inputs: dict[str, Tensor]
    parameters: dict[nn.Parameter, Tensor]
    heads: dict[str, Tensor]
    terms: dict[str, dict[str, Tensor]] = field(default_factory=dict)


def explain(border: Border, weights: Mapping[str, Tensor]) -> Explanation:
    """Compute the named quantities of a border from its real inputs and the weights as they were."""
    is_tracked = is_differentiated(border)
    leaves = {name: as_leaf(tensor, is_tracked) for name, tensor in border.inputs.items()}
    factor = border.facts.get("factor")
    facts = border.facts if factor is None else {**border.facts, "factor": as_leaf(factor, is_tracked)}
    stand_ins = {name: as_leaf(weight, is_tracked) for name, weight in weights.items()}
    with torch.set_grad_enabled(is_tracked), standing_in(border, stand_ins):
        values = border.layer.named(border.part, leaves, facts)
    return Explanation(values, leaves, stand_ins)


def explain_backward(border: Border, explanation: Explanation, arrived: Mapping[str, Tensor | None]) -> Sensitivities:
    """Carry the real sensitivities of a border's outputs to its inside.

    Args:
        border: What ran.
        explanation: Its forward quantities.
        arrived: The sensitivity of each output that the loss depends on.
    """
    heads = {name: at for name, at in arrived.items() if at is not None and explanation.values[name].requires_grad}
    names = [name for name, value in explanation.values.items() if value.requires_grad]
    leaves = [name for name, leaf in explanation.leaves.items() if leaf.requires_grad]
    wanted = [*(explanation.values[name] for name in names), *(explanation.leaves[name] for name in leaves)]
    found = differentiate(explanation.values, heads, [*wanted, *explanation.weights.values()])
    real = weights_of(border)
    parameters = zip(explanation.weights, found[len(wanted) :], strict=True)
    return Sensitivities(
        dict(zip(names, found, strict=False)),
        dict(zip(leaves, found[len(names) :], strict=False)),
        {real[name]: part for name, part in parameters},
        heads,
    )


def differentiate(values: Mapping[str, Tensor], heads: Mapping[str, Tensor], wanted: list[Tensor]) -> list[Tensor]:
    """Carry sensitivities of named quantities back to other tensors; zeros where nothing arrives."""
    if not heads or not wanted:
        return [torch.zeros_like(tensor) for tensor in wanted]
    starts = [values[name] for name in heads]
    found = torch.autograd.grad(starts, wanted, list(heads.values()), retain_graph=True, allow_unused=True)
    return [torch.zeros_like(t) if part is None else part.detach() for t, part in zip(wanted, found, strict=True)]


def is_differentiated(border: Border) -> bool:
    """Whether any output takes part in a backward pass."""
    return any(tensor.requires_grad for tensor in border.outputs.values())


def as_leaf(tensor: Tensor, is_tracked: bool = True) -> Tensor:
    """Detach a real tensor and let derivatives be taken with respect to it, if the border takes part in any."""
    detached = tensor.clone() if tensor.is_inference() else tensor.detach()
    return detached.requires_grad_() if is_tracked and detached.is_floating_point() else detached


def weights_of(border: Border) -> dict[str, nn.Parameter]:
    """Parameters that the layer of a border holds itself, by name; those of its parts are reported by the parts."""
    moves_only = bool(border.part) and hasattr(border.layer, "carry_back")  # around the kernel of a recurrent layer
    if moves_only or not isinstance(border.layer, nn.Module):
        return {}
    held = dict(border.layer.named_parameters(recurse=False))
    chosen = getattr(border.layer, "explained_parameters", None)
    if chosen is None:
        return held
    wanted = {id(weight) for weight in chosen(border.part)}
    return {name: weight for name, weight in held.items() if id(weight) in wanted}


@contextmanager
def standing_in(border: Border, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Let a layer compute with stand-ins of its weights for a while."""
    real = weights_of(border)
    held = border.layer._parameters if real else {}
    held.update(weights)
    try:
        yield
    finally:
        held.update(real)
