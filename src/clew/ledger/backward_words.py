"""The arithmetic of one sensitivity in words: what the quantities behind it send back to this number.

    -0.0326 = -0.0341 + 0.00145     the parts of a state's: direct, and later
    0.0124 = 0.353*(0.021 - 0.0012) the slope of a softmax

Only one step of the chain rule is written: from the sensitivities of what was computed from the number to its own.
Start with `explain_sensitivity`; a quantity that no rule knows has no words.
"""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from clew.ledger.arithmetic import Term, bracketed, digits, equals, sum_words
from clew.ledger.cell import Cell, numbers
from clew.ledger.reading import PassReader
from clew.ledger.recurrent_words import GATES, gate_sums, total_of
from clew.ledger.words import cell_index


def explain_sensitivity(reader: PassReader, name: str, places: Mapping[str, int]) -> str:
    """Write how one sensitivity follows from those of the numbers that were computed from this one.

    Args:
        reader: The pass.
        name: Of the quantity.
        places: An index for each axis, as for `Ledger.explain`.

    Returns:
        The arithmetic; empty where there is no backward pass, a rule hides the number, or no rule knows its quantity.

    Raises:
        LedgerError: If there is no such quantity, axis or place, or an axis has no index.
    """
    quantity = reader.quantity(name)
    index = cell_index(quantity, places)
    if not quantity.has_sensitivity or any(
        where.expand(quantity.shape)[index] for where in quantity.hidden_by.values()
    ):
        return ""
    if quantity.terms:
        return equals(
            quantity.sensitivity[index].item(), _sum([(part[index].item(),) for part in quantity.terms.values()])
        )
    cell = Cell.find(reader, name, index)
    return "" if cell is None else _words_of(_Sensed(cell))


class _Sensed:
    """One number of a pass, and the sensitivities of everything in its layer."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.index = cell.index
        self.layer = cell.layer
        found = cell.reader.sensitivities(cell.recorded)
        self._found: Mapping[str, Tensor] = {} if found is None else found.quantities

    def back(self, key: str) -> Tensor:
        """Give the sensitivity of another quantity of the border."""
        return self._found[key]

    @property
    def own(self) -> float:
        """The sensitivity of the number itself."""
        return self._found[self.cell.key][self.index].item()

    def at(self, key: str) -> float:
        """Give another value at the same index."""
        return self.cell.of(key)[self.index].item()

    def sum(self, *columns: Tensor) -> str:
        """Write it as a sum of products of vectors."""
        return equals(self.own, _sum(list(zip(*map(numbers, columns), strict=True))))

    def product(self, *factors: float) -> str:
        """Write it as a product."""
        return equals(self.own, _sum([factors]))


_Rule = Callable[[_Sensed], str]


def _sum(terms: Sequence[Term]) -> str:
    """Write a sum of products; what is multiplied by zero is left out."""
    return sum_words([term for term in terms if 0.0 not in term] or [(0.0,)])


def _words_of(one: _Sensed) -> str:
    if one.cell.part == "" or one.cell.key.endswith("_branch"):
        for kind in type(one.layer).__mro__:
            rule = _RULES.get((kind.__name__, one.cell.key))
            if rule is not None:
                return rule(one)
    return _through_reader(one)


def _mixing(one: _Sensed) -> Tensor:
    """Give the weights that mixed the values: after dropout, where there was any."""
    weights = one.cell.of("weights")
    return weights if one.cell.facts["factor"] is None else weights * one.cell.of("factor")


def _attention_weight(one: _Sensed) -> str:
    batch, head, query, source = one.index
    columns = [one.back("context")[batch, head, query], one.cell.of("value")[batch, head, source]]
    if one.cell.facts["factor"] is not None:
        columns.append(one.cell.of("factor")[one.index].expand(len(columns[0])))
    return one.sum(*columns)


def _scaled_score(one: _Sensed) -> str:
    batch, head, query, _ = one.index
    weights, back = one.cell.of("weights")[batch, head, query], one.back("weights")[batch, head, query]
    mean, own = (weights * back).sum().item(), one.back("weights")[one.index].item()
    slope = f"{digits(one.at('weights'))}*({digits(own)} - {bracketed(mean)})"
    return f"{equals(one.own, slope)}\n{equals(mean, _sum(list(zip(numbers(weights), numbers(back), strict=True))))}"


def _score(one: _Sensed) -> str:
    return equals(one.own, f"{digits(one.back('scaled_scores')[one.index].item())} / sqrt({one.layer.head_dim})")


def _query(one: _Sensed) -> str:
    batch, head, query, feature = one.index
    return one.sum(one.back("scores")[batch, head, query], one.cell.of("key")[batch, head, :, feature])


def _key(one: _Sensed) -> str:
    batch, head, source, feature = one.index
    return one.sum(one.back("scores")[batch, head, :, source], one.cell.of("query")[batch, head, :, feature])


def _value(one: _Sensed) -> str:
    batch, head, source, feature = one.index
    return one.sum(one.back("context")[batch, head, :, feature], _mixing(one)[batch, head, :, source])


def _context(one: _Sensed) -> str:
    _, head, _, feature = one.index
    return f"{digits(one.own)}, that of feature {head * one.layer.value_dim + feature} of what is joined"


def _into(layer: str) -> _Rule:
    """Write a number that one affine map inside the layer reads."""

    def write(one: _Sensed) -> str:
        *front, feature = one.index
        name = one.cell.address(f"{layer}.output")
        back, weight = one.cell.reader.quantity(name).sensitivity, one.cell.reader.index()[name][0].weights["weight"]
        return one.sum(back[tuple(front)], weight[:, feature])

    return write


def _activated(key: str) -> _Rule:
    """Write a number that goes through the layer's activation only."""

    def write(one: _Sensed) -> str:
        slope = one.layer.activation.slope(one.cell.of(one.cell.key)[one.index], one.cell.of(key)[one.index])
        return one.product(one.back(key)[one.index].item(), slope.item())

    return write


