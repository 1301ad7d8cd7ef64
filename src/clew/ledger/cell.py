"""One number of a pass, with what a writer of its arithmetic needs: its layer, what went in, what else was computed."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clew.ledger.reading import PassReader
from clew.ledger.recorder import Recorded


@dataclass(frozen=True, eq=False)
class Cell:
    """One number of one quantity.

    Attributes:
        reader: The pass.
        recorded: The border that it is explained from.
        key: Name of the quantity within its layer.
        index: Where it is in the explained array; along time in the order in which the layer read.
    """

    reader: PassReader
    recorded: Recorded
    key: str
    index: tuple[int, ...]

    @classmethod
    def find(cls, reader: PassReader, name: str, index: tuple[int, ...]) -> "Cell | None":
        """Find the cell at an index of a quantity as the ledger shows it; None at padding of a recurrent layer."""
        found = reader.index().get(name)
        if found is None:
            return None
        one, key, _ = found
        read = _reading_index(one, index, reader.explanation(one).values[key])
        return None if read is None else cls(reader, one, key, read)

    @property
    def name(self) -> str:
        """The layer's name."""
        return self.recorded.name

    @property
    def layer(self) -> Any:
        """The layer."""
        return self.recorded.border.layer

    @property
    def part(self) -> str:
        """Which part of the layer."""
        return self.recorded.border.part

    @property
    def facts(self) -> dict[str, Any]:
        """What else decided the result."""
        return self.recorded.border.facts

    @property
    def value(self) -> float:
        """The number."""
        return self.of(self.key)[self.index].item()

    def of(self, key: str) -> Tensor:
        """Give another quantity of the same border."""
        return self.reader.explanation(self.recorded).values[key].detach()

    def weight(self, name: str) -> Tensor:
        """Give a parameter of the layer as it was when the layer ran."""
        return self.recorded.weights[name].detach()

    def address(self, name: str) -> str:
        """Name something within the layer."""
        return self.recorded.address(name)

    def input(self, name: str) -> Tensor:
        """Give what went into the border, or, for a recurrent layer, the state before each step."""
        leaves = self.reader.explanation(self.recorded).leaves
        return (leaves[name] if name in leaves else self.recorded.border.inputs[name]).detach()


def numbers(values: Tensor) -> list[float]:
    """Give the numbers of a vector."""
    return [float(number) for number in values.detach().tolist()]


def _reading_index(one: Recorded, index: tuple[int, ...], values: Tensor) -> tuple[int, ...] | None:
    """Undo the layer's moves of steps: where it read the step that stands at an index now."""
    place = one.border.facts.get("place")
    if place is None:
        return index
    batch, steps = values.shape[:2]
    numbered = torch.arange(1, steps + 1, device=values.device).expand(batch, steps).unsqueeze(-1)
    step = int(place(numbered.to(values.dtype))[index[0], index[1], 0])
    return None if step == 0 else (index[0], step - 1, *index[2:])
