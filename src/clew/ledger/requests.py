"""What is computed only when asked for, and only for the slice asked for: Jacobians, paths and single contributions.

Each function reads one call of a model; `Ledger` has a method of the same name.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from clew.errors import LedgerError, complain, did_you_mean
from clew.ledger import recurrence
from clew.ledger.description import Described
from clew.ledger.explanation import Explanation, Sensitivities, differentiate, standing_in
from clew.ledger.quantity import Quantity
from clew.ledger.reading import PassReader
from clew.ledger.recorder import Recorded
from clew.ledger.recording import Border
from clew.ledger.spectral import spectral_norms

PARAMETER_AXES = {
    "weight_ih": ("gates_hidden", "features"),
    "weight_hh": ("gates_hidden", "hidden"),
    "bias_ih": ("gates_hidden",),
    "bias_hh": ("gates_hidden",),
}
CARRYING_GATES = ("update_gate", "forget_gate")
POINTWISE_INPUTS = ("rows", "ids")
"""The one input of layers that treat every position alike and need nothing else: linear maps, norms and tables."""


def contributions(reader: PassReader, parameter: str, row: int | None) -> Quantity:
    """Give each position's contribution to the gradient of a shared parameter; see `Ledger.contributions`."""
    uses = _uses(reader, parameter)
    parts = []
    for one, name in uses:
        found = reader.sensitivities(one)
        if found is None:
            remedy = "Call loss.backward() first."
            rule = "asked for after a backward pass"
            raise LedgerError(complain(f"ledger: {parameter}", "contributions", rule, "none yet", remedy))
        batch = len(next(iter(one.border.outputs.values())))
        _require(parameter, "row", row, batch)
        rows = slice(None) if row is None else slice(row % batch, row % batch + 1)
        parts.append(_by_position(reader, one, name, found, rows))
    axes = PARAMETER_AXES.get(uses[0][1]) or (("outputs", "features")[2 - (parts[0].ndim - 1) :])
    equation = f"what position t adds to dL/d{parameter}; the sum over t is its gradient"
    return Quantity(f"{parameter}.contributions", torch.cat(parts), Described(("time", *axes), equation))


def jacobian(reader: PassReader, layer: str, row: int, step: int) -> Quantity:
    """Differentiate one step of a recurrent layer; see `Ledger.jacobian`."""
    one = _recurrent(reader, layer)
    row, (number,) = _row(one, row), _steps_read(one, row, step)
    value = recurrence.transition_jacobian(one.border, reader.explanation(one), row, number)
    state = " and ".join(one.border.layer.state_parts)
    equation = f"J_ij = d new_i / d old_j of {state}, the inputs held still"
    return Quantity(one.address("jacobian"), value, Described(("new_state", "old_state"), equation))


def path(reader: PassReader, layer: str, row: int, start: int, end: int) -> dict[str, Tensor]:
    """Multiply the Jacobians between two states; see `Ledger.path`."""
    one = _recurrent(reader, layer)
    row, (first, last) = _row(one, row), _steps_read(one, row, start, end)
    if first >= last:
        rule = "read before the end"
        raise LedgerError(complain(f"ledger: {layer}", "start", rule, f"start={start} and end={end}"))
    explanation = reader.explanation(one)
    stacked = recurrence.transition_jacobians(one.border, explanation, row, first + 1, last + 1)
    product = stacked[0]
    for later in stacked[1:]:
        product = later @ product
    norms = spectral_norms(stacked)
    found = {"jacobians": stacked, "product": product, "norms": norms, "bound": norms.prod()}
    found["norm"] = spectral_norms(product)
    for gate in CARRYING_GATES:
        if gate in explanation.values:
            found["carry"] = explanation.values[gate][row, first + 1 : last + 1].detach()
    sensitivities = reader.sensitivities(one)
    if sensitivities is not None:
        parts = [sensitivities.heads[part][row, last] for part in one.border.layer.state_parts]
        found["carried"] = torch.cat(parts) @ product
    return found


def sources(reader: PassReader, layer: str, row: int, query: int) -> Quantity:
    """Give each source's contribution to one query of an attention layer; see `Ledger.sources`."""
    one = _find(reader, layer, lambda border: "weights" in border.layer.described and not border.part, "attention")
    values = reader.explanation(one).values
    batch, _, queries, _ = values["weights"].shape
    _require(layer, "row", row, batch)
    _require(layer, "query", query, queries)
    mixing = values["weights"].detach()[row, :, query]
    if "factor" in values:
        mixing = mixing * values["factor"].detach()[row, :, query]
    value = mixing.unsqueeze(-1) * values["value"].detach()[row]
    shape = values["weights"].shape
    hidden_by = {
        rule: cells.expand(shape)[row, :, query].unsqueeze(-1).expand(value.shape)
        for rule, cells in reader.hidden_by(one, "weights").items()
    }
    factor = " m_qs" if "factor" in values else ""
    described = Described(("heads", "source", "value_dim"), f"A_qs{factor} v_s; the sum over s is C_q")
    return Quantity(one.address("sources"), value, described, hidden_by)