def _normalized(one: _Sensed) -> str:
    return one.product(one.back("output")[one.index].item(), one.cell.weight("weight")[one.index[-1]].item())


def _branch(one: _Sensed) -> str:
    return f"{digits(one.own)}, that of the sum"


def _scored_targets(one: _Sensed) -> int:
    scored = one.cell.facts["scored"]
    return one.cell.facts["targets"].numel() if scored is None else int(scored.sum())


def _logit(one: _Sensed) -> str:
    *front, number = one.index
    scored, targets = one.cell.facts["scored"], one.cell.facts["targets"]
    if scored is not None and not scored[tuple(front)]:
        return "0: no target is scored here"
    is_target = int(targets[tuple(front)]) == number
    return equals(one.own, f"({digits(one.at('probabilities'))} - {int(is_target)}) / {_scored_targets(one)}")


def _probability(one: _Sensed) -> str:
    *front, number = one.index
    scored, targets = one.cell.facts["scored"], one.cell.facts["targets"]
    if (scored is not None and not scored[tuple(front)]) or int(targets[tuple(front)]) != number:
        return "0: the loss reads the probability of the target only"
    return equals(one.own, f"-1 / ({digits(one.at('probabilities'))}*{_scored_targets(one)})")


def _position_loss(one: _Sensed) -> str:
    return equals(one.own, f"1 / {_scored_targets(one)}")


def _gru_update(one: _Sensed) -> str:
    before = one.cell.input("state_before")[one.index].item()
    back = one.back("state")[one.index].item()
    return equals(one.own, f"{digits(back)}*({digits(before)} - {bracketed(one.at('candidate'))})")


def _gru_candidate(one: _Sensed) -> str:
    return equals(one.own, f"{digits(one.back('state')[one.index].item())}*(1 - {digits(one.at('update_gate'))})")


def _gru_reset(one: _Sensed) -> str:
    """Write g_r = g_n (1 - n^2) q, where q is what the state brings to the candidate."""
    _, from_state = gate_sums(one.cell, GATES["GRULayer"].index("candidate"))
    back, candidate = one.back("candidate")[one.index].item(), one.at("candidate")
    slope = f"(1 - {bracketed(candidate)}^2)"
    words = equals(one.own, f"{digits(back)}*{slope}*{bracketed(total_of(from_state))}")
    return f"{words}\n{equals(total_of(from_state), sum_words(from_state))}"


