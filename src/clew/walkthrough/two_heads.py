"""Two heads side by side: their mixtures, the joined features and the map back to width five (Tables 17 to 21)."""

from jaxtyping import Float
from torch import Tensor, nn

from clew.layers import MultiHeadAttention
from clew.models.interchange.attention import attention_to_torch
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import BEGINS, LABELS, OUTPUT_MAP, attention, positioned_rows
from clew.walkthrough.proverb_tables import distance, feature_names, feature_table, shape_text

PARTITIONS = ((5, 2, 3), (6, 2, 3), (4, 2, 2))
"""Width, heads and head width: the example's, and two that share the width out."""


def two_heads() -> dict[str, Float[Tensor, "..."]]:
    """Compute every quantity of both heads on the positioned rows, without the batch axis."""
    found = attention().quantities(positioned_rows())
    return {name: values[0].detach() for name, values in found.items()}


def head_two_begins() -> Item:
    """Project the begins row for the second head."""
    found = two_heads()
    rows = [[name, *found[name][1, BEGINS].tolist()] for name in ("query", "key", "value", "context")]
    columns = ("Quantity of head 2", *feature_names(3))
    title = "Begins in the second head"
    return Item("head-two-begins", title, "Formula: second head at begins", columns, rows)


def two_mixtures() -> Item:
    """Compare the weights of begins in the two heads."""
    weights = two_heads()["weights"][:, BEGINS]
    rows = [list(row) for row in zip(LABELS, *weights.tolist(), strict=True)]
    columns = ("Source", "Head 1 weight", "Head 2 weight")
    notes = ("Each column adds up to one by itself; the two heads are never normalized together.",)
    return Item("two-mixtures", "Begins reads the sources twice", "Table 17", columns, rows, notes)


def head_one_outputs() -> Item:
    """Give the first head's rows once more, out of the layer with two heads."""
    return feature_table("head-one-outputs", "Output rows of head 1", "Table 18", two_heads()["context"][0])


def head_two_outputs() -> Item:
    """Give the second head's rows."""
    return feature_table("head-two-outputs", "Output rows of head 2", "Table 19", two_heads()["context"][1])


def joined_heads() -> Item:
    """Put the heads' features side by side within each row."""
    notes = ("The first three features are head 1's, the next three head 2's; there are still seven rows.",)
    title = "Both heads, joined along features"
    return feature_table("joined-heads", title, "Figure 12", two_heads()["joined"], notes=notes)


def output_map_of_begins() -> Item:
    """Spell out the first output feature of begins."""
    found = two_heads()
    joined, weights = found["joined"][BEGINS].tolist(), OUTPUT_MAP[0]
    rows: list[list[Cell]] = [
        [f"c_6,{index}", value, float(weight), value * weight]
        for index, (value, weight) in enumerate(zip(joined, weights, strict=True))
    ]
    rows.append(["B_6,0 of the layer", None, None, found["output"][BEGINS, 0].item()])
    columns = ("Joined feature", "Value", "Weight W_O[0, :]", "Product")
    notes = ("The output map mixes features within a row; the attention weights did the mixing across rows.",)
    title = "From six joined features to the first output feature"
    return Item("output-map-of-begins", title, "Formula: output projection", columns, rows, notes)


def attention_branch() -> Item:
    """Map the joined heads back to width five."""
    return feature_table("attention-branch", "Output of the attention layer", "Table 20", two_heads()["output"])


def attention_shapes() -> Item:
    """Read the shapes off the quantities."""
    found = two_heads()
    rows = [
        ["Positioned input H⁽⁰⁾", shape_text(positioned_rows()[0]), "starting representation"],
        ["Each head's queries, keys, values", shape_text(found["query"][0]), "its own projected features"],
        ["Each head's attention weights", shape_text(found["weights"][0]), "shares of the sources for every query"],
        ["Each head's output O^[i]", shape_text(found["context"][0]), "context mixed within that head"],
        ["Concatenated outputs C", shape_text(found["joined"]), "two feature sets side by side"],
        ["Output right multiplier W_O'", shape_text(attention().output_map.weight.T), "joined to model features"],
        ["Attention branch B_att", shape_text(found["output"]), "contextual features at the model width"],
    ]
    columns = ("Stage", "Shape", "What changes")
    return Item("attention-shapes", "Shapes on the way through two heads", "Table 21", columns, rows)


def standard_partition() -> Item:
    """Ask torch.nn for the same attention: it can only share the width out among the heads."""
    rows: list[list[Cell]] = []
    for width, heads, head_dim in PARTITIONS:
        layer = MultiHeadAttention(width, heads, head_dim).double()
        rows.append([f"D={width}, {heads} heads of {head_dim}", heads * head_dim, *_in_torch(layer)])
    columns = ("Configuration", "Joined width", "nn.MultiheadAttention", "Distance of the outputs")
    notes = ("Where torch.nn takes the configuration, it is given the layer's weights and the same rows.",)
    title = "The example beside nn.MultiheadAttention"
    return Item("standard-partition", title, "Formula: standard head widths", columns, rows, notes)


def _in_torch(layer: MultiHeadAttention) -> tuple[str, float | None]:
    try:
        nn.MultiheadAttention(layer.width, layer.heads)
    except AssertionError as error:
        return f"refused: {error}", None
    rows = positioned_rows().repeat(1, 1, 2)[..., : layer.width]
    expected = attention_to_torch(layer)(rows, rows, rows)[0]
    return "accepted", distance(layer(rows), expected)


ITEMS: tuple[Builder, ...] = (
    head_two_begins,
    two_mixtures,
    head_one_outputs,
    head_two_outputs,
    joined_heads,
    output_map_of_begins,
    attention_branch,
    attention_shapes,
    standard_partition,
)
