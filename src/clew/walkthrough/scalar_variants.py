"""The scalar model with one thing changed: biases, targets at every step, another reduction of the losses, no curve.

Start with `every_step_losses`: it shows the two paths that meet at a state.
"""

import math
from collections.abc import Sequence

import torch

from clew.layers import Linear, RNNLayer
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.scalar_rnn import (
    CHOSEN,
    INPUT_WEIGHT,
    INPUTS,
    LEARNING_RATE,
    OUTPUT_WEIGHT,
    RECURRENT_WEIGHT,
    TARGET,
    scalar_layers,
    scalar_pass,
)
from clew.walkthrough.unrolled import (
    LearningPass,
    derivative,
    half_squared_error,
    half_squared_pass,
    head_with,
    rnn_with,
    rows_of,
)

STEPS = len(INPUTS)
SECOND_INPUTS = (-0.4, 0.6, 0.3)
SECOND_TARGET = -0.2


def cell_and_head_biases() -> Item:
    """Compare biases fixed at zero, trainable from zero, and away from zero."""
    free = {"fixed at zero": None, "trainable, starting at zero": (0.0, 0.0), "trainable, 0.1 and -0.2": (0.1, -0.2)}
    values = {name: _with_biases(biases) for name, biases in free.items()}
    names = ["ŷ", "L", "dL/dw_x", "dL/dw_h", "dL/dw_o", "dL/db_h = Σ g^z_t", "dL/db_o = e", "L after one update"]
    rows: list[list[Cell]] = [[name, *cells] for name, *cells in zip(names, *values.values(), strict=True)]
    notes = [
        CHOSEN,
        f"A zero bias that may be trained has a gradient, so one update with learning rate {LEARNING_RATE} moves it; "
        "one that is fixed has none. The layer has torch.nn's two cell biases; one of them stays at zero here.",
    ]
    title = "Biases fixed, free and away from zero"
    return Item(id_of(cell_and_head_biases), title, "Formula: general forward pass", ["Quantity", *free], rows, notes)


def _with_biases(biases: tuple[float, float] | None) -> list[Cell]:
    """Give prediction, loss, gradients and the loss after one update."""
    cell_bias, head_bias = (None, None) if biases is None else ([biases[0]], [biases[1]])
    layer = rnn_with([[INPUT_WEIGHT]], [[RECURRENT_WEIGHT]], bias_hh=cell_bias)
    head = head_with([[OUTPUT_WEIGHT]], head_bias)
    prediction, loss = _predict(layer, head)
    named = [layer.weight_ih, layer.weight_hh, head.weight, layer.bias_hh, head.bias]
    trainable = [value for value in named if value is not None and value.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=LEARNING_RATE)
    loss.backward()
    gradients = ["fixed" if value is None or value.grad is None else value.grad.item() for value in named]
    optimizer.step()
    return [prediction.item(), loss.item(), *gradients, _predict(layer, head)[1].item()]


def _predict(layer: RNNLayer, head: Linear) -> tuple[torch.Tensor, torch.Tensor]:
    states = layer(rows_of(*INPUTS).reshape(1, -1, 1))[0]
    prediction = head(states[:, -1])
    return prediction, half_squared_error(prediction, rows_of([TARGET]))


def final_only_loss() -> Item:
    """Split each state's sensitivity into its direct and its later term, with one loss at the end."""
    notes = [CHOSEN, "Only the last state has a direct term; earlier states are taught through those after them."]
    title = "One loss at the end: who teaches which state"
    chapter = "Formula: final-only loss"
    return Item(id_of(final_only_loss), title, chapter, TWO_TERMS, two_terms(scalar_pass()), notes)


def every_step_losses() -> Item:
    """Split each state's sensitivity into its direct and its later term, with a loss at every step."""
    model = scalar_pass(range(STEPS))
    at_head = [_head_use(model, step) for step in range(STEPS)]
    notes = [
        CHOSEN,
        f"Every step has the target {TARGET}. The later term already holds all later losses, each once.",
        f"The head is shared too: its gradient is the sum of e_t h_t, {' + '.join(f'{use:.3g}' for use in at_head)} = "
        f"{model.sensitivity(model.head.weight).item():.3g}.",
    ]
    title = "A loss at every step: two paths meet at each state"
    return Item(id_of(every_step_losses), title, "Formula: every-position loss", TWO_TERMS, two_terms(model), notes)


TWO_TERMS = ["Step", "Prediction", "Error e_t", "Direct e_t w_o", "Later g^z_(t+1) w_h", "g^h_t", "g^z_t"]


def two_terms(model: LearningPass) -> list[list[Cell]]:
    """List each step's prediction, error, the two terms of its state's sensitivity, their sum, and what leaves it."""
    rows: list[list[Cell]] = []
    for step, taken in enumerate(model.steps.quantities):
        prediction = model.predictions.get(step)
        read: list[Cell] = ["no target", "no target"]
        if prediction is not None:
            read = [prediction.item(), model.sensitivity(prediction).item()]
        terms = [model.direct(step), model.later(step), *map(model.sensitivity, (taken.state, taken.preactivation))]
        rows.append([f"step {step}", *read, *(term.item() for term in terms)])
    return rows


def _head_use(model: LearningPass, step: int) -> float:
    """Give what one step's prediction contributes to the gradient of the shared head."""
    prediction = model.predictions[step]
    return derivative(prediction, model.head.weight, model.sensitivity(prediction)).item()