def _lstm_output(one: _Sensed) -> str:
    return equals(one.own, f"{digits(one.back('state')[one.index].item())}*tanh({digits(one.at('cell'))})")


def _lstm_gate(other: str) -> _Rule:
    """Write a number that is multiplied by another one into the cell."""

    def write(one: _Sensed) -> str:
        factor = one.cell.input("cell_before")[one.index].item() if other == "cell_before" else one.at(other)
        return one.product(one.back("cell")[one.index].item(), factor)

    return write


def _through_reader(one: _Sensed) -> str:
    """Write a number that is handed on to a single reader: an affine map, a normalization, a sum, the loss."""
    real = one.cell.recorded.border.outputs.get(one.cell.key)
    readers = [] if real is None else list(one.cell.reader.readers_of(real))
    if len(readers) != 1:
        return ""
    ((read, entry),) = readers
    kind, found = type(read.border.layer).__name__, one.cell.reader.sensitivities(read)
    onward = _UNCHANGED.get((kind, entry), read.border.part if entry == "branch" else "")
    if onward:
        return f"{digits(one.own)}, that of {read.address(onward)}"
    if found is None or read.border.part:
        return ""
    *front, feature = one.index
    if kind == "Linear":
        back, weight = found.quantities["output"][tuple(front)], read.weights["weight"].detach()
        return one.sum(back, weight[:, feature])
    if kind == "LayerNorm":
        values = {key: value.detach()[tuple(front)] for key, value in one.cell.reader.explanation(read).values.items()}
        return _norm_input(one, found.quantities["output"][tuple(front)] * read.weights["weight"], values, feature)
    return ""


def _norm_input(one: _Sensed, back: Tensor, values: Mapping[str, Tensor], feature: int) -> str:
    """Write g_x = (g_n - mean(g_n) - n mean(g_n n)) / sqrt(sigma^2 + epsilon), where g_n = g_y gamma."""
    normalized = values["normalized"]
    mean, along = back.mean().item(), (back * normalized).mean().item()
    own, place = back[feature].item(), normalized[feature].item()
    above = f"{digits(own)} - {bracketed(mean)} - {bracketed(place)}*{bracketed(along)}"
    return equals(one.own, f"({above}) / {digits(values['variance'].item() ** 0.5)}")


_UNCHANGED = {("SinusoidalPositions", "rows"): "output", ("LearnedPositions", "rows"): "output"}
_UNCHANGED |= {("TokenLoss", "logits"): "logits"}
"""Readers that hand a sensitivity back as it is, and the quantity whose sensitivity that is."""
_RULES: dict[tuple[str, str], _Rule] = {
    ("MultiHeadAttention", "query"): _query,
    ("MultiHeadAttention", "key"): _key,
    ("MultiHeadAttention", "value"): _value,
    ("MultiHeadAttention", "scores"): _score,
    ("MultiHeadAttention", "scaled_scores"): _scaled_score,
    ("MultiHeadAttention", "weights"): _attention_weight,
    ("MultiHeadAttention", "context"): _context,
    ("MultiHeadAttention", "joined"): _into("output_map"),
    ("LayerNorm", "normalized"): _normalized,
    ("TransformerBlock", "attention_branch"): _branch,
    ("TransformerBlock", "mlp_branch"): _branch,
    ("MLP", "preactivation"): _activated("hidden"),
    ("MLP", "hidden"): _into("output_map"),
    ("RNNLayer", "preactivation"): _activated("state"),
    ("GRULayer", "update_gate"): _gru_update,
    ("GRULayer", "candidate"): _gru_candidate,
    ("GRULayer", "reset_gate"): _gru_reset,
    ("LSTMLayer", "output_gate"): _lstm_output,
    ("LSTMLayer", "forget_gate"): _lstm_gate("cell_before"),
    ("LSTMLayer", "input_gate"): _lstm_gate("cell_candidate"),
    ("LSTMLayer", "cell_candidate"): _lstm_gate("input_gate"),
    ("TokenLoss", "logits"): _logit,
    ("TokenLoss", "probabilities"): _probability,
    ("TokenLoss", "per_position"): _position_loss,
}
