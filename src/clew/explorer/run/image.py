"""An image cut into patches, and what one position attends to: the class token, or any patch, in a block and a head.

The picture shows the numbers that the model read; its brightness is stretched from the lowest to the highest of them.
Beside it stand the weights of attention, a cell a patch. Start with `image_part`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from torch import Tensor

from clew.errors import complain
from clew.explorer.address import WHERE, Address
from clew.explorer.faults import ExplorerError
from clew.explorer.scene import Scene
from clew.models.heads import ClassTokenHead
from clew.models.patch_input import PatchInput
from clew.models.transformer_encoder import TransformerEncoder
from clew.rendering.axes import label_at, line_between, svg, tooltip
from clew.rendering.colours import HeatScale, sequential
from clew.rendering.heat_maps import HeatAxis, heat_map
from clew.rendering.markup import element
from clew.rendering.numbers import format_number
from clew.rendering.page import figure, fragments, paragraph

SIDE = 260.0
MOST_PIXELS = 48
"""Pixels a side that are drawn; of larger images neighbouring ones are joined by their mean."""
WEIGHTS = "encoder.blocks.{block}.attention.weights"


@dataclass(frozen=True)
class Looking:
    """Whose attention is shown.

    Attributes:
        block, head: Of the encoder.
        query: Step of the encoder: 0 is the class token where there is one.
        blocks, heads: How many there are.
        first_patch: Step of the first patch.
    """

    block: int
    head: int
    query: int
    blocks: int
    heads: int
    first_patch: int


def is_of_images(scene: Scene) -> bool:
    """Say whether the model reads images patch by patch."""
    return isinstance(scene.subject.model.inputs, PatchInput)


def looking_at(scene: Scene) -> Looking:
    """Read block, head and query from the address.

    Raises:
        ExplorerError: If there is no such block, head or position.
    """
    model = scene.subject.model
    assert isinstance(model.encoder, TransformerEncoder)
    blocks = len(model.encoder.blocks)
    _, heads, time, _ = scene.ledger.quantity(WEIGHTS.format(block=0)).shape
    block, head = _chosen(scene.address, "block", blocks, blocks - 1), _chosen(scene.address, "head", heads)
    query, first = _chosen(scene.address, "query", time), int(isinstance(model.head, ClassTokenHead))
    return Looking(block, head, query, blocks, heads, first)


def _chosen(address: Address, name: str, count: int, default: int = 0) -> int:
    given = address.shown.get(name, "")
    if not given:
        return default
    if not given.isascii() or not given.isdigit() or int(given[:9]) >= count:
        raise ExplorerError(complain(WHERE, name, f"a whole number in [0, {count})", f"'{given[:20]}'"))
    return int(given[:9])


def weights_over_patches(scene: Scene, looking: Looking) -> tuple[Float[Tensor, "down along"], float | None]:
    """Give the weights of the query on each patch, and on the class token where there is one."""
    reader = scene.subject.model.inputs
    assert isinstance(reader, PatchInput)
    value = scene.ledger.quantity(WEIGHTS.format(block=looking.block)).value[scene.row, looking.head, looking.query]
    on_class = float(value[0]) if looking.first_patch else None
    return value[looking.first_patch :].reshape(reader.grid), on_class


def image_part(scene: Scene) -> Markup:
    """Show the image with its patches, the attention over it, and links to other blocks, heads and positions."""
    reader = scene.subject.model.inputs
    assert isinstance(reader, PatchInput)
    looking = looking_at(scene)
    weights, on_class = weights_over_patches(scene, looking)
    values: list[list[float]] = weights.double().tolist()
    highest = max(max(row) for row in values)
    scale = sequential(0.0, highest or 1.0)
    down, along = reader.grid
    ring = None if looking.query < looking.first_patch else divmod(looking.query - looking.first_patch, along)
    name = _position(looking, along)
    image = scene.subject.batch.inputs[scene.row]
    pictures = [
        _picture("The image and its patches", image, reader, None, scale, ring, "The image, cut into patches"),
        _picture(f"Seen by {name}", image, reader, values, scale, ring, f"The image, faded by the weights of {name}"),
        _map(values, scale, name, ring),
    ]
    total = "They" if on_class is None else f"With that on the class token, {format_number(on_class)}, they"
    caption = (
        f"Block {looking.block}, head {looking.head}: the weights of {name} over {down} by {along} patches. {total} "
        "add up to 1. In the middle, the smaller the weight, the more a patch fades."
    )
    told = paragraph(
        f"The image is read as {down * along} patches of {_size(reader)} pixels, from left to right, then down."
    )
    return fragments(told, _choices(scene, looking), figure(fragments(*pictures), caption, "panels"))


def _size(reader: PatchInput) -> str:
    height, width = reader.patches.patch
    return f"{height} by {width}"


def _position(looking: Looking, along: int) -> str:
    if looking.query < looking.first_patch:
        return "the class token"
    row, column = divmod(looking.query - looking.first_patch, along)
    return f"patch {row}.{column}"


def _map(values: Sequence[Sequence[float]], scale: HeatScale, name: str, ring: tuple[int, int] | None) -> Markup:
    cell = SIDE / max(len(values), len(values[0]))
    rows = HeatAxis("rows", [str(row) for row in range(len(values))], 1, cell, ring[0] if ring else None)
    columns = HeatAxis("columns", [str(column) for column in range(len(values[0]))], 1, cell, ring[1] if ring else None)
    return heat_map(f"Weights of {name}", values, rows, columns, scale, f"Weights of {name}, a cell a patch")


def _picture(
    title: str,
    image: Float[Tensor, "channels height width"],
    reader: PatchInput,
    weights: Sequence[Sequence[float]] | None,
    scale: HeatScale,
    ring: tuple[int, int] | None,
    description: str,
) -> Markup:
    """Draw the pixels and the borders of the patches; with weights, patches of small weight are covered."""
    pixels = _pixels(image, reader.patches.patch)
    height, width = len(pixels), len(pixels[0])
    unit = SIDE / max(height, width)
    top, left = 36.0, 8.0
    box = f'width="{unit + 0.05:.2f}" height="{unit + 0.05:.2f}"'
    drawn = [
        f'<rect x="{left + x * unit:.2f}" y="{top + y * unit:.2f}" {box} {look}/>'
        for y, row in enumerate(pixels)
        for x, look in enumerate(row)
    ]
    down, along = reader.grid
    size = (height * unit / down, width * unit / along)
    covers = [
        element(
            "rect",
            {
                "x": left + column * size[1], "y": top + row * size[0], "width": size[1], "height": size[0],
                "class": "veil", "fill-opacity": 0.92 * (1 - weight / scale.high),
            },
            tooltip(f"patch {row}.{column}: {format_number(weight)}"),
        )
        for row, line in enumerate(weights or [])
        for column, weight in enumerate(line)
    ]  # fmt: skip
    right, bottom = left + along * size[1], top + down * size[0]
    borders = [line_between(left, top + row * size[0], right, top + row * size[0], "patch") for row in range(down + 1)]
    borders += [line_between(left + c * size[1], top, left + c * size[1], bottom, "patch") for c in range(along + 1)]
    ringed = (
        {"x": left + ring[1] * size[1], "y": top + ring[0] * size[0], "width": size[1], "height": size[0]}
        if ring
        else None
    )
    parts = [
        label_at(2, 14, title, "chart-title"),
        element("g", {"class": "pixels"}, Markup("".join(drawn))),
        *covers,
        *borders,
        *([element("rect", {"class": "patch-here"} | ringed)] if ringed else []),
    ]
    return svg(round(right + 8), round(bottom + 8), description, *parts, css_class="heat image")


def _pixels(image: Float[Tensor, "channels height width"], patch: tuple[int, int]) -> list[list[str]]:
    """Give the fill or the class of each pixel that is drawn: grey, or red, green and blue where there are three."""
    values = image.double().numpy()
    step = _joined_pixels(values.shape[1:], patch)
    channels, height, width = values.shape
    values = values.reshape(channels, height // step, step, width // step, step).mean((2, 4))
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    levels = (np.nan_to_num(values) - low) / (high - low if high > low else 1.0) * 255
    shown = levels if channels == 3 else levels.mean(axis=0, keepdims=True).repeat(3, axis=0)
    colours = np.rint(shown.clip(0, 255)).astype(int).transpose(1, 2, 0).tolist()
    strange = np.where(
        np.isfinite(values).all(axis=0), "", np.where(np.isnan(values).any(axis=0), "heat-nan", "heat-inf")
    )
    return [
        [f'class="{kind}"' if kind else f'fill="#{red:02x}{green:02x}{blue:02x}"' for kind, (red, green, blue) in line]
        for line in (zip(kinds, row, strict=True) for kinds, row in zip(strange.tolist(), colours, strict=True))
    ]


def _joined_pixels(size: tuple[int, ...], patch: tuple[int, int]) -> int:
    """Choose how many pixels a side are drawn as one, so that no patch is cut across."""
    common = gcd(*patch)
    fitting = [step for step in range(1, common + 1) if common % step == 0 and max(size) <= step * MOST_PIXELS]
    return min(fitting, default=common)


def _choices(scene: Scene, looking: Looking) -> Markup:
    """Offer every block and head as a link, and every position in a form."""
    address = scene.address
    blocks = _links("Block", [address.link(block=number) for number in range(looking.blocks)], looking.block)
    heads = _links("Head", [address.link(head=number) for number in range(looking.heads)], looking.head)
    options = [
        element("option", {"value": str(step), "selected": "" if step == looking.query else None}, label)
        for step, label in enumerate(scene.tokens)
    ]
    form = element(
        "form",
        {"method": "get", "action": address.path, "class": "controls"},
        address.hidden_inputs("query"),
        element("label", {"for": "run-query"}, "Attention of"),
        element("select", {"name": "query", "id": "run-query"}, *options),
        element("button", {"type": "submit", "id": "run-query-show"}, "Show"),
    )
    return element("div", {"class": "of-image"}, blocks, heads, form)


def _links(words: str, links: Sequence[str], chosen: int) -> Markup:
    """Offer numbers as links."""
    items = [
        element(
            "a",
            {
                "href": link,
                "id": f"run-{words.lower()}-{number}",
                "aria-current": "true" if number == chosen else None,
                "aria-label": f"{words} {number}",
            },
            str(number),
        )
        for number, link in enumerate(links)
    ]
    name = element("li", {"class": "name", "aria-hidden": "true"}, words)
    return element("ul", {"class": "choices", "aria-label": words}, name, *(element("li", None, one) for one in items))
