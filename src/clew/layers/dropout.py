"""Dropout with its own mask, drawn from a generator that the caller holds.

Fused kernels draw from hidden generators; here equal generator states give equal masks, whatever else runs.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clew.errors import ConfigError, complain
from clew.ledger import recording
from clew.ledger.description import Described


class Dropout(nn.Module):
    """Zero a fraction of the elements while training, and scale the rest so that the mean stays.

    In evaluation mode, or with a fraction of 0, rows pass unchanged and nothing is drawn.

    Attributes:
        fraction: Probability of each element to become zero, in [0, 1).
        generator: Draws the masks, on its own device; assign another one to share it between layers.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "factor": Described(("...", "features"), "m = 0 or 1 / (1 - fraction), as drawn"),
        "output": Described(("...", "features"), "y = x * m"),
    }

    def __init__(self, fraction: float, generator: torch.Generator | None = None) -> None:
        """Make the layer.

        Args:
            fraction: Probability of each element to become zero.
            generator: Draws the masks; by default a new one seeded with 0.

        Raises:
            ConfigError: If the fraction is outside [0, 1).
        """
        super().__init__()
        if not 0 <= fraction < 1:
            raise ConfigError(complain("Dropout", "fraction", "in [0, 1)", fraction))
        self.fraction = fraction
        self.generator = generator if generator is not None else torch.Generator().manual_seed(0)

    @property
    def is_active(self) -> bool:
        """Whether the next call draws a mask."""
        return self.training and self.fraction > 0

    def forward(self, rows: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Draw a mask and apply it."""
        if not self.is_active:
            return rows
        factor = self.draw(rows)
        output = rows * factor
        if recording.is_on():
            recording.report(self, "", {"rows": rows}, {"output": output}, factor=factor)
        return output

    def draw(self, rows: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Draw a mask: 0 where an element is dropped, 1 / (1 - fraction) elsewhere."""
        drawn = torch.rand(rows.shape, generator=self.generator, device=self.generator.device)
        return (drawn >= self.fraction).to(rows.device, rows.dtype) / (1 - self.fraction)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a call to the ledger, with the mask that was used."""
        return {"factor": facts["factor"], "output": inputs["rows"] * facts["factor"]}

    def extra_repr(self) -> str:
        return f"fraction={self.fraction}"


def share_dropout_generator(module: nn.Module, generator: torch.Generator) -> None:
    """Let all dropout layers within a module draw from one generator, so that no two of them draw the same mask."""
    for layer in module.modules():
        if isinstance(layer, Dropout):
            layer.generator = generator
