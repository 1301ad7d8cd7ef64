"""The arithmetic of one cell in words: `0.672 = -0.579*0.6 + 1.06*0.9 + 0.650*0.1`.

The numbers are those of the pass: what really entered the layer, and its parameters. What is shown with three digits
was computed with all. Start with `Ledger.explain`; how recurrent cells are written is in `recurrent_words.py`.
"""

from collections.abc import Callable, Mapping

from clew.errors import LedgerError, complain, did_you_mean
from clew.ledger.arithmetic import applied, bracketed, digits, equals, sum_words
from clew.ledger.cell import Cell, numbers
from clew.ledger.quantity import Quantity
from clew.ledger.reading import PassReader
from clew.ledger.recurrent_words import GATES, recurrent_words

_SHORT_AXES = {"row": "batch", "step": "time", "head": "heads"}


def explain_cell(reader: PassReader, name: str, places: Mapping[str, int]) -> str:
    """Write how one number of the last pass was computed, a line for each step of the computation.

    Args:
        reader: The pass.
        name: Of the quantity.
        places: An index for each axis, by the axis's name or as row, step and head; an axis of one place needs none.

    Raises:
        LedgerError: If there is no such quantity, axis or place, or an axis has no index.
    """
    known = reader.index()
    if name not in known:
        remedy = did_you_mean(name, known)
        raise LedgerError(complain("ledger", "name", "that of a recorded quantity", f"'{name}'", remedy))
    quantity = reader.quantity(name)
    index = cell_index(quantity, places)
    rules = [rule for rule, hidden in quantity.hidden_by.items() if hidden.expand(quantity.shape)[index]]
    if rules:
        return f"hidden by {' and '.join(rules)}"
    cell = Cell.find(reader, name, index)
    value = float(quantity.value[index])
    if cell is None:
        return f"{digits(value)}, at padding"
    return words_of(cell) or f"{digits(value)}: {quantity.equation}"


def cell_index(quantity: Quantity, places: Mapping[str, int]) -> tuple[int, ...]:
    """Turn places by name into an index.

    Raises:
        LedgerError: If an axis is unknown or left out, or a place is outside it.
    """
    quantity.at(**places)
    chosen: dict[int, int] = {}
    for name, place in places.items():
        axis = quantity.axes.index(name if name in quantity.axes else _SHORT_AXES[name])
        chosen[axis] = place % quantity.shape[axis]
    missing = [axis for place, axis in enumerate(quantity.axes) if place not in chosen and quantity.shape[place] > 1]
    if missing:
        rule = f"given for each of {', '.join(quantity.axes)}"
        got = f"none for {', '.join(missing)}"
        raise LedgerError(complain(quantity.name, "places", rule, got, f"Add {missing[0]}=0, for example."))
    return tuple(chosen.get(place, 0) for place in range(len(quantity.shape)))


def words_of(cell: Cell) -> str:
    """Write the arithmetic of a cell; empty where its equation says all there is."""
    if type(cell.layer).__name__ in GATES and not cell.part:
        return recurrent_words(cell)
    for kind in type(cell.layer).__mro__:
        write = _WRITERS.get((kind.__name__, cell.key))
        if write is not None:
            return write(cell)
    return ""


def _linear(cell: Cell) -> str:
    *front, feature = cell.index
    row, weight = numbers(cell.input("rows")[tuple(front)]), numbers(cell.weight("weight")[feature])
    bias = [] if cell.layer.bias is None else [(cell.weight("bias")[feature].item(),)]
    return equals(cell.value, sum_words([*zip(row, weight, strict=True), *bias]))


def _through(layer: str, offset: Callable[[Cell], int] | None = None) -> Callable[[Cell], str]:
    """Write a cell of a layer inside: the affine map that a quantity is a part of."""

    def write(cell: Cell) -> str:
        inner = cell.address(f"{layer}.output")
        index = cell.index if offset is None else (cell.index[0], cell.index[2], offset(cell))
        found = Cell.find(cell.reader, inner, index)
        return "" if found is None else words_of(found)

    return write


def _feature_of(part: int) -> Callable[[Cell], int]:
    """Where a feature of a head's query (0), key (1) or value (2) stands in the one map of all heads."""

    def place(cell: Cell) -> int:
        layer = cell.layer
        width = layer.value_dim if part == 2 else layer.head_dim
        return part * layer.heads * layer.head_dim + cell.index[1] * width + cell.index[3]

    return place


def _score(cell: Cell) -> str:
    batch, head, query, source = cell.index
    asked, offered = cell.of("query")[batch, head, query], cell.of("key")[batch, head, source]
    return equals(cell.value, sum_words(list(zip(numbers(asked), numbers(offered), strict=True))))


def _scaled_score(cell: Cell) -> str:
    return equals(cell.value, f"{digits(cell.of('scores')[cell.index].item())} / sqrt({cell.layer.head_dim})")


def _weight(cell: Cell) -> str:
    batch, head, query, _ = cell.index
    scores = numbers(cell.of("scaled_scores")[batch, head, query])
    visible = cell.facts["visible"]
    if visible is not None:
        seen = (visible if visible.ndim == 2 else visible[batch])[query].tolist()
        scores = [score for score, is_seen in zip(scores, seen, strict=True) if is_seen]
    own = cell.of("scaled_scores")[cell.index].item()
    return equals(cell.value, f"{applied('exp', own)} / ({_listed([applied('exp', score) for score in scores])})")


def _context(cell: Cell) -> str:
    batch, head, query, feature = cell.index
    columns = [numbers(cell.of("weights")[batch, head, query])]
    columns += [numbers(cell.of("factor")[batch, head, query])] if cell.facts["factor"] is not None else []
    columns.append(numbers(cell.of("value")[batch, head, :, feature]))
    return equals(cell.value, sum_words(list(zip(*columns, strict=True))))


