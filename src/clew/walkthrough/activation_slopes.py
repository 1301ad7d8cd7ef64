"""Activations and their slopes at chosen preactivations, and the factors that a recurrent transition gets from them."""

from clew.layers import activation_named
from clew.layers.rnn import RNNLayer
from clew.walkthrough.items import Builder, Cell, Curve, CurveChart, Item, id_of
from clew.walkthrough.scalar_variants import identity_is_affine
from clew.walkthrough.unrolled import derivative, rnn_with, rows_of

PREACTIVATIONS = (-5.0, -2.0, -0.5, 0.0, 0.5, 2.0, 5.0)
NAMES = {"identity": "Identity", "tanh": "Tanh", "sigmoid": "Logistic sigmoid", "relu": "ReLU"}
RULES = {"identity": "1", "tanh": "1 - tanh²(z)", "sigmoid": "σ(z) (1 - σ(z))", "relu": "1 for z > 0, 0 for z ≤ 0"}
RECURRENT_WEIGHT = 1.2


def activation_slopes() -> Item:
    """List the slope of each activation at several preactivations."""
    z = rows_of(*PREACTIVATIONS)
    rows: list[list[Cell]] = []
    for name, title in NAMES.items():
        activation = activation_named(name)
        rows.append([title, RULES[name], *activation.slope(z, activation.value(z)).tolist()])
    grid = rows_of(*(place / 10 for place in range(-50, 51)))
    curves = [
        Curve(title, list(zip(grid.tolist(), phi.slope(grid, phi.value(grid)).tolist(), strict=True)))
        for phi, title in ((activation_named(name), title) for name, title in NAMES.items())
    ]
    notes = [
        "The sigmoid's slope is largest at 0, where it is 1/4; tanh and sigmoid saturate away from 0.",
        "ReLU has no derivative at 0; the convention here is 0, as in PyTorch.",
    ]
    columns = ["Activation", "Local derivative", *(f"φ'({place:g})" for place in PREACTIVATIONS)]
    chart = CurveChart("Slope φ'(z)", "preactivation z", "slope", curves)
    return Item(
        id_of(activation_slopes), "Activations and their slopes", "Table 4", columns, rows, notes, [chart],
        "The slope of each activation. A recurrent transition multiplies it by w_h.",
    )  # fmt: skip


def activation_values() -> Item:
    """List the output of each activation at the same preactivations."""
    z = rows_of(*PREACTIVATIONS)
    rows: list[list[Cell]] = [[title, *activation_named(name).value(z).tolist()] for name, title in NAMES.items()]
    columns = ["Activation", *(f"φ({place:g})" for place in PREACTIVATIONS)]
    notes = ["Tanh is bounded and keeps signs; a sigmoid is bounded and never negative; the others are not bounded."]
    return Item(id_of(activation_values), "Activation outputs", "Formula: activations", columns, rows, notes)


def transition_factors() -> Item:
    """Multiply each slope by the recurrent weight, by differentiating one step of a layer."""
    rows: list[list[Cell]] = []
    for name, title in NAMES.items():
        layer = rnn_with([[1.0]], [[RECURRENT_WEIGHT]], name)
        rows.append([title, *(_transition_factor(layer, z) for z in PREACTIVATIONS)])
    notes = [
        f"w_h = {RECURRENT_WEIGHT}. At one and the same weight the factor runs from nothing to {RECURRENT_WEIGHT}: "
        "slope and weight decide together, and an activation without attenuation leaves the weight's own factor.",
    ]
    columns = ["Activation", *(f"z = {place:g}" for place in PREACTIVATIONS)]
    title = "Transition factors w_h φ'(z)"
    return Item(id_of(transition_factors), title, "Formula: transition derivative", columns, rows, notes)


def _transition_factor(layer: RNNLayer, preactivation: float) -> float:
    """Differentiate one step from state zero by that state, with the input that makes the preactivation."""
    state = rows_of([0.0]).requires_grad_()
    taken = layer.step(layer.project(rows_of([preactivation])), (state,))
    return derivative(taken.state, state).item()


ITEMS: tuple[Builder, ...] = (activation_slopes, activation_values, transition_factors, identity_is_affine)
