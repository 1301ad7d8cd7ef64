"""What an encoder gives back."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


class Encoded(NamedTuple):
    """Rows, and what an encoder with a state needs to go on.

    Attributes:
        rows: The representation of each position, (batch, time, width); zero at padding.
        final: The state after the last valid step, a tuple of (batch, hidden) tensors for each layer; None for an
            encoder without a state.
    """

    rows: Float[Tensor, "batch time width"]
    final: list[tuple[Tensor, ...]] | None = None
