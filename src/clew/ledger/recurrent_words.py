"""The arithmetic of one cell of a recurrent layer, a line for each step: a gate, the sum inside it, a state."""

from clew.ledger.arithmetic import Term, applied, bracketed, digits, equals, sum_words
from clew.ledger.cell import Cell, numbers

GATES: dict[str, tuple[str, ...]] = {
    "RNNLayer": ("preactivation",),
    "GRULayer": ("reset_gate", "update_gate", "candidate"),
    "LSTMLayer": ("input_gate", "forget_gate", "cell_candidate", "output_gate"),
}
"""Quantities of each kind of layer that are functions of a sum of products, in the order of the weights' rows."""


def recurrent_words(cell: Cell) -> str:
    """Write a cell of a simple RNN, GRU or LSTM."""
    gates = GATES[type(cell.layer).__name__]
    if cell.key in gates:
        return _gate(cell, gates.index(cell.key))
    return {"RNNLayer": _rnn_state, "GRULayer": _gru_state, "LSTMLayer": _lstm_state}[type(cell.layer).__name__](cell)


def _gate(cell: Cell, place: int) -> str:
    from_inputs, from_state = gate_sums(cell, place)
    if cell.key == "preactivation":
        return equals(cell.value, sum_words([*from_inputs, *from_state]))
    if cell.key == "candidate":
        return _gru_candidate(cell, from_inputs, from_state)
    terms = [*from_inputs, *from_state]
    function = "tanh" if cell.key == "cell_candidate" else "sigmoid"
    inside = total_of(terms)
    return f"{equals(cell.value, applied(function, inside))}\n{equals(inside, sum_words(terms))}"


def _gru_candidate(cell: Cell, from_inputs: list[Term], from_state: list[Term]) -> str:
    """Write n = tanh(x part + r * (h part))."""
    own, recurrent, reset = total_of(from_inputs), total_of(from_state), _at(cell, "reset_gate")
    outer = equals(cell.value, f"tanh({sum_words([(own,), (reset, recurrent)])})")
    return "\n".join([outer, equals(own, sum_words(from_inputs)), equals(recurrent, sum_words(from_state))])


def _rnn_state(cell: Cell) -> str:
    return equals(cell.value, applied(cell.layer.activation.name, _at(cell, "preactivation")))


def _gru_state(cell: Cell) -> str:
    update, candidate = _at(cell, "update_gate"), _at(cell, "candidate")
    before = cell.input("state_before")[cell.index].item()
    return equals(cell.value, f"{digits(update)}*{bracketed(before)} + (1 - {digits(update)})*{bracketed(candidate)}")


def _lstm_state(cell: Cell) -> str:
    if cell.key == "state":
        return equals(cell.value, f"{digits(_at(cell, 'output_gate'))}*{applied('tanh', _at(cell, 'cell'))}")
    kept = (_at(cell, "forget_gate"), cell.input("cell_before")[cell.index].item())
    written = (_at(cell, "input_gate"), _at(cell, "cell_candidate"))
    return equals(cell.value, sum_words([kept, written]))


def gate_sums(cell: Cell, gate: int) -> tuple[list[Term], list[Term]]:
    """Give the terms of a gate's preactivation: from the inputs and from the state before, each with its bias."""
    batch, step, unit = cell.index
    row = gate * cell.layer.hidden + unit

    def terms(read: list[float], weight: list[float], bias: float) -> list[Term]:
        return [*zip(read, weight, strict=True), (bias,)]

    inputs, before = numbers(cell.input("inputs")[batch, step]), numbers(cell.input("state_before")[batch, step])
    from_inputs = terms(inputs, numbers(cell.weight("weight_ih")[row]), cell.weight("bias_ih")[row].item())
    return from_inputs, terms(before, numbers(cell.weight("weight_hh")[row]), cell.weight("bias_hh")[row].item())


def total_of(terms: list[Term]) -> float:
    """Sum the products."""
    return sum(term[0] if len(term) == 1 else term[0] * term[1] for term in terms)


def _at(cell: Cell, key: str) -> float:
    return cell.of(key)[cell.index].item()
