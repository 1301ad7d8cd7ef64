"""An image of six by six pixels as a sequence of five rows: patches, projection, class token (Figure 17)."""

import torch
from jaxtyping import Float
from torch import Tensor

from clew.layers import Linear, Patches
from clew.models.transformer_encoder import TransformerEncoder
from clew.walkthrough.items import Builder, Cell, HeatMap, Item
from clew.walkthrough.proverb_tables import distance, feature_names, feature_table, shape_text

SIDE, PATCH, FEATURES, CLASSES = 6, 3, 4, 2
NAMES = ("patch 0, top left", "patch 1, top right", "patch 2, bottom left", "patch 3, bottom right")
DRAWN = "The text gives no numbers here: the image counts its pixels up to one, the weights are drawn with seed 0."


def image() -> Float[Tensor, "1 1 6 6"]:
    """Make a grayscale image whose pixels count from 0 to 35, divided by 35."""
    return torch.linspace(0, 1, SIDE**2, dtype=torch.float64).reshape(1, 1, SIDE, SIDE)


def patch_layer() -> Patches:
    """Make the patch layer of the example."""
    return Patches(SIDE, SIDE, 1, PATCH, FEATURES, _generator()).double()


def image_encoder() -> TransformerEncoder:
    """Make a small pre-norm encoder with GELU, learned positions and a final normalization, as the original has it."""
    made = TransformerEncoder(FEATURES, heads=2, mlp=8, max_positions=5, activation="gelu", generator=_generator())
    return made.double().eval()


def class_token() -> Float[Tensor, "1 1 4"]:
    """Draw the row that stands before the patches."""
    return 0.02 * torch.randn(1, 1, FEATURES, generator=_generator(), dtype=torch.float64)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _tokens() -> Float[Tensor, "1 5 4"]:
    return torch.cat((class_token(), patch_layer()(image())), dim=1).detach()


def image_patches() -> Item:
    """Cut the image into four patches of nine numbers."""
    flattened, title = patch_layer().flatten(image())[0], "Four patches of nine numbers"
    columns = ("Patch", *(f"Number {index}" for index in range(PATCH**2)))
    rows: list[list[Cell]] = [[name, *row] for name, row in zip(NAMES, flattened.tolist(), strict=True)]
    places = tuple(str(index) for index in range(SIDE))
    picture = HeatMap("The image", image()[0, 0].tolist(), places, places, "pixel rows", "pixel columns", "sequential")
    caption = "Six by six pixels; each three-by-three quarter becomes one row of the table."
    return Item("image-patches", title, "Figure 17", columns, rows, (DRAWN,), (picture,), caption)


def projected_patches() -> Item:
    """Map the patches to rows of four features."""
    values, title = patch_layer()(image())[0], "Patches projected to width four"
    return feature_table("projected-patches", title, "Figure 17, projection", values, NAMES, "Patch")


def patch_tokens() -> Item:
    """Put the class token in front and add positions."""
    positioned = image_encoder().quantities(_tokens())["positioned"][0]
    title = "Class token and patches, with positions"
    return feature_table("patch-tokens", title, "Figure 17, rows", positioned, ("class token", *NAMES), "Row")


def patch_shapes() -> Item:
    """Read off the shapes of this image, and of others."""
    layer = patch_layer()
    rows: list[list[Cell]] = [
        ["image, channels x height x width", shape_text(image()[0])],
        ["flattened patches", shape_text(layer.flatten(image())[0])],
        ["projected patches", shape_text(layer(image())[0])],
        ["with the class token", shape_text(_tokens()[0])],
        ["contextual rows", shape_text(image_encoder()(_tokens()).rows[0])],
    ]
    for height, width, channels, patch in ((6, 9, 1, 3), (224, 224, 3, 16)):
        other = Patches(height, width, channels, patch, FEATURES)
        flat = f"{other.count} x {other.projection.weight.shape[1]}"
        rows.append([f"patches of {channels} x {height} x {width}, side {patch}", flat])
    columns = ("Object", "Shape")
    title, chapter = "Shapes from image to rows", "Formula: number and size of patches"
    return Item("patch-shapes", title, chapter, columns, rows)


def class_token_prediction() -> Item:
    """Read two class logits from the class token's row, for the image and for its mirror image."""
    head = Linear(FEATURES, CLASSES, generator=_generator()).double()
    mirrored = torch.cat((class_token(), patch_layer()(image().flip(-1))), dim=1)
    rows: list[list[Cell]] = []
    for name, tokens in (("the image", _tokens()), ("its mirror image", mirrored)):
        row = image_encoder()(tokens).rows[0, 0]
        rows.append([name, *row.tolist(), *head(row).softmax(dim=-1).tolist()])
    without = TransformerEncoder(FEATURES, heads=2, mlp=8, positions=None, generator=_generator()).double().eval()
    order = torch.tensor([0, 2, 1, 4, 3])
    moved = distance(without(_tokens()).rows[0, 0], without(_tokens()[:, order]).rows[0, 0])
    columns = ("Input", *feature_names(FEATURES, "Class row, feature"), "Probability 0", "Probability 1")
    notes = (
        DRAWN,
        f"Without positions the class row would not notice patches that change places: it moves by {moved:.2g}.",
    )
    title = "A classifier reads the class token"
    return Item("class-token-prediction", title, "Formula: class-token readout", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    image_patches,
    projected_patches,
    patch_tokens,
    patch_shapes,
    class_token_prediction,
)
