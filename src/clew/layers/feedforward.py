"""The position-wise multilayer perceptron of a Transformer block: two affine maps with an activation between.

It mixes the features of a row and treats all rows alike; attention is what mixes rows.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clew.layers.activations import activation_named
from clew.layers.dropout import Dropout
from clew.layers.linear import Linear
from clew.ledger import recording
from clew.ledger.description import Described


class MLP(nn.Module):
    """Widen each row, apply the activation, come back to the width.

        z = x W_1' + b_1
        h = activation(z)
        y = h W_2' + b_2

    Attributes:
        hidden_map: First affine map, (width) to (hidden).
        output_map: Second affine map, (hidden) to (width).
        hidden_dropout: Dropout after the activation.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "preactivation": Described(("...", "hidden"), "z = x W_1' + b_1"),
        "hidden": Described(("...", "hidden"), "h = activation(z)"),
    }

    def __init__(
        self,
        width: int,
        hidden: int,
        activation: str = "relu",
        generator: torch.Generator | None = None,
        dropout: float = 0.0,
    ) -> None:
        """Make the layer with the initial distribution of torch.nn.Linear.

        Args:
            width: Features of a row.
            hidden: Features between the maps.
            activation: A name of `clew.layers.activations`.
            generator: Draws the initial weights; by default a new one seeded with 0.
            dropout: Fraction of the hidden features dropped while training.

        Raises:
            ConfigError: If the activation is unknown or the fraction outside [0, 1).
        """
        super().__init__()
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.activation = activation_named(activation)
        self.hidden_map = Linear(width, hidden, generator=generator)
        self.output_map = Linear(hidden, width, generator=generator)
        self.hidden_dropout = Dropout(dropout)

    def forward(self, rows: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        """Transform every row by itself."""
        preactivation = self.hidden_map(rows)
        hidden = self.activation.value(preactivation)
        if recording.is_on():
            recording.report(self, "", {"preactivation": preactivation}, {"hidden": hidden})
        return self.output_map(self.hidden_dropout(hidden))

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain the activation to the ledger; the two maps explain themselves."""
        return {"preactivation": inputs["preactivation"], "hidden": self.activation.value(inputs["preactivation"])}

    def quantities(self, rows: Float[Tensor, "*rows width"]) -> dict[str, Float[Tensor, "*rows features"]]:
        """Compute preactivation, hidden (*rows, hidden) and output (*rows, width), without dropout."""
        preactivation = self.hidden_map(rows)
        hidden = self.activation.value(preactivation)
        return {"preactivation": preactivation, "hidden": hidden, "output": self.output_map(hidden)}

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of the two maps for one sequence of `time` steps."""
        return time * (self.hidden_map.weight.numel() + self.output_map.weight.numel())
