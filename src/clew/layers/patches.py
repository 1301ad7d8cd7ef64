"""An image cut into patches, each of which becomes one row: the embedding of a Vision Transformer.

Rows follow the patches from left to right, then down. Positions and a class token are added elsewhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.errors import ConfigError, ShapeError, complain
from clew.layers.linear import Linear
from clew.ledger import recording
from clew.ledger.description import Described

SOURCE = "Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1"


class Patches(nn.Module):
    """Flatten the patches of an image and map each to a row.

        x_n = the channels * patch height * patch width numbers of patch n, channel by channel, row by row
        e_n = x_n W' + b

    Attributes:
        projection: The map from a flattened patch to a row; its weight is that of the equal strided convolution.

    Source:
        Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1.

    >>> Patches(6, 6, channels=1, patch=3, features=4)(torch.zeros(2, 1, 6, 6)).shape
    torch.Size([2, 4, 4])
    """

    described: ClassVar[Mapping[str, Described]] = {
        "flattened": Described(("batch", "patches", "numbers"), "x_n, the numbers of patch n", SOURCE),
    }

    def __init__(
        self,
        height: int,
        width: int,
        channels: int,
        patch: int | Sequence[int],
        features: int,
        generator: torch.Generator | None = None,
    ) -> None:
        """Make the layer with the initial distribution of torch.nn.Linear.

        Args:
            height, width: Size of the images, in pixels; they need not be equal.
            channels: Numbers of a pixel.
            patch: Side of a square patch, or height and width of a patch, in pixels; divide those of the images.
            features: Width of the rows that go out.
            generator: Draws the initial weights; by default a new one seeded with 0.

        Raises:
            ConfigError: If a size is below 1, or the patch does not divide height or width.
        """
        super().__init__()
        sides = (patch, patch) if isinstance(patch, int) else tuple(patch)
        if len(sides) != 2:
            raise ConfigError(complain("Patches", "patch", "one side, or height and width", patch))
        if min(height, width, channels, *sides, features) < 1:
            got = f"height={height}, width={width}, channels={channels}, patch={patch}, features={features}"
            raise ConfigError(complain("Patches", "sizes", "at least 1", got))
        for name, size, side in (("height", height, sides[0]), ("width", width, sides[1])):
            if size % side:
                rule = f"a multiple of {'patch' if sides[0] == sides[1] else f'the patch {name}'}={side}"
                raise ConfigError(complain("Patches", name, rule, size, _nearest(name, size, side)))
        self.height, self.width, self.channels, self.patch = height, width, channels, sides
        self.projection = Linear(channels * sides[0] * sides[1], features, generator=generator)

    @property
    def grid(self) -> tuple[int, int]:
        """Number of patches from top to bottom and from left to right."""
        return self.height // self.patch[0], self.width // self.patch[1]

    @property
    def count(self) -> int:
        """Number of patches of an image: height / patch * width / patch."""
        return self.grid[0] * self.grid[1]

    def flatten(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch patches numbers"]:
        """Cut each image and flatten its patches.

        Raises:
            ShapeError: If the images are not of the size that the layer was made for.
        """
        expected = (self.channels, self.height, self.width)
        if tuple(images.shape[1:]) != expected:
            rule = f"of shape (batch, channels, height, width) = (batch, {', '.join(map(str, expected))})"
            remedy = "Resize or crop the images, or build the layer for their size."
            raise ShapeError(complain("Patches", "images", rule, tuple(images.shape), remedy))
        pattern = "batch channels (down row) (along column) -> batch (down along) (channels row column)"
        return rearrange(images, pattern, row=self.patch[0], column=self.patch[1])

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        valid: Bool[Tensor, "batch patches"] | None = None,
    ) -> Float[Tensor, "batch patches features"]:
        """Give a row for each patch.

        Args:
            images: Numbers of the pixels.
            valid: True at patches that may be read; None if all may. The others count as zeros, NaN there too.

        Raises:
            ShapeError: If the images are not of the size that the layer was made for.
        """
        flattened = self._kept(images, valid)
        if recording.is_on():
            recording.report(self, "", {"images": images}, {"flattened": flattened}, valid=valid)
        return self.projection(flattened)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain the cut to the ledger; the map explains itself."""
        return {"flattened": self._kept(inputs["images"], facts["valid"])}

    def _kept(self, images: Tensor, valid: Tensor | None) -> Tensor:
        flattened = self.flatten(images)
        return flattened if valid is None else torch.where(valid.unsqueeze(-1), flattened, 0.0)

    def quantities(self, images: Float[Tensor, "batch channels height width"]) -> dict[str, Tensor]:
        """Compute flattened (batch, patches, numbers of a patch) and output (batch, patches, features)."""
        flattened = self.flatten(images)
        return {"flattened": flattened, "output": self.projection(flattened)}

    def multiply_adds(self) -> int:
        """Multiply-adds of one image."""
        return self.count * self.projection.weight.numel()

    def extra_repr(self) -> str:
        return f"height={self.height}, width={self.width}, channels={self.channels}, patch={self.patch}"


def _nearest(name: str, size: int, patch: int) -> str:
    """Name the two sizes around `size` that the patch divides; below one patch there is only the larger."""
    below = size // patch * patch
    return f"The nearest are {name}={below} or {below + patch}." if below else f"The nearest is {name}={patch}."
