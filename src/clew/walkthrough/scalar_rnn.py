"""The recurrent model of one number: three steps forward, the same operations backward, and one update.

The text leaves inputs, weights and target as letters. The values here are chosen for this page, so that states and
contributions have both signs. Start with `scalar_pass`.
"""

import math
from collections.abc import Sequence

import torch
from torch import nn

from clew.layers import Linear, RNNLayer
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.unrolled import LearningPass, half_squared_error, half_squared_pass, head_with, rnn_with, rows_of

INPUTS = (0.5, -1.0, 0.8)
TARGET = 0.5
INPUT_WEIGHT, RECURRENT_WEIGHT, OUTPUT_WEIGHT = 0.7, 0.9, 1.2
LEARNING_RATE = 0.1

CHOSEN = (
    f"The text leaves these as letters; chosen here: inputs {', '.join(map(str, INPUTS))}, w_x = {INPUT_WEIGHT}, "
    f"w_h = {RECURRENT_WEIGHT}, w_o = {OUTPUT_WEIGHT}, target {TARGET}, tanh, biases fixed at zero."
)


def scalar_layers(activation: str = "tanh") -> tuple[RNNLayer, Linear]:
    """Make the recurrent layer and the head with the chosen weights."""
    layer = rnn_with([[INPUT_WEIGHT]], [[RECURRENT_WEIGHT]], activation)
    return layer, head_with([[OUTPUT_WEIGHT]])


def scalar_pass(scored: Sequence[int] = (2,), share: float = 1.0) -> LearningPass:
    """Run the model on the three inputs, with the target at each scored step."""
    layer, head = scalar_layers()
    inputs = rows_of(*INPUTS).reshape(1, -1, 1)
    return half_squared_pass(layer, head, inputs, dict.fromkeys(scored, rows_of([TARGET])), share)


def scalar_symbols() -> Item:
    """List the symbols of the scalar model, each with its value here."""
    model = scalar_pass()
    z, h = [step.preactivation for step in model.steps.quantities], model.steps.states
    rows: list[list[Cell]] = [
        *([f"x_{step}", "observed input", x] for step, x in enumerate(INPUTS)),
        ["h_-1", "fixed initial state", model.steps.initial[0].item()],
        *([f"z_{step}", "preactivation", value.item()] for step, value in enumerate(z)),
        *([f"h_{step}", "hidden state", value.item()] for step, value in enumerate(h)),
        ["w_x", "input weight, shared over time", model.layer.weight_ih.item()],
        ["w_h", "recurrent weight, shared over time", model.layer.weight_hh.item()],
        ["w_o", "weight of the head, used at the last step", model.head.weight.item()],
        ["y", "target", TARGET],
        ["ŷ", "prediction w_o h_2", model.predictions[2].item()],
        ["e", "prediction error ŷ - y", model.sensitivity(model.predictions[2]).item()],
        ["L", "loss, half the squared error", model.loss.item()],
        *([f"g^h_{step}", f"dL/dh_{step}", model.sensitivity(value).item()] for step, value in enumerate(h)),
        *([f"g^z_{step}", f"dL/dz_{step}", model.sensitivity(value).item()] for step, value in enumerate(z)),
    ]
    columns = ["Symbol", "Meaning", "Value"]
    return Item(id_of(scalar_symbols), "The scalar model in symbols and numbers", "Table 2", columns, rows, [CHOSEN])


def scalar_columns() -> Item:
    """Pair each forward operation with its backward calculation."""
    model = scalar_pass()
    steps = model.steps
    rows: list[list[Cell]] = []
    for step, (taken, before) in enumerate(zip(steps.quantities, [steps.initial[0], *steps.states], strict=False)):
        recurrent, sent = f"z_{step} = w_x x_{step} + w_h h_{step - 1}", f"g^z_{step} w_h"
        back = f"dL/dh_-1 = {sent}" if step == 0 else f"g^h_{step - 1} = {sent}"
        local = f"g^z_{step} = g^h_{step} φ'(z_{step})"
        rows += [
            [recurrent, taken.preactivation.item(), back, model.sensitivity(before).item()],
            [f"h_{step} = φ(z_{step})", taken.state.item(), local, model.sensitivity(taken.preactivation).item()],
        ]
    prediction = model.predictions[2]
    last, error = model.sensitivity(steps.states[2]).item(), model.sensitivity(prediction).item()
    rows += [
        ["ŷ = w_o h_2", prediction.item(), "g^h_2 = e w_o", last],
        ["L = ½ (ŷ - y)²", model.loss.item(), "dL/dŷ = ŷ - y = e", error],
    ]
    notes = [CHOSEN, "Read the forward column downwards and the backward column upwards, from the loss."]
    columns = ["Forward pass", "Value", "Backward pass", "Sensitivity"]
    return Item(id_of(scalar_columns), "Forward operations and their backward twins", "Table 3", columns, rows, notes)


