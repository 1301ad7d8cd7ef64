"""Images: the vit preset against its parts written out, rectangles, hidden patches, the ledger, other image sizes."""

import numpy as np
import pytest
import torch
from torch import Tensor

import clew
from clew.errors import ConfigError, ShapeError
from clew.models import build, load_model, resize_positions, save_model
from clew.models.resizing import interpolate_positions
from reference import transformer as twin
from reference.weights import arrays, randomized

SMALL = {"image": (4, 6), "patch": (2, 3), "channels": 2, "outputs": 3, "hidden": 8, "heads": 2, "mlp": 12, "layers": 2}


def images(batch: int = 3, height: int = 4, width: int = 6) -> Tensor:
    return torch.randn(batch, 2, height, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("head", ["class_token", "mean", "rows"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_vit_is_patches_positions_blocks_and_a_head(head: str, norm: str) -> None:
    model = randomized(build("vit", **SMALL, head=head, norm=norm)).eval()
    weights, pixels = arrays(model), images().numpy()
    rows = np.zeros((3, 4, 12))
    for patch in range(4):
        down, along = 2 * (patch // 2), 3 * (patch % 2)
        rows[:, patch] = pixels[:, :, down : down + 2, along : along + 3].reshape(3, -1)
    rows = rows @ weights["inputs.patches.projection.weight"].T + weights["inputs.patches.projection.bias"]
    if head == "class_token":
        rows = np.concatenate([np.tile(weights["head.class_token"], (3, 1, 1)), rows], axis=1)
    state = {name.removeprefix("encoder."): value for name, value in weights.items()}
    valid = np.ones(rows.shape[:2], dtype=bool)
    rows = twin.encoder(rows, valid, state, norm, heads=2, head_dim=4, activation="gelu", causal=False)
    read = {"class_token": rows[:, 0], "mean": rows.mean(axis=1), "rows": rows}[head]
    expected = read @ weights["head.linear.weight"].T + weights["head.linear.bias"]
    np.testing.assert_allclose(model(images()).logits.detach().numpy(), expected, atol=1e-10, rtol=0)
    assert model(images()).rows.shape == (3, 4, 8)


@pytest.mark.parametrize("head", ["class_token", "mean"])
def test_a_hidden_patch_is_not_read_and_may_hold_anything(head: str) -> None:
    model = randomized(build("vit", **SMALL, head=head)).eval()
    valid = torch.tensor([[True, False, True, True]] * 3)
    broken = images()
    broken[:, :, :2, 3:] = torch.nan
    output = model(broken, valid=valid)
    output.logits.sum().backward()
    assert torch.equal(output.logits, model(images(), valid=valid).logits)
    assert not torch.allclose(output.logits, model(images()).logits)
    assert all(bool(weight.grad.isfinite().all()) for weight in model.parameters() if weight.grad is not None)


def test_the_ledger_explains_patches_and_what_the_class_token_reads() -> None:
    model = randomized(build("vit", **SMALL))
    with clew.record(model) as ledger:
        (model(images()).logits ** 2).sum().backward()
    assert max(distance.relative for distance in ledger.distances) < 1e-12
    assert ledger["inputs.patches.flattened"].shape == (3, 4, 12)
    weights = ledger["encoder.blocks.1.attention.weights"]
    assert weights.shape == (3, 2, 5, 5) and bool((weights.value[:, :, 0] > 0).all())
    found = ledger.contributions("inputs.patches.projection.weight").value.sum(0)
    torch.testing.assert_close(found, model.get_parameter("inputs.patches.projection.weight").grad)
    assert float(ledger["head.with_token"].sensitivity.abs().min(dim=-1).values.max()) > 0


def test_a_hidden_patch_is_explained_too() -> None:
    model = randomized(build("vit", **SMALL))
    with clew.record(model) as ledger:
        model(images(), valid=torch.tensor([[True, False, True, True]] * 3)).logits.sum().backward()
    assert bool((ledger["inputs.patches.flattened"].value[:, 1] == 0).all())


def test_squares_need_one_side_only_and_counts_are_from_the_shapes(tmp_path) -> None:
    model = build("vit", image=6, patch=3, outputs=2, hidden=8)
    assert model.config is not None and (model.config["image"], model.config["patch"]) == ([6, 6], [3, 3])
    assert model.get_parameter("encoder.positions.weight").shape == (5, 8)
    assert model.multiply_adds(4) > 4 * 9 * 8
    pixels = torch.randn(2, 1, 6, 6)
    save_model(model, tmp_path)
    assert torch.equal(load_model(tmp_path)(pixels).logits, model(pixels).logits)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"image": (8, 10)},
            "Patches: width must be a multiple of the patch width=3, got 10. The nearest are width=9 or 12.",
        ),
        (
            {"image": 9, "patch": 4},
            "Patches: height must be a multiple of patch=4, got 9. The nearest are height=8 or 12.",
        ),
        ({"head": "last"}, "build('vit'): head must be one of rows, mean, class_token, got 'last'."),
        ({"patch": None}, "build('vit'): patch must be given: height and width in pixels, or the side of a square"),
        ({"image": (4, 6, 1)}, "build('vit'): image must be (height, width) or one side, got [4, 6, 1]."),
        ({"image": (4, 0)}, "build('vit'): image must be whole numbers of at least 1, got [4, 0]."),
        ({"vocab": 5}, "build('vit'): options must be ones that apply to it, got vocab."),
        ({"causal": True}, "build('vit'): options must be ones that apply to it, got causal."),
    ],
)
def test_wrong_options_are_one_clear_line(options: dict, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        build("vit", **(SMALL | options))
    assert said in str(raised.value)


def test_wrong_images_are_told() -> None:
    model = build("vit", **SMALL)
    with pytest.raises(ShapeError, match="PatchInput: inputs must be float images of shape"):
        model(torch.zeros(3, 4, 6))
    with pytest.raises(ShapeError, match="Patches: images must be of shape"):
        model(torch.zeros(3, 2, 6, 4))


def cubic(distance: float, a: float = -0.75) -> float:
    """Weight of a neighbour at a distance, by Keys' cubic convolution."""
    distance = abs(distance)
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    return a * (distance**3 - 5 * distance**2 + 8 * distance - 4) if distance < 2 else 0.0


def linear(distance: float) -> float:
    return max(0.0, 1 - abs(distance))


def along_one_axis(values: np.ndarray, size: int, weight) -> np.ndarray:
    """Interpolate the first axis at the centres of `size` equal cells, borders repeated."""
    old = len(values)
    found = np.zeros((size, *values.shape[1:]))
    for place in range(size):
        centre = (place + 0.5) * old / size - 0.5
        for neighbour in range(int(np.floor(centre)) - 1, int(np.floor(centre)) + 3):
            found[place] += weight(centre - neighbour) * values[min(max(neighbour, 0), old - 1)]
    return found


@pytest.mark.parametrize(("mode", "weight"), [("bicubic", cubic), ("bilinear", linear)])
@pytest.mark.parametrize("new", [(5, 3), (2, 7), (3, 2)])
def test_positions_are_interpolated_on_the_grid(mode: str, weight, new: tuple[int, int]) -> None:
    table = torch.randn(1 + 3 * 4, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found = interpolate_positions(table, (3, 4), new, mode)
    grid = along_one_axis(table[1:].numpy().reshape(3, 4, 5), new[0], weight)
    expected = along_one_axis(grid.swapaxes(0, 1), new[1], weight).swapaxes(0, 1)
    np.testing.assert_allclose(found[1:].numpy(), expected.reshape(-1, 5), atol=1e-12, rtol=0)
    assert torch.equal(found[0], table[0])


def same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)


def test_a_resized_model_keeps_every_other_weight_and_reads_larger_images() -> None:
    model = randomized(build("vit", **SMALL)).eval()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    resized = resize_positions(model, (8, 9))
    assert resized(images(2, 8, 9)).logits.shape == (2, 3) and not resized.training
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    changed = [name for name, weight in resized.state_dict().items() if not same(weight, before[name])]
    assert changed == ["encoder.positions.weight"]
    assert torch.equal(resize_positions(model, (4, 6))(images()).logits, model(images()).logits)


def test_fixed_positions_need_no_interpolation() -> None:
    model = build("vit", **SMALL, positions="sinusoidal").double().eval()
    assert resize_positions(model, (8, 6))(images(2, 8, 6)).logits.shape == (2, 3)


def test_what_cannot_be_resized_is_told() -> None:
    with pytest.raises(ConfigError, match=r"resize_positions: model must be a vit from clew.models.build, got 'gru'"):
        resize_positions(build("gru", vocab=3, outputs=2), 4)
    model = build("vit", **SMALL)
    with pytest.raises(ConfigError, match="The nearest are height=4 or 6"):
        resize_positions(model, (5, 6))
    with pytest.raises(ConfigError, match="mode must be 'bicubic' or 'bilinear', got 'nearest'"):
        resize_positions(model, (4, 6), mode="nearest")
