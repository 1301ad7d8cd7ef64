"""The recurrent model of vectors: coupled coordinates, the shapes of everything, and gradients as outer products.

The text leaves the numbers out; they are chosen here, with all widths different, so that no shape can pass for another.
Start with `vector_pass`.
"""

from collections.abc import Mapping
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.unrolled import LearningPass, half_squared_pass, head_with, rnn_with, rows_of

TWO_INPUTS = ((0.2, -0.1), (0.0, 0.3), (0.4, 0.1))
TWO_INPUT_WEIGHTS = ((0.6, -0.4), (0.3, 0.8))
TWO_RECURRENT_WEIGHTS = ((0.5, -0.7), (0.9, 0.2))
TWO_HEAD = ((1.1, -0.6),)
TWO_TARGET = (0.5,)

THREE_INPUT_WEIGHTS = ((0.6, -0.4), (0.3, 0.8), (-0.5, 0.2))
THREE_RECURRENT_WEIGHTS = ((0.5, -0.7, 0.1), (0.9, 0.2, -0.3), (0.0, 0.4, 0.6))
FOUR_HEADS = ((1.1, -0.6, 0.3), (0.2, 0.5, -0.9), (-0.4, 0.1, 0.7), (0.8, 0.0, 0.2))
FOUR_TARGETS = (0.5, -0.2, 0.0, 0.3)
CELL_BIAS, HEAD_BIAS = (0.05, -0.1, 0.0), (0.1, 0.0, -0.05, 0.2)
D, H, C, T = 2, 3, 4, 3

TWO_CHOSEN = (
    "Two inputs, two state coordinates, one prediction, tanh, no biases; chosen here: "
    f"W_x = {TWO_INPUT_WEIGHTS}, W_h = {TWO_RECURRENT_WEIGHTS}, W_o = {TWO_HEAD}, target {TWO_TARGET[0]}."
)


def two_coordinate_pass() -> LearningPass:
    """Run the model with two coordinates on the inputs of the text's PyTorch example, with one loss at the end."""
    layer = rnn_with(TWO_INPUT_WEIGHTS, TWO_RECURRENT_WEIGHTS)
    return half_squared_pass(layer, head_with(TWO_HEAD), rows_of(TWO_INPUTS), {T - 1: rows_of(TWO_TARGET)})


def vector_pass() -> LearningPass:
    """Run the general model, D = 2, H = 3, C = 4, biases included, with one loss at the end."""
    layer = rnn_with(THREE_INPUT_WEIGHTS, THREE_RECURRENT_WEIGHTS, bias_hh=CELL_BIAS)
    head = head_with(FOUR_HEADS, bias=HEAD_BIAS)
    return half_squared_pass(layer, head, rows_of(TWO_INPUTS), {T - 1: rows_of(FOUR_TARGETS)})


def two_coordinates() -> Item:
    """Add up the four terms of each coordinate's preactivation at each step."""
    model = two_coordinate_pass()
    weights = torch.cat([model.layer.weight_ih, model.layer.weight_hh], dim=1)
    rows: list[list[Cell]] = []
    for step, taken in enumerate(model.steps.quantities):
        read = torch.cat([model.steps.inputs[step], model.steps.before(step)[0]], dim=1)
        for i in range(2):
            terms = (weights[i] * read[0]).tolist()
            result = [value[0, i].item() for value in taken]
            rows.append([f"step {step}, coordinate {i}", *terms, *result])
    columns = ["Coordinate i", "W_x,i0 x_0", "W_x,i1 x_1", "W_h,i0 h_0", "W_h,i1 h_1", "z_i", "h_i"]
    notes = [
        TWO_CHOSEN,
        "Each coordinate reads both inputs and both coordinates of the state before.",
    ]
    title = "Two coordinates are two coupled scalar updates"
    return Item(id_of(two_coordinates), title, "Formula: two-coordinate update", columns, rows, notes)


def vector_shapes() -> Item:
    """List what the vector model holds, with the shapes that its tensors really have."""
    model = vector_pass()
    layer, head, steps = model.layer, model.head, model.steps
    last, prediction = steps.quantities[-1], model.predictions[T - 1]
    assert head.bias is not None
    shapes: Mapping[str, tuple[str, str, Tensor]] = {
        "x_t": ("1 × D", "one observation", steps.inputs[-1]),
        "z_t": ("1 × H", "preactivation", last.preactivation),
        "h_t": ("1 × H", "state", last.state),
        "W_x": ("H × D", "input weights, shared over time", layer.weight_ih),
        "W_h": ("H × H", "recurrent weights, shared over time", layer.weight_hh),
        "W_o": ("C × H", "weights of the task head", head.weight),
        "b_h": ("1 × H", "cell bias, optional", layer.bias_hh.unsqueeze(0)),
        "b_o": ("1 × C", "head bias, optional", head.bias.unsqueeze(0)),
        "ŷ": ("1 × C", "prediction", prediction),
        "y": ("1 × C", "target", rows_of(FOUR_TARGETS)),
        "g^h_t": ("1 × H", "dL/dh_t", model.sensitivity(last.state)),
        "g^z_t": ("1 × H", "dL/dz_t", model.sensitivity(last.preactivation)),
        "e": ("1 × C", "prediction error and dL/dŷ", model.sensitivity(prediction)),
    }
    rows: list[list[Cell]] = [
        [symbol, meaning, letters, " × ".join(map(str, value.shape))]
        for symbol, (letters, meaning, value) in shapes.items()
    ]
    notes = [f"Here D = {D} inputs, H = {H} state coordinates, C = {C} predictions, T = {T} steps; vectors are rows."]
    columns = ["Symbol", "Meaning", "Shape", "Shape here"]
    return Item(id_of(vector_shapes), "Shapes of the vector model", "Table 5", columns, rows, notes)