def shared_weight_gradients() -> Item:
    """Split each weight's gradient into what its uses contribute, and compare with the layer's own backward."""
    model = scalar_pass()
    whole = shared_gradients(model)
    rows: list[list[Cell]] = []
    for weight, name, words in (("w_x", "weight_ih", "Σ g^z_t x_t"), ("w_h", "weight_hh", "Σ g^z_t h_(t-1)")):
        parts = [model.contribution(step, name).item() for step in range(3)]
        rows.append([f"dL/d{weight} = {words}", *parts, math.fsum(parts), whole[weight]])
    at_head = model.sensitivity(model.head.weight).item()
    rows.append(["dL/dw_o = e h_2", "no use", "no use", at_head, at_head, whole["w_o"]])
    notes = [
        "Each use of a weight was given a copy of its own; what the copies get adds up to what the shared weight gets.",
        "The last column is the layer's own backward pass through the shared weights.",
        "The contributions to w_h have opposite signs: a sum of uses can be smaller than one of them.",
    ]
    columns = ["Gradient", "Use at step 0", "Use at step 1", "Use at step 2", "Sum", "Shared weight"]
    title = "Gradients of shared weights as sums over their uses"
    return Item(
        id_of(shared_weight_gradients), title, "Formula: boxed gradients of the shared weights", columns, rows, notes
    )


def shared_gradients(model: LearningPass) -> dict[str, float]:
    """Give the gradients of the three weights from one backward pass through the layer itself."""
    rows, _ = model.layer(torch.stack([x.detach() for x in model.steps.inputs], dim=1))
    loss = half_squared_error(model.head(rows[:, -1]), rows_of([TARGET]))
    named = {"w_x": model.layer.weight_ih, "w_h": model.layer.weight_hh, "w_o": model.head.weight}
    gradients = torch.autograd.grad(loss, list(named.values()))
    return {name: value.item() for name, value in zip(named, gradients, strict=True)}


def path_products() -> Item:
    """Expand each use of a recurrent or input weight into the local derivatives along its path to the loss."""
    model = scalar_pass()
    steps, slopes = model.steps, [model.slopes(step).item() for step in range(3)]
    error, (w_h, w_o) = model.sensitivity(model.predictions[2]).item(), (RECURRENT_WEIGHT, OUTPUT_WEIGHT)
    rows: list[list[Cell]] = []
    for weight, name in (("w_x", "weight_ih"), ("w_h", "weight_hh")):
        for step in range(3):
            local = steps.inputs[step].item() if weight == "w_x" else steps.before(step)[0].item()
            factors = [error, w_o, *[factor for later in range(2, step, -1) for factor in (slopes[later], w_h)]]
            product = math.prod([*factors, slopes[step], local])
            path = " ".join([f"φ'(z_{later}) w_h" for later in range(2, step, -1)] + [f"φ'(z_{step})"])
            local_name = f"x_{step}" if weight == "w_x" else f"h_{step - 1}"
            parts: list[Cell] = [math.prod(factors[:2]), math.prod(factors[2:]) * slopes[step], local]
            found = model.contribution(step, name).item()
            rows.append([f"{weight}: e w_o {path} {local_name}", *parts, product, found])
    notes = [
        "The slopes are the activation's at the preactivations of this pass; autograd's contributions stand beside "
        "them.",
        "The use of w_h at step 0 contributes nothing because its local input h_-1 is zero.",
    ]
    columns = ["Path", "e w_o", "Recurrent path", "Local input", "Product", "Contribution by autograd"]
    title = "Every path from a weight's use to the loss"
    return Item(id_of(path_products), title, "Formula: expanded path products", columns, rows, notes)


