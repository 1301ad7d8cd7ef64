"""The GRU in numbers: its mixture, every gate of a small cell, where the reset acts, and what it carries.

All weights are chosen here; the one published number is the mixture's. Start with `gru_mixture`.
"""

import math

import torch

from clew.layers import GRULayer, Linear, activation_named
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.matrix_paths import jacobian, spectral_norm, transition
from clew.walkthrough.unrolled import Unrolled, rows_of, unroll, with_weights
from clew.walkthrough.vector_rnn import TWO_INPUTS

RETAINED, OLD_STATE, CANDIDATE = 0.9, 0.5, -0.4

# Gate by gate, two rows each: reset, update, candidate.
INPUT_WEIGHTS = ((0.5, -0.3), (0.2, 0.8), (-0.4, 0.6), (0.7, 0.1), (0.9, -0.5), (-0.2, 0.6))
RECURRENT_WEIGHTS = ((0.4, 0.1), (-0.3, 0.5), (0.2, -0.6), (0.3, 0.4), (0.8, -0.7), (0.5, 0.9))
INPUT_BIASES = (0.1, -0.1, 0.5, 0.8, 0.0, 0.05)
RECURRENT_BIASES = (0.0, 0.0, 0.0, 0.0, 0.2, -0.3)
FIRST_STATE = (0.3, -0.2)

CHOSEN = (
    "Two inputs, two state coordinates, torch.nn's order of gates (reset, update, candidate), chosen here: "
    f"W_x = {INPUT_WEIGHTS}, W_h = {RECURRENT_WEIGHTS}, b_x = {INPUT_BIASES}, b_h = {RECURRENT_BIASES}, "
    f"first state {FIRST_STATE}."
)


def small_gru() -> GRULayer:
    """Make the small GRU with the chosen weights."""
    layer = GRULayer(2, 2)
    parameters = {"bias_ih": INPUT_BIASES, "bias_hh": RECURRENT_BIASES}
    with_weights(layer, weight_ih=INPUT_WEIGHTS, weight_hh=RECURRENT_WEIGHTS, **parameters)
    return layer


def small_gru_steps() -> Unrolled:
    """Run the small GRU over the three inputs of the text's PyTorch example."""
    return unroll(small_gru(), rows_of(TWO_INPUTS), (rows_of(FIRST_STATE),))


def gru_mixture() -> Item:
    """Mix an old state and a candidate through a layer whose biases set the gate and the candidate."""
    rows: list[list[Cell]] = []
    for retained in (0.1, 0.5, RETAINED, 0.99):
        layer = GRULayer(1, 1)
        with_weights(layer, bias_ih=[0.0, math.log(retained / (1 - retained)), math.atanh(CANDIDATE)])
        taken = layer.quantities(rows_of([[0.0]]), initial=(rows_of([OLD_STATE]),))
        cells = [taken[name].item() for name in ("update_gate", "candidate", "state")]
        rows.append([f"u = {retained:g}", cells[0], OLD_STATE, cells[1], cells[2]])
    notes = [
        "h' = u h + (1 - u) n; the text's example is u = 0.9, which gives 0.41. A gate near one keeps the old state.",
        "Weights are zero, and the biases of update gate and candidate are chosen to give these values.",
    ]
    columns = ["Gate", "Update gate", "Old state", "Candidate", "New state"]
    title = "A GRU mixes its old state and a candidate"
    return Item(id_of(gru_mixture), title, "Formula: GRU state update", columns, rows, notes)


def gru_by_hand() -> Item:
    """List every gate, candidate and state of the small GRU."""
    rows: list[list[Cell]] = []
    steps = small_gru_steps()
    for step, taken in enumerate(steps.quantities):
        rows.append([f"step {step}: state before", *steps.before(step)[0][0].tolist()])
        rows += [[f"step {step}: {_words(name)}", *value[0].tolist()] for name, value in taken._asdict().items()]
    columns = ["Quantity", "coordinate 0", "coordinate 1"]
    title = "A small GRU, every gate"
    return Item(id_of(gru_by_hand), title, "Formula: GRU gates and candidate", columns, rows, [CHOSEN])


def _words(name: str) -> str:
    return name.replace("_", " ")


def reset_after_or_before() -> Item:
    """Compare the reset after the recurrent product, as here, with a reset of the state before it."""
    layer, steps = small_gru(), small_gru_steps()
    recurrent = Linear(2, 2)
    with_weights(recurrent, weight=layer.weight_hh[4:].tolist(), bias=layer.bias_hh[4:].tolist())
    tanh = activation_named("tanh").value
    rows: list[list[Cell]] = []
    for step, taken in enumerate(steps.quantities):
        (state,), r = steps.before(step), taken.reset_gate
        projected = layer.project(steps.inputs[step])[:, 4:]
        after, before = tanh(projected + r * recurrent(state)), tanh(projected + recurrent(r * state))
        named = [("layer's candidate", taken.candidate), ("reset after", after), ("reset before", before)]
        rows += [[f"step {step}: {words}", *value[0].tolist()] for words, value in named]
    notes = [
        CHOSEN,
        "After: r (h W' + b). Before: (r h) W' + b. The bias is gated only in the first, and W mixes coordinates whose "
        "gates differ, so the same weights give another model.",
    ]
    columns = ["Candidate", "coordinate 0", "coordinate 1"]
    title = "Reset after or before the recurrent product"
    return Item(id_of(reset_after_or_before), title, "Formula: GRU reset convention", columns, rows, notes)


def gru_carry() -> Item:
    """Set the direct carry beside the full Jacobian, step by step and along the whole path."""
    steps = small_gru_steps()
    carry = [torch.diag(taken.update_gate[0]) for taken in steps.quantities]
    full = [transition(steps, step) for step in range(len(carry))]
    rows: list[list[Cell]] = []
    for step, (direct, whole) in enumerate(zip(carry, full, strict=True)):
        rows += _carry_rows(f"step {step}", direct, whole)
    path = jacobian(steps.states[-1], steps.initial[0])
    rows += _carry_rows("steps 0 to 2", carry[2] @ carry[1] @ carry[0], path)
    notes = [
        CHOSEN,
        "Direct carry: diag(u), gates and candidate held fixed. The full Jacobian adds what passes through them.",
    ]
    columns = ["Derivative of the state", "0,0", "0,1", "1,0", "1,1", "Spectral norm"]
    title = "What a GRU carries, beside its full Jacobian"
    return Item(id_of(gru_carry), title, "Formula: GRU direct carry", columns, rows, notes)


def _carry_rows(place: str, direct: torch.Tensor, whole: torch.Tensor) -> list[list[Cell]]:
    named = {"direct carry": direct, "full": whole, "through gates and candidate": whole - direct}
    return [[f"{place}: {words}", *value.flatten().tolist(), spectral_norm(value)] for words, value in named.items()]


ITEMS: tuple[Builder, ...] = (gru_mixture, gru_by_hand, reset_after_or_before, gru_carry)
