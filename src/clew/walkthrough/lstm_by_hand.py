"""The LSTM in numbers: every gate of a small cell, its storage beside its state, and what the storage carries."""

import torch

from clew.layers import GRULayer, LSTMLayer, RecurrentLayer, RNNLayer
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.matrix_paths import jacobian, spectral_norm
from clew.walkthrough.unrolled import Unrolled, rows_of, unroll, with_weights
from clew.walkthrough.vector_rnn import TWO_INPUTS

# Gate by gate, two rows each: input, forget, candidate, output.
INPUT_WEIGHTS = ((0.5, -0.3), (0.2, 0.8), (-0.4, 0.6), (0.7, 0.1), (0.9, -0.5), (-0.2, 0.6), (0.3, 0.4), (-0.6, 0.2))
RECURRENT_WEIGHTS = ((0.4, 0.1), (-0.3, 0.5), (0.2, -0.6), (0.3, 0.4), (0.8, -0.7), (0.5, 0.9), (-0.1, 0.6), (0.7, 0.2))
BIASES = (0.1, -0.1, 0.9, 1.2, 0.05, -0.05, 0.2, 0.0)
HIDDEN = 2

CHOSEN = (
    "Two inputs, two coordinates, torch.nn's order of gates (input, forget, candidate, output), both states zero at "
    f"first, chosen here: W_x = {INPUT_WEIGHTS}, W_h = {RECURRENT_WEIGHTS}, b = {BIASES}; torch.nn's two biases are "
    "one here."
)


def small_lstm_steps() -> Unrolled:
    """Run the small LSTM over the three inputs of the text's PyTorch example."""
    layer = LSTMLayer(2, HIDDEN)
    with_weights(layer, weight_ih=INPUT_WEIGHTS, weight_hh=RECURRENT_WEIGHTS, bias_ih=BIASES)
    return unroll(layer, rows_of(TWO_INPUTS))


def lstm_by_hand() -> Item:
    """List every gate, candidate, storage and state of the small LSTM."""
    rows: list[list[Cell]] = []
    for step, taken in enumerate(small_lstm_steps().quantities):
        named = taken._asdict().items()
        rows += [[f"step {step}: {name.replace('_', ' ')}", *value[0].tolist()] for name, value in named]
    notes = [CHOSEN, "c' = f c + i g is stored; h' = o tanh(c') is what heads and the next gates read."]
    columns = ["Quantity", "coordinate 0", "coordinate 1"]
    title = "A small LSTM, every gate"
    return Item(id_of(lstm_by_hand), title, "Formula: LSTM gates and storage", columns, rows, notes)


def lstm_carry() -> Item:
    """Set the products of forget gates beside the derivative of the storage over one, two and three steps."""
    steps = small_lstm_steps()
    first_cell = steps.initial[1]
    carry = torch.eye(HIDDEN, dtype=torch.float64)
    rows: list[list[Cell]] = []
    for step, taken in enumerate(steps.quantities):
        carry = torch.diag(taken.forget_gate[0]) @ carry
        whole = jacobian(taken.cell, first_cell)
        named = {"forget gates": carry, "full": whole, "through the state": whole - carry}
        for words, value in named.items():
            rows.append([f"dc_{step}/dc_-1: {words}", *value.flatten().tolist(), spectral_norm(value)])
    notes = [
        CHOSEN,
        "Over one step the storage depends on its past through the forget gate alone. Over more steps the state that "
        "it showed has moved later gates too, and those paths add to the product of forget gates.",
    ]
    columns = ["Derivative of the storage", "0,0", "0,1", "1,0", "1,1", "Spectral norm"]
    title = "What an LSTM's storage carries, beside the full derivative"
    return Item(id_of(lstm_carry), title, "Formula: LSTM direct carry", columns, rows, notes)


def recurrent_cells() -> Item:
    """Compare what the three cells carry between positions, and how they change it."""
    cells: dict[str, tuple[RecurrentLayer, str, str]] = {
        "Simple RNN": (RNNLayer(2, HIDDEN), "h_t", "an affine map, then an activation"),
        "GRU": (GRULayer(2, HIDDEN), "h_t", "a learned mixture of old state and candidate, by coordinate"),
        "LSTM": (LSTMLayer(2, HIDDEN), "(c_t, h_t)", "storage is kept, written and shown by gates of its own"),
    }
    rows: list[list[Cell]] = []
    for name, (layer, carried, words) in cells.items():
        _, final = layer(torch.zeros(1, 1, 2))
        numbers = sum(part.shape[1] for part in final)
        rows.append([name, carried, words, numbers, sum(parameter.numel() for parameter in layer.parameters())])
    notes = ["The last columns are for two inputs and two coordinates, torch.nn's two biases included."]
    columns = ["Cell", "Carried between positions", "How it changes", "Numbers carried", "Parameters"]
    return Item(id_of(recurrent_cells), "Routes by which memory is kept", "Table 6", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (lstm_by_hand, lstm_carry, recurrent_cells)
