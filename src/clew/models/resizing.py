"""A vit for images of another size: the same weights, and positions interpolated on the grid of patches."""

from collections.abc import Sequence

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from clew.errors import ConfigError, complain
from clew.models.patch_input import PatchInput
from clew.models.presets import build
from clew.models.sequence_model import SequenceModel

MODES = ("bicubic", "bilinear")


def resize_positions(model: SequenceModel, image: int | Sequence[int], mode: str = "bicubic") -> SequenceModel:
    """Make the model for images of another size; the given one stays as it is.

    Learned positions lie on a grid, one at the centre of each patch. The grid is interpolated, the class token's
    position kept; all other weights are copied. For an equal size the positions stay as they are, bit for bit.

    Args:
        model: A vit from `clew.models.build`.
        image: Height and width of the new images in pixels, or the side of square ones.
        mode: "bicubic" or "bilinear".

    Raises:
        ConfigError: If the model is another one, the patch does not divide the image, or the mode is unknown.

    >>> small = build("vit", image=4, patch=2, outputs=3, hidden=8)
    >>> resize_positions(small, (4, 8))(torch.zeros(5, 1, 4, 8)).logits.shape
    torch.Size([5, 3])
    """
    if not isinstance(model.inputs, PatchInput) or model.config is None:
        got = "another model" if model.config is None else f"'{model.config['preset']}'"
        raise ConfigError(complain("resize_positions", "model", "a vit from clew.models.build", got))
    if mode not in MODES:
        raise ConfigError(complain("resize_positions", "mode", "'bicubic' or 'bilinear'", f"'{mode}'"))
    options = {name: value for name, value in model.config.items() if name not in ("preset", "image")}
    resized = build("vit", image=image, **options)
    assert isinstance(resized.inputs, PatchInput)
    weights = dict(model.state_dict())
    name = "encoder.positions.weight"
    if name in weights:
        weights[name] = interpolate_positions(weights[name], model.inputs.grid, resized.inputs.grid, mode)
    parameter = next(model.parameters())
    resized = resized.to(parameter.device, parameter.dtype).train(model.training)
    resized.load_state_dict(weights)
    return resized


def interpolate_positions(
    table: Float[Tensor, "positions width"], old: tuple[int, int], new: tuple[int, int], mode: str = "bicubic"
) -> Float[Tensor, "resized width"]:
    """Interpolate position vectors from one grid of patches to another; rows before the grid's own are kept.

    Args:
        table: Vectors of the positions; the last ones are the patches, from left to right, then down.
        old: Patches from top to bottom and from left to right.
        new: Likewise, of the table that goes out.
        mode: "bicubic" or "bilinear"; at the border the outermost vectors are repeated.
    """
    if old == new:
        return table
    extra = len(table) - old[0] * old[1]
    grid = rearrange(table[extra:], "(down along) width -> 1 width down along", down=old[0])
    resized = functional.interpolate(grid, size=new, mode=mode, align_corners=False)
    return torch.cat([table[:extra], rearrange(resized, "1 width down along -> (down along) width")])