def general_forward_pass() -> Item:
    """List states, prediction and loss of the general model."""
    model = vector_pass()
    rows: list[list[Cell]] = []
    for step, taken in enumerate(model.steps.quantities):
        rows += [[f"{name}_{step}", *value[0].tolist(), ""] for name, value in zip("zh", taken, strict=True)]
    rows += [["ŷ", *model.predictions[T - 1][0].tolist()], ["L", model.loss.item(), "", "", ""]]
    columns = ["Quantity", *(f"coordinate {place}" for place in range(C))]
    notes = [
        "Inputs as in the example with two coordinates; "
        f"W_x = {THREE_INPUT_WEIGHTS}, W_h = {THREE_RECURRENT_WEIGHTS}, b_h = {CELL_BIAS}, W_o = {FOUR_HEADS}, "
        f"b_o = {HEAD_BIAS}, target {FOUR_TARGETS}, all chosen here.",
        "The loss is half the sum of squared errors over the four outputs; there is no mean in it.",
    ]
    title = "The vector model forward"
    return Item(id_of(general_forward_pass), title, "Formula: vector forward pass", columns, rows, notes)


def general_backward_pass() -> Item:
    """Carry the sensitivities of the model with two coordinates back, term by term."""
    model = two_coordinate_pass()
    states, weights = model.steps.states, model.layer.weight_hh
    rows: list[list[Cell]] = []
    for step in reversed(range(T)):
        taken = model.steps.quantities[step]
        own, inside = model.sensitivity(taken.state)[0], model.sensitivity(taken.preactivation)[0]
        slopes = model.slopes(step)[0]
        earlier = model.sensitivity(model.steps.initial[0] if step == 0 else states[step - 1])[0]
        for j in range(2):
            paths = (inside * weights[:, j]).tolist()
            cells = [value[j].item() for value in (own, slopes, inside)]
            rows.append([f"step {step}, coordinate {j}", *cells, *paths, earlier[j].item()])
    columns = ["Coordinate j", "g^h_t,j", "φ'(z_t,j)", "g^z_t,j", "g^z_t,0 W_h,0j", "g^z_t,1 W_h,1j", "g^h_(t-1),j"]
    notes = [
        TWO_CHOSEN,
        "A coordinate reaches both of the next step, so two paths add up in the last column.",
    ]
    title = "The vector model backward"
    return Item(id_of(general_backward_pass), title, "Formula: vector backward pass", columns, rows, notes)


def outer_products() -> Item:
    """List each step's outer product and their sum, beside the gradient of the shared weight."""
    model = two_coordinate_pass()
    whole = dict(zip(["weight_ih", "weight_hh"], _layer_gradients(model), strict=True))
    rows: list[list[Cell]] = []
    for weight, name in (("W_x", "weight_ih"), ("W_h", "weight_hh")):
        parts = [model.contribution(step, name) for step in range(T)]
        named = [(f"step {step}", part) for step, part in enumerate(parts)]
        named += [("sum", torch.stack(parts).sum(0)), ("shared weight's gradient", whole[name])]
        rows += [[f"{weight}, {words}", *value.flatten().tolist()] for words, value in named]
    notes = [
        TWO_CHOSEN,
        "Entry (i, j) of a step is g^z_t,i times the coordinate j that was read: a column times a row, not a dot "
        "product.",
    ]
    columns = ["Use", "entry 0,0", "entry 0,1", "entry 1,0", "entry 1,1"]
    title = "Gradients as sums of outer products"
    return Item(id_of(outer_products), title, "Formula: outer-product gradients", columns, rows, notes)


def _layer_gradients(model: LearningPass) -> tuple[Float[Tensor, "hidden features"], Float[Tensor, "hidden hidden"]]:
    """Differentiate the layer's own run, not the unrolled copies."""
    rows, _ = model.layer(torch.stack([x.detach() for x in model.steps.inputs], dim=1))
    prediction = model.head(rows[:, -1])
    at_prediction = model.sensitivity(model.predictions[T - 1])
    gradients = partial(torch.autograd.grad, prediction, grad_outputs=at_prediction)
    first, second = gradients([model.layer.weight_ih, model.layer.weight_hh])
    return first, second


FORWARD: tuple[Builder, ...] = (two_coordinates, vector_shapes, general_forward_pass)
BACKWARD: tuple[Builder, ...] = (general_backward_pass, outer_products)
