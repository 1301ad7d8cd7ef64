"""Images as sequences: each patch is one step, read from left to right, then down."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from clew.errors import ShapeError, complain
from clew.layers.patches import Patches
from clew.ledger.description import Described
from clew.models.inputs import zero_padding, zeroed


class PatchInput(nn.Module):
    """Cut images of one size into patches and map each to a row.

    Attributes:
        patches: The cut and the map.
        grid: Patches from top to bottom and from left to right.

    >>> PatchInput((4, 6), (2, 3), channels=1, width=5)(torch.zeros(2, 1, 4, 6)).shape
    torch.Size([2, 4, 5])
    """

    described: ClassVar[Mapping[str, Described]] = {
        "output": Described(("batch", "patches", "features"), "rows, 0 at hidden patches")
    }

    def __init__(
        self,
        image: Sequence[int],
        patch: int | Sequence[int],
        channels: int,
        width: int,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        height, across = image
        self.patches = Patches(height, across, channels, patch, width, generator)
        self.width = width

    @property
    def grid(self) -> tuple[int, int]:
        """Number of patches from top to bottom and from left to right."""
        return self.patches.grid

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of one image."""
        return self.patches.multiply_adds()

    def forward(
        self, inputs: Shaped[Tensor, "batch *sizes"], valid: Bool[Tensor, "batch patches"] | None = None
    ) -> Float[Tensor, "batch patches width"]:
        """Give a row for each patch; rows of patches that are not valid are zero, whatever stands there.

        Raises:
            ShapeError: If the inputs are not float images of the size that the model was built for.
        """
        if inputs.ndim != 4 or not inputs.is_floating_point():
            rule = "float images of shape (batch, channels, height, width)"
            raise ShapeError(complain("PatchInput", "inputs", rule, f"{tuple(inputs.shape)} of {inputs.dtype}"))
        if valid is None:
            return self.patches(inputs)
        return zero_padding(self, self.patches(inputs, valid), valid)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain to the ledger that hidden patches were replaced by zeros; the patches explain themselves."""
        return {"output": zeroed(inputs["rows"], facts["valid"])}
