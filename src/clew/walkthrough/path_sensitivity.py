"""How far a sensitivity reaches: products of transition factors over longer and longer paths, and what bounds them.

The curves are Figure 3 of the text: fixed factors isolate the length, tanh trajectories bring the slopes in.
"""

from collections.abc import Sequence

from clew.layers import RNNLayer
from clew.walkthrough.items import Builder, Cell, Curve, CurveChart, Item, id_of
from clew.walkthrough.unrolled import derivative, rnn_with, rows_of, unroll

FACTORS = (0.8, 1.0, 1.2)
RECURRENT_WEIGHT, INPUT_WEIGHT = 1.2, 1.0
INPUT_LEVELS = (0.0, 1.0)
TRANSITIONS = 20


def state_sensitivities(layer: RNNLayer, inputs: Sequence[float]) -> list[float]:
    """Give the derivative of the state after each step by the state after the first; a layer of width one."""
    steps = unroll(layer, rows_of(*inputs).reshape(1, -1, 1))
    return [derivative(state, steps.states[0]).item() for state in steps.states]


def fixed_factor_curve(factor: float, transitions: int = TRANSITIONS) -> list[float]:
    """Give the sensitivities of an identity layer, whose every transition has the derivative `factor`."""
    return state_sensitivities(rnn_with([[1.0]], [[factor]], "identity"), [0.0] * (transitions + 1))


def tanh_curve(level: float, transitions: int = TRANSITIONS) -> list[float]:
    """Give the sensitivities of a tanh layer along its trajectory under a constant input."""
    return state_sensitivities(rnn_with([[INPUT_WEIGHT]], [[RECURRENT_WEIGHT]]), [level] * (transitions + 1))


def sensitivity_curves() -> Item:
    """Compute both panels of the figure: the size of the derivative over the number of transitions."""
    fixed = {f"factor {factor:g}": fixed_factor_curve(factor) for factor in FACTORS}
    actual = {f"tanh, input {level:g}": tanh_curve(level) for level in INPUT_LEVELS}
    columns = {name: [abs(value) for value in values] for name, values in (fixed | actual).items()}
    rows: list[list[Cell]] = [[count, *cells] for count, cells in enumerate(zip(*columns.values(), strict=True))]
    panels = [
        _panel("Fixed factors", {name: columns[name] for name in fixed}),
        _panel("Tanh trajectories, w_h = 1.2", {name: columns[name] for name in actual}),
    ]
    notes = [
        f"Tanh trajectories: w_h = {RECURRENT_WEIGHT}, w_x = {INPUT_WEIGHT:g}, h_-1 = 0, constant input, neither head "
        "nor loss. With input 0 all states stay 0 and each factor is w_h; with input 1 they saturate.",
        "A sequence of one step has no transition, and its sensitivity is 1.",
    ]
    title = "Sensitivity along a path, by its number of transitions"
    caption = "Size of dh_(T-1)/dh_0 over the number of transitions T - 1, on logarithmic axes upwards."
    names = ["Transitions T - 1", *columns]
    return Item(id_of(sensitivity_curves), title, "Figure 3", names, rows, notes, panels, caption)


def _panel(title: str, curves: dict[str, list[float]]) -> CurveChart:
    drawn = [
        Curve(name, [(float(count), value) for count, value in enumerate(cells)]) for name, cells in curves.items()
    ]
    return CurveChart(title, "transitions", "size of the sensitivity", drawn, has_log_scale=True)


def tanh_trajectory() -> Item:
    """Follow one saturating trajectory: state, slope, factor and their product."""
    layer = rnn_with([[INPUT_WEIGHT]], [[RECURRENT_WEIGHT]])
    steps = unroll(layer, rows_of(*[1.0] * 8).reshape(1, -1, 1))
    rows: list[list[Cell]] = []
    for step, taken in enumerate(steps.quantities):
        slope = layer.activation.slope(taken.preactivation, taken.state).item()
        factor: Cell = derivative(taken.state, steps.states[step - 1]).item() if step else "no transition"
        product = derivative(taken.state, steps.states[0]).item()
        rows.append([f"step {step}", taken.preactivation.item(), taken.state.item(), slope, factor, product])
    notes = [f"w_h = {RECURRENT_WEIGHT} is above one, yet each factor w_h φ'(z) is far below: the slope decides."]
    columns = ["Step", "z_t", "h_t", "φ'(z_t) = 1 - h_t²", "dh_t/dh_(t-1)", "dh_t/dh_0"]
    title = "A bounded state whose sensitivity vanishes"
    return Item(id_of(tanh_trajectory), title, "Formula: product along a scalar path", columns, rows, notes)


def growth_and_decay() -> Item:
    """Compare the size that is left after many transitions with the bound r to the power of their number."""
    rows: list[list[Cell]] = []
    for factor in (0.5, 0.8, -0.8, 1.0, 1.2, 2.0):
        curve = fixed_factor_curve(factor, 50)
        rows.append([f"w_h = {factor:g}", *(curve[count] for count in (1, 5, 10, 50))])
    notes = [
        "Magnitudes below one fade exponentially, above one they grow; a negative factor turns the sign at each step."
    ]
    columns = ["Identity layer", *(f"after {count}" for count in (1, 5, 10, 50))]
    title = "Vanishing and exploding products"
    return Item(id_of(growth_and_decay), title, "Formula: vanishing and exploding gradients", columns, rows, notes)


def state_and_gradient_bounds() -> Item:
    """Solve exercise 2: five transitions of -0.8, and why bounded states do not bound gradients."""
    identity = fixed_factor_curve(-0.8, 5)
    quiet, driven = tanh_curve(0.0, 5), tanh_curve(1.0, 5)
    rows: list[list[Cell]] = [["identity, w_h = -0.8, any input", *identity[1:], "negative", abs(identity[-1])]]
    for words, curve in (("tanh, w_h = 1.2, input 0", quiet), ("tanh, w_h = 1.2, input 1", driven)):
        rows.append([words, *curve[1:], "positive" if curve[-1] > 0 else "negative", abs(curve[-1])])
    notes = [
        "Five factors of -0.8 give -0.32768: an odd number of sign changes, and about a third of the signal.",
        "Both tanh trajectories keep their states within (-1, 1). One multiplies the signal by 1.2 at each step, the "
        "other nearly erases it: the product of w_h and the slopes decides, not the range of the states.",
    ]
    columns = ["Layer", *(f"after {count}" for count in range(1, 6)), "Sign", "Magnitude"]
    title = "Bounded states, unbounded gradients"
    return Item(id_of(state_and_gradient_bounds), title, "Exercise 2", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (growth_and_decay,)
FIGURE: tuple[Builder, ...] = (sensitivity_curves, tanh_trajectory)
EXERCISES: tuple[Builder, ...] = (state_and_gradient_bounds,)
