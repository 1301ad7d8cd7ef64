"""Two recurrent layers over the same rows: one from the first valid step to the last, one the other way round."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.errors import ConfigError, complain
from clew.layers.recurrent import RecurrentLayer
from clew.ledger import recording
from clew.ledger.description import Described


class BidirectionalLayer(nn.Module):
    """Read rows in both directions, each within the valid steps of its own row, and join what both found.

    Rows and states are joined on their last axis, the forward direction first, so they are 2 * hidden wide.

    Args:
        forward_layer: Reads from the first valid step to the last.
        backward_layer: Reads from the last valid step to the first; of the same class and sizes.

    Raises:
        ConfigError: If the two layers differ in class or size.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "output": Described(("batch", "time", "both_hidden"), "[h of the forward layer | h of the backward layer]"),
    }

    def __init__(self, forward_layer: RecurrentLayer, backward_layer: RecurrentLayer) -> None:
        super().__init__()
        if type(forward_layer) is not type(backward_layer) or repr(forward_layer) != repr(backward_layer):
            got = f"{forward_layer} and {backward_layer}"
            raise ConfigError(complain("BidirectionalLayer", "both layers", "of one class and size", got))
        self.forward_layer = forward_layer
        self.backward_layer = backward_layer
        self.state_parts = forward_layer.state_parts
        self.hidden = forward_layer.hidden
        self.width = 2 * forward_layer.hidden

    def forward(
        self,
        inputs: Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        initial: tuple[Float[Tensor, "batch both_hidden"], ...] | None = None,
        kernel: str | None = None,
    ) -> tuple[Float[Tensor, "batch time both_hidden"], tuple[Float[Tensor, "batch both_hidden"], ...]]:
        """Run in both directions; arguments as for `RecurrentLayer`, each part of the initial state joined likewise.

        Returns:
            The joined rows, and each part of the joined states: the forward one after the last valid step, the
            backward one after the first.
        """
        first, second = _halves(initial)
        forward_rows, forward_final = self.forward_layer(inputs, valid, first, kernel=kernel)
        backward_rows, backward_final = self.backward_layer(inputs, valid, second, reverse=True, kernel=kernel)
        final = tuple(torch.cat(pair, dim=-1) for pair in zip(forward_final, backward_final, strict=True))
        output = torch.cat([forward_rows, backward_rows], dim=-1)
        if recording.is_on():
            recording.report(self, "", {"forward": forward_rows, "backward": backward_rows}, {"output": output})
        return output, final

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger how the directions are joined."""
        return {"output": torch.cat([inputs["forward"], inputs["backward"]], dim=-1)}

    def quantities(
        self,
        inputs: Float[Tensor, "batch time features"],
        valid: Bool[Tensor, "batch time"] | None = None,
        initial: tuple[Float[Tensor, "batch both_hidden"], ...] | None = None,
    ) -> dict[str, Float[Tensor, "batch time hidden"]]:
        """Give every named quantity of both directions, under names like `forward_layer.state`."""
        first, second = _halves(initial)
        forward = self.forward_layer.quantities(inputs, valid, first)
        backward = self.backward_layer.quantities(inputs, valid, second, reverse=True)
        return {f"forward_layer.{name}": value for name, value in forward.items()} | {
            f"backward_layer.{name}": value for name, value in backward.items()
        }

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the matrix products for one sequence of `time` steps, forward."""
        return self.forward_layer.multiply_adds(time) + self.backward_layer.multiply_adds(time)


def _halves(
    initial: tuple[Tensor, ...] | None,
) -> tuple[tuple[Tensor, ...] | None, tuple[Tensor, ...] | None]:
    if initial is None:
        return None, None
    pairs = [part.chunk(2, dim=-1) for part in initial]
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
