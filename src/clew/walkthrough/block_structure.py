"""How the pre-norm block is put together: its route, its two sums, and what each of its operations mixes."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from clew.layers import MLP
from clew.walkthrough.items import Cell, Item
from clew.walkthrough.proverb import (
    BEGINS,
    JOURNEY,
    MLP_HIDDEN,
    MLP_HIDDEN_BIAS,
    MLP_HIDDEN_MAP,
    MLP_OUTPUT_BIAS,
    MLP_OUTPUT_MAP,
    PREFIX,
    WIDTH,
    block,
    embedded_rows,
    encoder,
    load,
    positioned_rows,
    proverb_model,
)
from clew.walkthrough.proverb_tables import distance, shape_text

RowMap = Callable[[Float[Tensor, "1 time width"]], Float[Tensor, "1 time width"]]


def encoder_route() -> Item:
    """Follow the shapes from token ids through one block to the vocabulary head."""
    model, found = proverb_model(), encoder().quantities(embedded_rows())
    rows = [["embeddings", shape_text(embedded_rows()[0])]]
    rows += [
        [words, shape_text(found[name][0])]
        for words, name in (
            ("positioned rows H⁽⁰⁾", "positioned"),
            ("LN₁ input to attention", "blocks.0.attention_input"),
            ("weights of both heads", "blocks.0.attention.weights"),
            ("attention branch", "blocks.0.attention_branch"),
            ("first sum U", "blocks.0.attention_sum"),
            ("LN₂ input to MLP", "blocks.0.mlp_input"),
            ("MLP, hidden", "blocks.0.mlp.hidden"),
            ("MLP branch", "blocks.0.mlp_branch"),
            ("block output H⁽¹⁾", "blocks.0.output"),
            ("final normalization", "output"),
        )
    ]
    rows.append(["logits of the vocabulary head", shape_text(model.head(found["output"])[0])])
    title = "The whole route, by shape"
    return Item("encoder-route", title, "Figure 13", ("Stage", "Shape"), rows)


def two_bypasses() -> Item:
    """Check what each sum adds."""
    rows, found = positioned_rows(), block().quantities(positioned_rows())
    table: list[list[Cell]] = []
    for words, total, branch, carried in (
        ("U = H + attention branch", "attention_sum", "attention_branch", rows),
        ("H⁽¹⁾ = U + MLP branch", "output", "mlp_branch", found["attention_sum"]),
    ):
        left = found[total] - found[branch]
        normalized = found[total.replace("attention_sum", "attention_input").replace("output", "mlp_input")]
        table.append([words, distance(left, carried), distance(left, normalized)])
    columns = ("Sum", "Without its branch: distance from what the bypass carries", "... from what the branch read")
    title = "Two bypasses, neither of them normalized"
    return Item("two-bypasses", title, "Figure 14", columns, table)


def mixing_axes() -> Item:
    """Ask autograd what the begins row of each operation's output depends on."""
    made = block()
    operations: tuple[tuple[str, RowMap], ...] = (
        ("attention", made.attention),
        ("LayerNorm", made.attention_norm),
        ("MLP", made.mlp),
        ("block", made),
    )
    rows: list[list[Cell]] = []
    for name, operation in operations:
        inputs = positioned_rows().requires_grad_()
        reached = torch.zeros_like(inputs)
        for feature in operation(inputs)[0, BEGINS]:
            reached += torch.autograd.grad(feature, inputs, retain_graph=True)[0].abs()
        rows.append([name, int((reached[0] > 0).any(dim=1).sum()), int((reached[0, BEGINS] > 0).sum())])
    columns = ("Operation", "Rows that begins depends on", "Features of its own row")
    notes = (
        f"Of {len(PREFIX)} rows and {WIDTH} features. Only attention reaches other rows. ReLU silences the "
        "two hidden features of begins that would read its feature 0.",
    )
    return Item("mixing-axes", "What each operation mixes", "Figure 15", columns, rows, notes)


def affine_without_activation() -> Item:
    """Compare the MLP at the mean of journey and begins with the mean of what it gives for each."""
    one, other = block().mlp_norm(positioned_rows())[0, [JOURNEY, BEGINS]]
    rows: list[list[Cell]] = []
    for activation in ("identity", "relu"):
        layer = _mlp(activation)
        bend = distance(layer((one + other) / 2), (layer(one) + layer(other)) / 2)
        rows.append([activation, bend])
    columns = ("Activation", "Distance of the two ways")
    notes = ("An affine map does not care whether averages are taken before or after it: two maps alone are one map.",)
    title = "Two affine maps without an activation"
    return Item("affine-without-activation", title, "Formula: nonlinearity of the MLP", columns, rows, notes)


def _mlp(activation: str) -> MLP:
    layer = MLP(WIDTH, MLP_HIDDEN, activation).double()
    load(layer.hidden_map.weight, MLP_HIDDEN_MAP)
    load(layer.hidden_map.bias, MLP_HIDDEN_BIAS)
    load(layer.output_map.weight, MLP_OUTPUT_MAP)
    load(layer.output_map.bias, MLP_OUTPUT_BIAS)
    return layer
