"""What of a recurrence is looked at: which layer and direction, which step, unit, weight and path.

All of it stands in the address; what is left out has a default. Steps are counted as in the text, and listed in the
order in which the layer reads them, from the end for the backward direction. Start with `choose`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from clew.errors import complain, did_you_mean
from clew.explorer.address import WHERE
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import Scene
from clew.layers import RecurrentLayer
from clew.ledger.quantity import Quantity
from clew.ledger.recurrent_words import GATES
from clew.training import TrainConfig

PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
DEFAULT_THRESHOLD = TrainConfig().clip_norm or 1.0
_LONGEST_LABEL = 18
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_INDEX = re.compile(r"(?<=\b[a-z])_(\d+)")
_PLACE = re.compile(r"recurrent\.(\d+)(?:\.(forward|backward)_layer)?$")


@dataclass(frozen=True, eq=False)
class Choice:
    """What is looked at.

    Attributes:
        scene: The pass.
        layer: Name of the recurrent layer.
        layers: Names of all of them.
        order: The real steps of the row, in the order in which the layer reads them.
        step: The step that is open.
        unit: The unit whose arithmetic is open.
        quantity: Which of its quantities was asked for.
        weight: The shared parameter whose contributions are shown, by its name in the layer.
        gate: Which of its gates; 0 in a simple RNN, which has a single block of rows.
        start: Where the path begins: the state after this step.
        end: Where it ends: the state after a step that is read later; equal to start where there is a single step.
        threshold: Of the gradient's norm.
    """

    scene: Scene
    layer: str
    layers: Sequence[str]
    order: Sequence[int]
    step: int
    unit: int
    quantity: str
    weight: str
    gate: int
    start: int
    end: int
    threshold: float

    @property
    def module(self) -> RecurrentLayer:
        """The layer itself."""
        found = self.scene.subject.model.get_submodule(self.layer)
        assert isinstance(found, RecurrentLayer)
        return found

    @property
    def hidden(self) -> int:
        """Units of the layer."""
        return self.module.hidden

    @property
    def is_from_end(self) -> bool:
        """Whether the layer reads from the last step to the first."""
        return self.layer.endswith(".backward_layer")

    @property
    def place(self) -> int:
        """When the open step is read, from 0."""
        return self.order.index(self.step)

    @property
    def previous(self) -> int | None:
        """The step that is read before the open one; None at the first."""
        return self.order[self.place - 1] if self.place else None

    @property
    def following(self) -> int | None:
        """The step that is read after the open one; None at the last."""
        return self.order[self.place + 1] if self.place + 1 < len(self.order) else None

    def read_between(self, start: int, end: int) -> Sequence[int]:
        """List the steps that are read after `start`, up to `end`."""
        return self.order[self.order.index(start) + 1 : self.order.index(end) + 1]

    @property
    def gates(self) -> Sequence[str]:
        """The layer's quantities that have rows of their own in each weight, in the order of those rows."""
        return GATES[next(kind.__name__ for kind in type(self.module).__mro__ if kind.__name__ in GATES)]

    def word(self, step: int, longest: int = _LONGEST_LABEL) -> str:
        """Give what is read at a step, cut where it is long."""
        token = self.scene.tokens[step]
        if not self.scene.subject.vocabulary:
            token = _INDEX.sub(lambda found: found.group(1).translate(_SUBSCRIPTS), token)
        return token if len(token) <= longest else token[: longest - 1] + "…"

    def label(self, step: int) -> str:
        """Name a step by its number and what is read there."""
        return f"{step} {self.word(step)}"

    def title(self, step: int) -> str:
        """Name a step in running words."""
        return f"step {step}, {self.word(step)}"

    def of(self, name: str) -> Quantity:
        """Give a quantity of the layer in the row that is shown."""
        return self.scene.ledger.quantity(f"{self.layer}.{name}").at(batch=self.scene.row)

    def names(self) -> list[str]:
        """List the layer's quantities in the order of computation."""
        start = len(self.layer) + 1
        return [name[start:] for name in self.scene.ledger if name.startswith(f"{self.layer}.")]

    def parameter(self, name: str) -> str:
        """Give the name in the model of a parameter of the layer."""
        return f"{self.layer}.{name}"

    def gradient(self, parameter: str) -> Tensor | None:
        """Give what the backward pass left in `.grad`."""
        return self.scene.subject.model.get_parameter(parameter).grad


