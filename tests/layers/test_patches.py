"""Patches: the same numbers as a strided convolution, in reading order, and sizes that do not fit are told."""

import pytest
import torch
from torch import nn

from clew.errors import ConfigError, ShapeError
from clew.layers import Patches


def images(batch: int = 2, channels: int = 3, height: int = 4, width: int = 6) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, channels, height, width, generator=generator, dtype=torch.float64)


def test_patches_are_a_strided_convolution() -> None:
    layer = Patches(4, 6, channels=3, patch=2, features=5).double()
    convolution = nn.Conv2d(3, 5, kernel_size=2, stride=2).double()
    with torch.no_grad():
        convolution.weight.copy_(layer.projection.weight.reshape(5, 3, 2, 2))
        assert convolution.bias is not None and layer.projection.bias is not None
        convolution.bias.copy_(layer.projection.bias)
    expected = convolution(images()).flatten(2).transpose(1, 2)
    torch.testing.assert_close(layer(images()), expected, atol=1e-12, rtol=0)


def test_gradients_are_those_of_the_convolution() -> None:
    layer, ours = Patches(4, 6, channels=3, patch=2, features=5).double(), images().requires_grad_()
    theirs = images().requires_grad_()
    layer(ours).square().sum().backward()
    weight = layer.projection.weight.detach().reshape(5, 3, 2, 2)
    assert layer.projection.bias is not None
    nn.functional.conv2d(theirs, weight, layer.projection.bias.detach(), stride=2).square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-12, rtol=0)


def test_rows_follow_the_patches_in_reading_order() -> None:
    pixels = torch.arange(24.0).reshape(1, 1, 4, 6)
    flattened = Patches(4, 6, channels=1, patch=2, features=3).flatten(pixels)
    assert flattened[0].tolist() == [
        [0, 1, 6, 7],
        [2, 3, 8, 9],
        [4, 5, 10, 11],
        [12, 13, 18, 19],
        [14, 15, 20, 21],
        [16, 17, 22, 23],
    ]


def test_quantities_name_flattened_patches_and_rows() -> None:
    layer = Patches(4, 6, channels=3, patch=2, features=5).double()
    found = layer.quantities(images())
    assert found["flattened"].shape == (2, 6, 12) and layer.count == 6
    assert torch.equal(found["output"], layer(images()))
    assert layer.multiply_adds() == 6 * 12 * 5


def test_equal_generators_give_equal_weights() -> None:
    one, other = (Patches(4, 4, 1, 2, 3, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(one.projection.weight, other.projection.weight)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((6, 7, 1, 3), "Patches: width must be a multiple of patch=3, got 7. The nearest are width=6 or 9."),
        ((10, 6, 1, 3), "Patches: height must be a multiple of patch=3, got 10. The nearest are height=9 or 12."),
        ((2, 6, 1, 3), "Patches: height must be a multiple of patch=3, got 2. The nearest is height=3."),
        (
            (6, 6, 0, 3),
            "Patches: sizes must be at least 1, got height=6, width=6, channels=0, patch=3, features=4.",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int, int, int], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Patches(*sizes, features=4)
    assert str(raised.value) == said


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(ShapeError) as raised:
        Patches(4, 6, channels=3, patch=2, features=5).double()(images(height=6, width=4))
    assert str(raised.value) == (
        "Patches: images must be of shape (batch, channels, height, width) = (batch, 3, 4, 6), got (2, 3, 6, 4). "
        "Resize or crop the images, or build the layer for their size."
    )
