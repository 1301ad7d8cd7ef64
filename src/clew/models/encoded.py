"""What an encoder gives back, and what attention keeps of the steps that it has read."""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor

from clew.layers.attention import KeysValues


class Encoded(NamedTuple):
    """Rows, and what an encoder with a state needs to go on.

    Attributes:
        rows: The representation of each position, (batch, time, width); zero at padding.
        final: The state after the last valid step, a tuple of (batch, hidden) tensors for each layer; None for an
            encoder without a state.
    """

    rows: Float[Tensor, "batch time width"]
    final: list[tuple[Tensor, ...]] | None = None


@dataclass(frozen=True, eq=False)
class PastSteps:
    """The steps that a causal Transformer has read.

    Attributes:
        keys_values: Keys and values of every block.
        valid: True at real steps, (batch, source); None if all are.
        counts: Real steps of each row, (batch,): the position of the next one.
    """

    keys_values: tuple[KeysValues, ...]
    valid: Bool[Tensor, "batch source"] | None
    counts: Int[Tensor, " batch"]
