"""Reads one recorded call of a model: quantities, their sensitivities and terms, and the distances to what ran.

Everything is computed when asked for and kept with the border. A real tensor that several layers read is a junction:
the parts that they send back are told apart here; what the caller's own loss sends is the part "outside the model".
"""

from collections.abc import Iterator, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from clew.ledger import recurrence
from clew.ledger.description import Described
from clew.ledger.explanation import Explanation, Sensitivities, explain, explain_backward, is_differentiated
from clew.ledger.quantity import Quantity
from clew.ledger.recorder import Pass, Recorded, Recorder
from clew.ledger.verification import EPSILONS, Distance, is_finite, measure, require_agreement, size_of

UNTRACKED = "none, as it was computed without gradients. Record outside torch.no_grad(), with weights that require them"
CONSTANT = "none for whole numbers"
FIXED = "none for a fixed table"


class PassReader:
    """The inside of one call of a model."""

    def __init__(self, recorder: Recorder, one: Pass) -> None:
        self.recorder = recorder
        self.recorded = one.recorded
        self._index: dict[str, tuple[Recorded, str, Described]] = {}
        self._indexed = 0

    def quantities(self) -> dict[str, Quantity]:
        """Give all quantities by name, in the order of computation."""
        return {name: self.quantity(name) for name in self.index()}

    def index(self) -> dict[str, tuple[Recorded, str, Described]]:
        """Say for each name which border has it, and as what."""
        for one in self.recorded[self._indexed :]:
            for key, described in one.border.layer.described.items():
                if key in self.explanation(one).values:
                    self._index[one.address(key)] = (one, key, described)
        self._indexed = len(self.recorded)
        return self._index

    def quantity(self, name: str) -> Quantity:
        """Give the quantity of a known name."""
        one, key, described = self.index()[name]
        return Quantity(
            name,
            self.value(one, key),
            described,
            self.hidden_by(one, key),
            partial(self._sensitivity, one, key),
            partial(self._terms, one, key),
            self._never(one, key),
        )

    def value(self, one: Recorded, key: str) -> Tensor:
        """Give what really came out, or else the explained value; in the order of the rows that went in."""
        explained, real = self.explanation(one).values[key].detach(), one.border.outputs.get(key)
        filled = one.border.facts.get("filled")
        if real is not None:
            real = recurrence.stand_in(real)
            explained = real if filled is None else torch.where(filled, real, explained)
        return self.placed(one, explained)

    def placed(self, one: Recorded, values: Tensor) -> Tensor:
        """Put what a recurrent layer read in its own order back to its place."""
        place = one.border.facts.get("place")
        return values if place is None else place(values)

    def explanation(self, one: Recorded) -> Explanation:
        """Explain a border, once."""
        if one.explanation is None:
            run = recurrence.explain_recurrence if recurrence.is_recurrence(one.border) else explain
            one.explanation = run(one.border, one.weights)
        return one.explanation

    def sensitivities(self, one: Recorded) -> Sensitivities | None:
        """Explain the backward pass of a border and compare it with the real one, anew after each backward pass.

        Raises:
            LedgerError: If the explanation does not agree with what really ran.
        """
        found = self._explained_backward(one)
        if found is not None and one.verified != self.recorder.heard:
            require_agreement(self._backward_distances(one, found))
            one.verified = self.recorder.heard
        return found

    def distances(self) -> list[Distance]:
        """Compare with what really ran: outputs, then what each border sent back to inputs and weights."""
        found = [distance for one in self.recorded for distance in self._forward_distances(one)]
        for one in reversed(self.recorded):
            sensitivities = self._explained_backward(one)
            if sensitivities is not None:
                found += self._backward_distances(one, sensitivities)
        return found

    def hidden_by(self, one: Recorded, key: str) -> Mapping[str, Tensor]:
        """Which rule hid which cell: as the encoder around the layer said, or else simply "mask"."""
        if key not in ("scores", "scaled_scores", "weights"):
            return {}
        before = self.recorded[: self.recorded.index(one)]
        told = [known for known in before if "rules" in known.border.facts and _is_within(one.name, known.name)]
        visible = one.border.facts.get("visible")
        rules = {"mask": ~visible} if visible is not None and not told else {}
        rules = told[-1].border.facts["rules"] if told else rules
        return {rule: hidden.unsqueeze(-3) if hidden.ndim == 3 else hidden for rule, hidden in rules.items()}

    def _never(self, one: Recorded, key: str) -> str:
        value = self.explanation(one).values[key]
        if not value.is_floating_point():
            return CONSTANT
        if not is_differentiated(one.border):
            return UNTRACKED
        return "" if value.requires_grad else FIXED

    def _explained_backward(self, one: Recorded) -> Sensitivities | None:
        outputs = one.border.outputs
        if not self.recorder.has_backward or not is_differentiated(one.border):
            return None
        if one.sensitivities is None or one.heard != self.recorder.heard:
            explanation = self.explanation(one)
            run = recurrence.explain_recurrence_backward if recurrence.is_recurrence(one.border) else explain_backward
            known = {name: tensor for name, tensor in outputs.items() if _is_explained(one, explanation, name)}
            one.sensitivities = run(one.border, explanation, {n: self.recorder.arrived(t) for n, t in known.items()})
            one.heard = self.recorder.heard
        return one.sensitivities

    def _sensitivity(self, one: Recorded, key: str) -> Tensor | None:
        found = self.sensitivities(one)
        if found is None:
            return None
        real = one.border.outputs.get(key)
        arrived = None if real is None else self.recorder.arrived(real)
        # A recurrent state's is more than what arrives at the rows: later steps read it inside the kernel.
        value = found.quantities.get(key) if arrived is None or recurrence.is_recurrence(one.border) else arrived
        if value is None:
            value = torch.zeros_like(self.explanation(one).values[key]).detach()
        return self.placed(one, value)

    def _terms(self, one: Recorded, key: str) -> Mapping[str, Tensor]:
        found = self.sensitivities(one)
        if found is None:
            return {}
        if key in found.terms:
            return {name: self.placed(one, part) for name, part in found.terms[key].items()}
        real = one.border.outputs.get(key)
        parts = {} if real is None else self._sent_back(real)
        return parts if len(parts) > 1 else {}

    def _sent_back(self, tensor: Tensor) -> dict[str, Tensor]:
        """What each reader of a tensor sends back to it, by the reader's name; and what comes from elsewhere."""
        parts: dict[str, Tensor] = {}
        for one, name in self.readers_of(tensor):
            found = self._explained_backward(one)
            if found is not None and name in found.inputs:
                where = ".".join(word for word in (one.name, one.border.part) if word)
                parts[f"{where} ({name})" if where else name] = found.inputs[name]
        arrived = self.recorder.arrived(tensor)
        if arrived is not None and parts:
            rest = arrived - torch.stack(list(parts.values())).sum(0)
            if size_of(rest) > EPSILONS * torch.finfo(rest.dtype).eps * size_of(arrived, *parts.values()):
                parts["outside the model"] = rest
        return parts

    def readers_of(self, tensor: Tensor) -> Iterator[tuple[Recorded, str]]:
        """Which borders read a real tensor, in any call, and as which input."""
        for one in (known for each in self.recorder.passes for known in each.recorded):
            yield from ((one, name) for name, read in one.border.inputs.items() if read is tensor)

    def _forward_distances(self, one: Recorded) -> list[Distance]:
        values, filled = self.explanation(one).values, one.border.facts.get("filled")
        read = [*one.border.inputs.values()]
        scale, is_broken = size_of(*read), not is_finite(*read)
        distances = []
        for name, real in one.border.outputs.items():
            if not _is_explained(one, self.explanation(one), name):
                continue
            is_final = name not in values
            part = name.removeprefix("final_")
            explained = recurrence.last_part(one.border, self.explanation(one), part) if is_final else values[name]
            explained, real = explained.detach(), real.detach()
            if filled is not None and not is_final:
                explained, real = (torch.where(filled, part, 0.0) for part in (explained, real))
            distances.append(measure(one.address(name), "value", real, explained, scale, is_broken))
        return distances

    def _backward_distances(self, one: Recorded, found: Sensitivities) -> list[Distance]:
        """Compare what the border really sent back to each input and weight with what its equations send back."""
        arrived = [part for t in one.border.outputs.values() if (part := self.recorder.arrived(t)) is not None]
        read = [*one.border.inputs.values()]
        is_broken = not is_finite(*arrived, *read)
        sizes = size_of(*found.quantities.values(), *arrived)
        distances = []
        for key, real in one.sent.items():
            if isinstance(key, nn.Parameter):
                name, explained = self.recorder.parameter_names.get(id(key), "parameter"), found.parameters[key]
                scale = sizes * max(1.0, size_of(*read))
                distances.append(measure(name, "gradient", real, explained, scale, is_broken))
            else:
                same = [name for name, tensor in one.border.inputs.items() if tensor is one.border.inputs[key]]
                explained = torch.stack([found.inputs[name] for name in same if name in found.inputs]).sum(0)
                distances.append(measure(f"{one.address(key)}", "sensitivity", real, explained, sizes, is_broken))
        return distances


def _is_explained(one: Recorded, explanation: Explanation, name: str) -> bool:
    """Whether an output has a value of its name; the cell after the last step is the last of the cells."""
    is_final = recurrence.is_recurrence(one.border) and name.startswith("final_")
    return name in explanation.values or is_final


def _is_within(name: str, around: str) -> bool:
    around = around.split("#")[0]
    return not around or name.startswith(f"{around}.")