def loss_reductions() -> Item:
    """Show what each reduction does to the sensitivities of the states of the first of two examples."""
    examples = 2
    shares = {
        "half squared errors summed": 1.0,
        "mean over time": 1 / STEPS,
        "mean over examples": 1 / examples,
        "mean over time and examples": 1 / (STEPS * examples),
    }
    rows: list[list[Cell]] = []
    for name, share in shares.items():
        model = _two_examples(share)
        direct = [model.direct(step)[0].item() for step in range(STEPS)]
        total = [model.sensitivity(state)[0].item() for state in model.steps.states]
        rows.append([name, share, *direct, *total, _norm_of_gradient(model)])
    rows.append(["mean over time, divided again at each step: wrong", "", *_divided_twice(_two_examples(1 / STEPS))])
    notes = [
        f"The scalar model with a second example: inputs {', '.join(map(str, SECOND_INPUTS))}, target {SECOND_TARGET} "
        "at every step. The columns show the first example.",
        "A reduction multiplies each direct term once. The recurrent signal carries that factor already, so all "
        "sensitivities and gradients scale by it; dividing again at each transition, as in the last row, is another "
        "rule.",
    ]
    parts = [f"{part} {step}" for part in ("direct", "g^h") for step in range(STEPS)]
    columns = ["Reduction", "Factor", *parts, "Gradient norm"]
    title = "What a reduction does to the sensitivities"
    return Item(id_of(loss_reductions), title, "Formula: mean over positions and examples", columns, rows, notes)


def _two_examples(share: float) -> LearningPass:
    layer, head = scalar_layers()
    targets = dict.fromkeys(range(STEPS), rows_of([TARGET], [SECOND_TARGET]))
    return half_squared_pass(layer, head, rows_of(INPUTS, SECOND_INPUTS).unsqueeze(-1), targets, share)


def _norm_of_gradient(model: LearningPass) -> float:
    shared = [_summed(model, name) for name in ("weight_ih", "weight_hh")]
    return math.hypot(*shared, model.sensitivity(model.head.weight).item())


def _divided_twice(model: LearningPass) -> list[Cell]:
    """Carry the sensitivities back with the recurrent signal divided by the number of steps at each transition."""
    total = [model.direct(step) for step in range(STEPS)]
    for step in reversed(range(STEPS - 1)):
        total[step] = total[step] + _sent_back(model, step + 1, total[step + 1]) / STEPS
    return [*(model.direct(step)[0].item() for step in range(STEPS)), *(value[0].item() for value in total), ""]


def _sent_back(model: LearningPass, step: int, sensitivity: torch.Tensor) -> torch.Tensor:
    return derivative(model.steps.states[step], model.steps.states[step - 1], sensitivity)


def identity_is_affine() -> Item:
    """Show that a final prediction is affine in the inputs with the identity, and is not with tanh."""
    first, second = rows_of(*INPUTS), rows_of(*SECOND_INPUTS)
    rows: list[list[Cell]] = []
    for activation in ("identity", "tanh", "sigmoid", "relu"):
        layer, head = scalar_layers(activation)
        inputs = [first, second, first + second, torch.zeros_like(first)]
        a, b, both, none = (head(layer(x.reshape(1, -1, 1))[0][:, -1]).item() for x in inputs)
        rows.append([activation, a, b, both, none, both + none - a - b])
    notes = [
        "An affine map has f(a + b) + f(0) = f(a) + f(b): the last column is zero for it, up to rounding.",
        f"a and b are the inputs {', '.join(map(str, INPUTS))} and {', '.join(map(str, SECOND_INPUTS))}.",
    ]
    columns = ["Activation", "f(a)", "f(b)", "f(a + b)", "f(0)", "f(a + b) + f(0) - f(a) - f(b)"]
    title = "Without a curved activation the prediction is affine in the inputs"
    return Item(id_of(identity_is_affine), title, "Formula: identity activation", columns, rows, notes)


def earlier_readout() -> Item:
    """Solve exercise 1: losses at steps 1 and 2 instead of the last one only."""
    scored: Sequence[int] = (1, 2)
    model, final = scalar_pass(scored), scalar_pass()
    at_head = [_head_use(model, step) for step in scored]
    rows: list[list[Cell]] = [
        ["direct contribution e_1 w_o to g^h_1", model.direct(1).item(), final.direct(1).item()],
        ["direct contribution e_2 w_o to g^h_2", model.direct(2).item(), final.direct(2).item()],
        ["later contribution g^z_2 w_h to g^h_1", model.later(1).item(), final.later(1).item()],
        ["g^h_1", *(each.sensitivity(each.steps.states[1]).item() for each in (model, final))],
        ["e_1 h_1, from the use of w_o at step 1", at_head[0], "no use"],
        ["e_2 h_2, from the use of w_o at step 2", at_head[1], _head_use(final, 2)],
        ["dL/dw_o", *(each.sensitivity(each.head.weight).item() for each in (model, final))],
        ["dL/dw_x", *(_summed(each, "weight_ih") for each in (model, final))],
        ["dL/dw_h", *(_summed(each, "weight_hh") for each in (model, final))],
        ["L", model.loss.item(), final.loss.item()],
    ]
    notes = [
        CHOSEN,
        "g^h_1 = e_1 w_o + g^z_2 w_h: the new direct term is added to what step 2 sends back, before the slope at step "
        "1.",
        "The head is now used twice, so its gradient has two terms; g^h_2 does not change, and g^h_0 only through "
        "g^h_1.",
    ]
    columns = ["Quantity", "Losses at steps 1 and 2", "Loss at step 2 only"]
    title = "Another place for the readout"
    return Item(id_of(earlier_readout), title, "Exercise 1", columns, rows, notes)


def _summed(model: LearningPass, name: str) -> float:
    return sum(model.contribution(step, name).item() for step in range(STEPS))


ITEMS: tuple[Builder, ...] = (final_only_loss, every_step_losses, loss_reductions)
BIASES: tuple[Builder, ...] = (cell_and_head_biases,)
EXERCISES: tuple[Builder, ...] = (earlier_readout,)