def recurrent_layers(scene: Scene) -> list[str]:
    """List the recurrent layers of a model by name, in the order of computation."""
    modules = dict(scene.subject.model.named_modules())
    names = [name.removesuffix(".state") for name in scene.ledger.names() if name.endswith(".state")]
    return [name for name in names if isinstance(modules.get(name), RecurrentLayer)]


def layer_words(layer: str) -> str:
    """Name a layer for people.

    >>> layer_words("encoder.recurrent.1.backward_layer"), layer_words("encoder.recurrent.0")
    ('layer 1, read from the end', 'layer 0')
    """
    found = _PLACE.search(layer)
    if found is None:
        return layer
    direction = {"forward": ", read from the start", "backward": ", read from the end", None: ""}[found.group(2)]
    return f"layer {found.group(1)}{direction}"


def real_steps(scene: Scene) -> list[int]:
    """List the steps of the row that are no padding."""
    subject = scene.subject
    valid = (subject.task.align(subject.batch) if scene.has_backward else subject.reading).valid
    count = len(scene.tokens)
    return [step for step in range(count) if valid is None or bool(valid[scene.row, step])]


def choose(scene: Scene) -> Choice:
    """Read from the address what is looked at.

    Raises:
        ExplorerError: If it names something that is not there.
    """
    shown, layers = scene.address.shown, recurrent_layers(scene)
    layer = shown.get("layer") or layers[-1]
    _require_among("layer", layer, layers)
    steps = real_steps(scene)
    order = steps[::-1] if layer.endswith(".backward_layer") else steps
    step = _whole(scene, "step", order[-1], steps)
    start, end = _whole(scene, "start", order[0], steps), _whole(scene, "end", order[-1], steps)
    if len(order) > 1 and order.index(start) >= order.index(end):
        rule, got = "a step that the layer reads before the end", f"start={start} and end={end}"
        raise ExplorerError(complain(WHERE, "start", rule, got, "Exchange them, or choose others."))
    weight = shown.get("weight") or "weight_hh"
    _require_among("weight", weight, PARAMETERS)
    quantity, unit = _cell(scene, layer)
    threshold = _threshold(shown.get("clip"))
    found = Choice(scene, layer, layers, order, step, unit, quantity, weight, 0, start, end, threshold)
    gate = shown.get("gate") or found.gates[-1]
    _require_among("gate", gate, found.gates)
    return replace(found, gate=found.gates.index(gate))


def _cell(scene: Scene, layer: str) -> tuple[str, int]:
    """Read which unit of which quantity is open, such as `update_gate.3`."""
    name, _, unit = (scene.address.shown.get("cell") or "state.0").rpartition(".")
    start = len(layer) + 1
    _require_among("quantity", name, [known[start:] for known in scene.ledger if known.startswith(f"{layer}.")])
    hidden = scene.ledger.quantity(f"{layer}.{name}").shape[-1]
    if not unit.isdecimal() or int(unit) >= hidden:
        raise ExplorerError(complain(WHERE, "unit", f"a whole number in [0, {hidden})", f"'{unit}'"))
    return name, int(unit)


def _whole(scene: Scene, name: str, default: int, among: Sequence[int]) -> int:
    given = scene.address.shown.get(name, "").strip()
    if not given:
        return default
    if not (given.isascii() and given.isdecimal()) or int(given) not in among:
        rule = f"in [{among[0]}, {among[-1]}], a step that is read" if among else "a step that is read"
        raise ExplorerError(complain(WHERE, name, rule, f"'{given}'"))
    return int(given)


def _require_among(what: str, name: str, known: Iterable[str]) -> None:
    among = list(known)
    if name not in among:
        remedy = did_you_mean(name, among)
        raise ExplorerError(complain(WHERE, what, "one of this model", f"'{name}'", remedy), 404)


def _threshold(given: str | None) -> float:
    if not given or not given.strip():
        return DEFAULT_THRESHOLD
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ExplorerError(complain(WHERE, "clip", "a number above 0", f"'{given}'", "1.0 is a usual one."))
    return number
