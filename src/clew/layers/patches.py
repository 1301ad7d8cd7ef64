"""An image cut into square patches, each of which becomes one row: the embedding of a Vision Transformer.

Rows follow the patches from left to right, then down. Positions and a class token are added elsewhere.
"""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from clew.errors import ConfigError, ShapeError, complain
from clew.layers.linear import Linear


class Patches(nn.Module):
    """Flatten the patches of an image and map each to a row.

        x_n = the channels * patch * patch numbers of patch n, channel by channel, row by row
        e_n = x_n W' + b

    Attributes:
        projection: The map from a flattened patch to a row; its weight is that of the equal strided convolution.

    Source:
        Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1.

    >>> Patches(6, 6, channels=1, patch=3, features=4)(torch.zeros(2, 1, 6, 6)).shape
    torch.Size([2, 4, 4])
    """

    def __init__(
        self,
        height: int,
        width: int,
        channels: int,
        patch: int,
        features: int,
        generator: torch.Generator | None = None,
    ) -> None:
        """Make the layer with the initial distribution of torch.nn.Linear.

        Args:
            height, width: Size of the images, in pixels; they need not be equal.
            channels: Numbers of a pixel.
            patch: Side of a patch, in pixels; divides height and width.
            features: Width of the rows that go out.
            generator: Draws the initial weights; by default a new one seeded with 0.

        Raises:
            ConfigError: If a size is below 1, or the patch does not divide height or width.
        """
        super().__init__()
        if min(height, width, channels, patch, features) < 1:
            got = f"height={height}, width={width}, channels={channels}, patch={patch}, features={features}"
            raise ConfigError(complain("Patches", "sizes", "at least 1", got))
        for name, size in (("height", height), ("width", width)):
            if size % patch:
                rule = f"a multiple of patch={patch}"
                raise ConfigError(complain("Patches", name, rule, size, _nearest(name, size, patch)))
        self.height, self.width, self.channels, self.patch = height, width, channels, patch
        self.projection = Linear(channels * patch**2, features, generator=generator)

    @property
    def count(self) -> int:
        """Number of patches of an image: height / patch * width / patch."""
        return (self.height // self.patch) * (self.width // self.patch)

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
        return rearrange(images, pattern, row=self.patch, column=self.patch)

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch patches features"]:
        """Give a row for each patch.

        Raises:
            ShapeError: If the images are not of the size that the layer was made for.
        """
        return self.projection(self.flatten(images))

    def quantities(self, images: Float[Tensor, "batch channels height width"]) -> dict[str, Tensor]:
        """Compute flattened (batch, patches, channels * patch * patch) and output (batch, patches, features)."""
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