def _uses(reader: PassReader, parameter: str) -> list[tuple[Recorded, str]]:
    """Find the borders that use a parameter at positions, and its name in their layer."""
    known = {name: number for number, name in reader.recorder.parameter_names.items()}
    if parameter not in known:
        remedy = did_you_mean(parameter, known)
        raise LedgerError(complain("ledger", "parameter", "one of the recorded model", f"'{parameter}'", remedy))
    uses = [
        (one, name)
        for one in reader.recorded
        for name in one.weights
        if id(getattr(one.border.layer, name)) == known[parameter]
    ]
    if not uses:
        raise LedgerError(complain(f"ledger: {parameter}", "parameter", "used in this call", "no use"))
    for one, _ in uses:
        shape = next(iter(one.border.outputs.values())).shape
        if len(shape) < 3:
            rule = "used at several positions of a row"
            got = f"a use on {tuple(shape)}"
            raise LedgerError(complain(f"ledger: {parameter}", "parameter", rule, got, "Read its .grad instead."))
    return uses


def _by_position(reader: PassReader, one: Recorded, name: str, found: Sensitivities, rows: slice) -> Tensor:
    """Differentiate the layer's equations with the sensitivities of one position at a time."""
    explanation, border = reader.explanation(one), one.border
    if recurrence.is_recurrence(border):
        return _by_step(reader, one, name, found, rows)
    time = next(iter(found.heads.values())).shape[1] if found.heads else 0
    is_pointwise = not border.part and len(explanation.leaves) == 1 and not border.facts
    if is_pointwise and next(iter(explanation.leaves)) in POINTWISE_INPUTS:
        return torch.stack([_at_position(one, explanation, name, found, rows, step) for step in range(time)])
    parts = []
    for step in range(time):
        heads = {key: torch.zeros_like(at) for key, at in found.heads.items()}
        for key, at in found.heads.items():
            heads[key][rows, step] = at[rows, step]
        parts += differentiate(explanation.values, heads, [explanation.weights[name]])
    return torch.stack(parts)


def _at_position(
    one: Recorded, explanation: Explanation, name: str, found: Sensitivities, rows: slice, step: int
) -> Tensor:
    border, weights = one.border, explanation.weights
    leaves = {key: leaf.detach()[rows, step] for key, leaf in explanation.leaves.items()}
    with torch.enable_grad(), standing_in(border, weights):
        values = border.layer.named(border.part, leaves, border.facts)
    heads = {key: at[rows, step] for key, at in found.heads.items()}
    return differentiate(values, heads, [weights[name]])[0]


def _by_step(reader: PassReader, one: Recorded, name: str, found: Sensitivities, rows: slice) -> Tensor:
    """Apply the step of each position by itself, after all has been put back to its place.

    Every position gets its own use of the parameter; all are differentiated together.
    """
    explanation, layer = reader.explanation(one), one.border.layer
    inputs = reader.placed(one, explanation.leaves["inputs"].detach())[rows]
    before = [reader.placed(one, explanation.leaves[f"{p}_before"].detach())[rows] for p in layer.state_parts]
    heads = {part: reader.placed(one, at)[rows].transpose(0, 1) for part, at in found.heads.items()}
    weight = explanation.weights[name].detach()
    uses = weight.expand(inputs.shape[1], *weight.shape).requires_grad_()

    def at_position(use: Tensor, observed: Tensor, *states: Tensor) -> dict[str, Tensor]:
        with standing_in(one.border, {**explanation.weights, name: use}):
            named = layer.step(layer.project(observed), states)._asdict()
        return {part: named[part] for part in heads}

    with torch.enable_grad():
        values = torch.func.vmap(at_position, in_dims=(0, *[1] * (1 + len(before))))(uses, inputs, *before)
    return differentiate(values, heads, [uses])[0]


def _recurrent(reader: PassReader, layer: str) -> Recorded:
    return _find(reader, layer, recurrence.is_recurrence, "recurrent")


def _find(reader: PassReader, layer: str, fits: Callable[[Border], bool], kind: str) -> Recorded:
    """Find a layer of a kind by its name."""
    fitting = {one.name: one for one in reader.recorded if fits(one.border)}
    if layer in fitting:
        return fitting[layer]
    remedy = _known(layer, fitting) if fitting else f"The model has no {kind} layer."
    raise LedgerError(complain("ledger", "layer", f"a recorded {kind} one", f"'{layer}'", remedy))


def _known(layer: str, fitting: Iterable[str]) -> str:
    names = list(fitting)
    return "The recorded layer stands alone: its name is ''." if names == [""] else did_you_mean(layer, names)


def _row(one: Recorded, row: int) -> int:
    batch = len(one.border.outputs["state"])
    _require(one.name or "layer", "row", row, batch)
    return row % batch


def _steps_read(one: Recorded, row: int, *steps: int) -> list[int]:
    """Say when the layer read the steps that stand at some places of a row."""
    states = one.border.outputs["state"]
    batch, longest, _ = states.shape
    place = one.border.facts.get("place")
    numbers = torch.arange(1, longest + 1, device=states.device, dtype=torch.float64).expand(batch, longest)
    placed = numbers if place is None else place(numbers.unsqueeze(-1)).squeeze(-1)
    read = []
    for step in steps:
        _require(one.name or "layer", "step", step, placed.shape[1])
        number = int(placed[row, step])
        if number == 0:
            raise LedgerError(complain(f"ledger: {one.name}", "step", "a valid one", f"padding at {step}"))
        read.append(number - 1)
    return read


def _require(where: str, what: str, place: int | None, size: int) -> None:
    if place is not None and not -size <= place < size:
        raise LedgerError(complain(f"ledger: {where}", what, f"in [0, {size})", place))