def first_recurrent_use() -> Item:
    """Answer the pause: which use has no recurrent input, and what it does not mean."""
    model = scalar_pass()
    rows: list[list[Cell]] = [
        *([f"g^z_{step} h_{step - 1}", model.contribution(step, "weight_hh").item()] for step in range(3)),
        ["g^z_0 x_0, in the gradient of w_x", model.contribution(0, "weight_ih").item()],
        *([f"dL/dx_{step}", model.sensitivity(x).item()] for step, x in enumerate(model.steps.inputs)),
    ]
    notes = [
        "The first use of w_h is zero because h_-1 is. The first input still reaches the loss: dL/dx_0 is not zero.",
    ]
    chapter = "Pause: which use has no recurrent input?"
    return Item(
        id_of(first_recurrent_use), "The use without a recurrent input", chapter, ["Quantity", "Value"], rows, notes
    )


def gradient_descent_step() -> Item:
    """Take one step of gradient descent, recompute the states, and show what keeping the old ones would do."""
    layer, head = scalar_layers()
    inputs, target = rows_of(*INPUTS).reshape(1, -1, 1), rows_of([TARGET])
    before = _forward_column(layer, head)
    old_states = layer(inputs)[0].detach()
    gradients = _step_down(layer, head, LEARNING_RATE)
    after = _forward_column(layer, head)
    stale = head(old_states[:, -1])
    kept = [*after[:3], *before[3:6], stale.item(), half_squared_error(stale, target).item()]
    names = ["w_x", "w_h", "w_o", "h_0", "h_1", "h_2", "ŷ", "L"]
    shown: list[Cell] = [*gradients, "", "", "", "", ""]
    rows: list[list[Cell]] = [list(row) for row in zip(names, before, shown, after, kept, strict=True)]
    notes = [
        f"Learning rate {LEARNING_RATE}. All gradients are taken at the old weights; the new states start from h_-1 = "
        "0.",
        "The last column mixes the new head with the old states: it belongs to no setting of the weights.",
    ]
    columns = ["Quantity", "Before", "Gradient", "After, states recomputed", "Old states kept by mistake"]
    title = "One update by gradient descent"
    return Item(id_of(gradient_descent_step), title, "Formula: gradient descent update", columns, rows, notes)


def _forward_column(layer: RNNLayer, head: Linear) -> list[float]:
    states = layer(rows_of(*INPUTS).reshape(1, -1, 1))[0]
    prediction = head(states[:, -1])
    loss = half_squared_error(prediction, rows_of([TARGET]))
    values = [layer.weight_ih, layer.weight_hh, head.weight, *states.flatten(), prediction, loss]
    return [value.item() for value in values]


def _step_down(layer: RNNLayer, head: Linear, learning_rate: float) -> list[float]:
    """Take one step of gradient descent in place, and give the gradients of w_x, w_h and w_o."""
    weights = [layer.weight_ih, layer.weight_hh, head.weight]
    optimizer = torch.optim.SGD(nn.ParameterList(weights), lr=learning_rate)
    prediction = head(layer(rows_of(*INPUTS).reshape(1, -1, 1))[0][:, -1])
    optimizer.zero_grad()
    half_squared_error(prediction, rows_of([TARGET])).backward()
    optimizer.step()
    return [0.0 if weight.grad is None else weight.grad.item() for weight in weights]


def update_sizes() -> Item:
    """Compare losses after one step for several learning rates, and at a point without gradient."""
    rows: list[list[Cell]] = []
    for learning_rate in (0.001, 0.01, 0.1, 1.0, 10.0):
        layer, head = scalar_layers()
        before = _forward_column(layer, head)[-1]
        _step_down(layer, head, learning_rate)
        after = _forward_column(layer, head)[-1]
        rows.append([f"learning rate {learning_rate:g}", before, after, after - before])
    notes = ["A small enough step along the negative gradient lowers the loss; a large one can raise it."]
    columns = ["Step", "Loss before", "Loss after", "Change"]
    title = "Small steps lower the loss, large ones need not"
    return Item(id_of(update_sizes), title, "Formula: size of an update", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    scalar_symbols,
    scalar_columns,
    shared_weight_gradients,
    path_products,
    first_recurrent_use,
)
UPDATE: tuple[Builder, ...] = (gradient_descent_step, update_sizes)
