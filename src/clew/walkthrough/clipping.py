"""Norm clipping: a long gradient keeps its direction, a short one and a zero one stay, a lost one is not found "
"again."""

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from clew.layers import Linear, RNNLayer
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.path_sensitivity import INPUT_WEIGHT, RECURRENT_WEIGHT
from clew.walkthrough.scalar_rnn import INPUTS, LEARNING_RATE, scalar_layers
from clew.walkthrough.unrolled import half_squared_error, half_squared_pass, head_with, rnn_with, rows_of

THRESHOLD = 1.0
LONG_PATH = 12


def norm_clipping() -> Item:
    """Clip a long, a short and a zero gradient of the scalar model."""
    targets = {"far target 5": 5.0, "near target 0.5": 0.5, "target equal to the prediction": _prediction()}
    rows: list[list[Cell]] = []
    for words, target in targets.items():
        before = _gradient(target)
        after = _gradient(target, THRESHOLD)
        lengths = [before.norm().item(), after.norm().item()]
        cosine: Cell = torch.cosine_similarity(before, after, dim=0).item() if lengths[0] else "no direction"
        rows.append([words, *before.tolist(), *after.tolist(), *lengths, cosine, LEARNING_RATE * lengths[1]])
    notes = [
        f"Threshold {THRESHOLD:g}, over the gradients of all three weights as one vector. A zero gradient stays zero; "
        "nothing is divided by its length.",
        f"With gradient descent at learning rate {LEARNING_RATE} no update is longer than "
        f"{LEARNING_RATE * THRESHOLD:g}.",
    ]
    columns = [
        "Gradient", "w_x", "w_h", "w_o", "w_x clipped", "w_h clipped", "w_o clipped", "Length", "Length clipped",
        "Cosine", "Length of the update",
    ]  # fmt: skip
    title = "Clipping by the norm of the whole gradient"
    return Item(id_of(norm_clipping), title, "Formula: norm clipping", columns, rows, notes)


def _layers_gradient(layer: RNNLayer, head: Linear, target: float, threshold: float | None) -> Tensor:
    prediction = head(layer(rows_of(*INPUTS).reshape(1, -1, 1))[0][:, -1])
    half_squared_error(prediction, rows_of([target])).backward()
    weights = [layer.weight_ih, layer.weight_hh, head.weight]
    if threshold is not None:
        clip_grad_norm_(weights, threshold)
    return torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None])


def _gradient(target: float, threshold: float | None = None) -> Tensor:
    return _layers_gradient(*scalar_layers(), target, threshold)


def _prediction() -> float:
    layer, head = scalar_layers()
    return head(layer(rows_of(*INPUTS).reshape(1, -1, 1))[0][:, -1]).item()


def clipping_restores_nothing() -> Item:
    """Show that clipping scales each use's contribution alike, and so cannot bring an early one back."""
    layer, head = rnn_with([[INPUT_WEIGHT]], [[RECURRENT_WEIGHT]]), head_with([[20.0]])
    inputs = torch.ones(1, LONG_PATH, 1, dtype=torch.float64)
    model = half_squared_pass(layer, head, inputs, {LONG_PATH - 1: rows_of([0.0])})
    uses = torch.stack([model.contribution(step, "weight_ih").flatten() for step in range(LONG_PATH)])
    weight = torch.nn.Parameter(layer.weight_ih.detach().clone())
    weight.grad = uses.sum(0).reshape(1, 1)
    length = clip_grad_norm_([weight], THRESHOLD).item()
    assert weight.grad is not None
    scale = weight.grad.item() / uses.sum().item()
    rows: list[list[Cell]] = [
        [f"step {step}", use.item(), (use * scale).item(), (use / uses.sum()).item()] for step, use in enumerate(uses)
    ]
    rows.append(["sum over the uses of w_x", uses.sum().item(), weight.grad.item(), 1.0])
    notes = [
        f"A saturated tanh path of {LONG_PATH} steps, w_h = {RECURRENT_WEIGHT}, inputs 1, w_o = 20, target 0. The "
        f"gradient of w_x has length {length:.3g} and is clipped to {THRESHOLD:g}; the share of the first step stays "
        "as small as it was.",
    ]
    columns = ["Use", "Contribution", "After clipping", "Share"]
    title = "Clipping does not bring a vanished contribution back"
    return Item(id_of(clipping_restores_nothing), title, "Formula: clipping and vanished paths", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (norm_clipping, clipping_restores_nothing)