def _joined(cell: Cell) -> str:
    batch, query, feature = cell.index
    head, place = divmod(feature, cell.layer.value_dim)
    inner = Cell.find(cell.reader, cell.address("context"), (batch, head, query, place))
    return "" if inner is None else f"{words_of(inner)}    (feature {place} of head {head})"


def _norm_mean(cell: Cell) -> str:
    row = numbers(cell.input("rows")[cell.index[:-1]])
    return equals(cell.value, f"({sum_words([(number,) for number in row])}) / {len(row)}")


def _norm_variance(cell: Cell) -> str:
    row = numbers(cell.input("rows")[cell.index[:-1]])
    mean = cell.of("mean")[(*cell.index[:-1], 0)].item()
    squares = [f"({_minus(number, mean)})^2" for number in row]
    return equals(cell.value, f"({_listed(squares)}) / {len(row)}")


def _normalized(cell: Cell) -> str:
    mean, variance = (cell.of(name)[(*cell.index[:-1], 0)].item() for name in ("mean", "variance"))
    own = cell.input("rows")[cell.index].item()
    return equals(cell.value, f"({_minus(own, mean)}) / sqrt({digits(variance)} + {digits(cell.layer.epsilon)})")


def _norm_output(cell: Cell) -> str:
    gamma, beta = (cell.weight(name)[cell.index[-1]].item() for name in ("weight", "bias"))
    return equals(cell.value, sum_words([(gamma, cell.of("normalized")[cell.index].item()), (beta,)]))


def _residual(cell: Cell) -> str:
    parts = [(cell.input(name)[cell.index].item(),) for name in ("bypass", "branch")]
    return equals(cell.value, sum_words(parts))


def _hidden(cell: Cell) -> str:
    return equals(cell.value, applied(cell.layer.activation.name, cell.of("preactivation")[cell.index].item()))


def _embedded(cell: Cell) -> str:
    *front, feature = cell.index
    row = int(cell.input("ids")[tuple(front)])
    return equals(cell.value, f"E[{row}, {feature}], feature {feature} of row {row} of the table")


def _positioned(cell: Cell) -> str:
    vector = cell.of("vectors")[cell.index if cell.of("vectors").ndim == 3 else cell.index[1:]].item()
    return equals(cell.value, sum_words([(cell.input("rows")[cell.index].item(),), (vector,)]))


def _mean_pooled(cell: Cell) -> str:
    row, feature = cell.index
    valid = cell.facts["valid"]
    column = cell.input("rows")[row, :, feature]
    found = numbers(column if valid is None else column[valid[row]])
    return equals(cell.value, f"({sum_words([(number,) for number in found])}) / {len(found)}")


def _probability(cell: Cell) -> str:
    *front, _ = cell.index
    scores = numbers(cell.of("logits")[tuple(front)])
    total = _listed([applied("exp", score) for score in scores])
    return equals(cell.value, f"{applied('exp', cell.of('logits')[cell.index].item())} / ({total})")


def _position_loss(cell: Cell) -> str:
    scored = cell.facts["scored"]
    if scored is not None and not scored[cell.index]:
        return "0: no target is scored here"
    target = int(cell.facts["targets"][cell.index])
    return equals(cell.value, f"-log({digits(cell.of('probabilities')[(*cell.index, target)].item())})")


def _loss(cell: Cell) -> str:
    scored, losses = cell.facts["scored"], cell.of("per_position")
    found = numbers(losses.flatten() if scored is None else losses[scored])
    return equals(cell.value, f"({sum_words([(number,) for number in found])}) / {len(found)}")


def _minus(number: float, less: float) -> str:
    return f"{digits(number)} - {bracketed(less)}"


def _listed(parts: list[str], most: int = 12) -> str:
    if len(parts) <= most:
        return " + ".join(parts)
    half = most // 2
    return " + ".join([*parts[:half], f"[{len(parts) - 2 * half} more]", *parts[-half:]])


_WRITERS: dict[tuple[str, str], Callable[[Cell], str]] = {
    ("Linear", "output"): _linear,
    ("MultiHeadAttention", "query"): _through("input_map", _feature_of(0)),
    ("MultiHeadAttention", "key"): _through("input_map", _feature_of(1)),
    ("MultiHeadAttention", "value"): _through("input_map", _feature_of(2)),
    ("MultiHeadAttention", "scores"): _score,
    ("MultiHeadAttention", "scaled_scores"): _scaled_score,
    ("MultiHeadAttention", "weights"): _weight,
    ("MultiHeadAttention", "context"): _context,
    ("MultiHeadAttention", "joined"): _joined,
    ("LayerNorm", "mean"): _norm_mean,
    ("LayerNorm", "variance"): _norm_variance,
    ("LayerNorm", "normalized"): _normalized,
    ("LayerNorm", "output"): _norm_output,
    ("TransformerBlock", "attention_branch"): _through("attention.output_map"),
    ("TransformerBlock", "attention_sum"): _residual,
    ("TransformerBlock", "mlp_branch"): _through("mlp.output_map"),
    ("TransformerBlock", "mlp_sum"): _residual,
    ("MLP", "preactivation"): _through("hidden_map"),
    ("MLP", "hidden"): _hidden,
    ("Embedding", "output"): _embedded,
    ("Positions", "output"): _positioned,
    ("MeanHead", "pooled"): _mean_pooled,
    ("TokenLoss", "probabilities"): _probability,
    ("TokenLoss", "per_position"): _position_loss,
    ("TokenLoss", "loss"): _loss,
}
