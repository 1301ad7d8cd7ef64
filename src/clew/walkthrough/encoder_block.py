"""The pre-norm block on the seven positioned rows, stage by stage, and its final normalization (Tables 23 to 31)."""

import torch
from jaxtyping import Float
from torch import Tensor

from clew.layers import LayerNorm
from clew.walkthrough.block_structure import affine_without_activation, encoder_route, mixing_axes, two_bypasses
from clew.walkthrough.items import Builder, Cell, Item, labelled_rows
from clew.walkthrough.proverb import BEGINS, LABELS, WIDTH, block, embedded_rows, encoder, load, positioned_rows
from clew.walkthrough.proverb_tables import POSITION, feature_names, feature_table

STAGES = (
    ("LN₁ input to attention", "attention_input"),
    ("Attention branch", "attention_branch"),
    ("First sum U", "attention_sum"),
    ("LN₂ input to MLP", "mlp_input"),
    ("MLP branch", "mlp_branch"),
    ("Block output H⁽¹⁾", "output"),
)
"""The text's name of a stage, and the block's."""


def block_stages() -> dict[str, Float[Tensor, "..."]]:
    """Compute every quantity of the block on the positioned rows, without the batch axis."""
    return {name: values[0].detach() for name, values in block().quantities(positioned_rows()).items()}


def encoder_output() -> Float[Tensor, "time width"]:
    """Run the stack of one block from the embeddings on: positions, block, final normalization."""
    return encoder()(embedded_rows()).rows[0].detach()


def begins_through_block() -> Item:
    """Follow one row through all stages."""
    found = block_stages()
    rows: list[list[Cell]] = [["Input H⁽⁰⁾", *positioned_rows()[0, BEGINS].tolist()]]
    rows += [[label, *found[name][BEGINS].tolist()] for label, name in STAGES]
    rows.append(["Final LN (one-block stack)", *encoder_output()[BEGINS].tolist()])
    notes = ("The second sum adds to U, not to the input and not to what a normalization gave.",)
    columns = ("Stage", *feature_names(WIDTH))
    return Item("begins-through-block", "Begins through the block", "Table 23", columns, rows, notes)


def normalization_statistics() -> Item:
    """Read mean and variance off both normalizations."""
    layer, found = block(), block_stages()
    first = layer.attention_norm.quantities(positioned_rows()[0])
    second = layer.mlp_norm.quantities(found["attention_sum"])
    values = torch.cat([part[name] for part in (first, second) for name in ("mean", "variance")], dim=1)
    columns = (POSITION, "LN₁ mean", "LN₁ variance", "LN₂ mean", "LN₂ variance")
    rows = labelled_rows(LABELS, values)
    title = "Mean and variance of each row"
    return Item("normalization-statistics", title, "Table 24", columns, rows)


def begins_normalized() -> Item:
    """Spell out the first normalization of one row."""
    row = positioned_rows()[0, BEGINS]
    step = block().attention_norm.quantities(row)
    mean, variance = step["mean"].item(), step["variance"].item()
    rows: list[list[Cell]] = [
        [f"Feature {feature}", value, value - mean, normalized]
        for feature, (value, normalized) in enumerate(zip(row.tolist(), step["output"].tolist(), strict=True))
    ]
    again = block().attention_norm.quantities(step["normalized"])
    rows.append(["Mean", mean, None, again["mean"].item()])
    rows.append(["Variance", variance, None, again["variance"].item()])
    rows.append(["variance / (variance + epsilon)", None, None, variance / (variance + block().attention_norm.epsilon)])
    columns = ("Feature", "h_6", "h_6 - mean", "Normalized")
    title = "LayerNorm of the begins row"
    return Item("begins-normalized", title, "Formula: LayerNorm", columns, rows)


def constant_row_normalized() -> Item:
    """Normalize a row without any variance: it gives the shift, and nothing is divided by zero."""
    norm = LayerNorm(WIDTH).double()
    shift = (0.1, -0.2, 0.3, 0.0, 0.5)
    rows: list[list[Cell]] = []
    constant = torch.full((WIDTH,), 0.7, dtype=torch.float64)
    rows.append(["constant row, beta = 0", *norm(constant).tolist()])
    load(norm.bias, shift)
    rows.append(["constant row, beta as below", *norm(constant).tolist()])
    rows.append(["beta", *norm.bias.tolist()])
    title = "A constant row becomes the shift"
    columns = ("Row", *feature_names(WIDTH))
    return Item("constant-row-normalized", title, "Formula: LayerNorm of a constant row", columns, rows)


def stage_normalized() -> Item:
    """Give what attention reads."""
    return _stage("stage-normalized", "After the first normalization", "Table 25", "attention_input")


def stage_attention() -> Item:
    """Give the attention branch, recomputed from normalized rows."""
    return _stage("stage-attention", "Attention branch", "Table 26", "attention_branch")


def stage_residual1() -> Item:
    """Give the first residual sum."""
    return _stage("stage-residual1", "First residual sum", "Table 27", "attention_sum")


def stage_mlp_normalized() -> Item:
    """Give what the MLP reads."""
    return _stage("stage-mlp-normalized", "After the second normalization", "Table 28", "mlp_input")


def stage_mlp() -> Item:
    """Give the MLP branch."""
    return _stage("stage-mlp", "MLP branch", "Table 29", "mlp_branch")


def stage_output() -> Item:
    """Give the block's output."""
    return _stage("stage-output", "Output of the block", "Table 30", "output")


def stage_final() -> Item:
    """Give what the stack hands to a task head."""
    return feature_table("stage-final", "After the stack's final normalization", "Table 31", encoder_output())


def _stage(id: str, title: str, chapter: str, name: str) -> Item:
    return feature_table(id, title, chapter, block_stages()[name])


def begins_in_mlp() -> Item:
    """Follow one row through the MLP: four preactivations, of which ReLU keeps two."""
    found = block_stages()
    rows: list[list[Cell]] = [
        [f"Hidden feature {index}", *values]
        for index, values in enumerate(
            zip(found["mlp.preactivation"][BEGINS].tolist(), found["mlp.hidden"][BEGINS].tolist(), strict=True)
        )
    ]
    rows += [
        [f"Branch feature {index}", None, value] for index, value in enumerate(found["mlp.output"][BEGINS].tolist())
    ]
    columns = ("Feature", "Preactivation z", "Value")
    title = "Begins in the MLP"
    return Item("begins-in-mlp", title, "Formula: position-wise MLP", columns, rows)


def attention_before_and_after_normalization() -> Item:
    """Compare what attention gives for begins on positioned and on normalized rows, with equal weights."""
    raw = block().attention.quantities(positioned_rows())["output"][0, BEGINS]
    normalized = block_stages()["attention_branch"][BEGINS]
    rows = [["reads H⁽⁰⁾ (Table 20)", *raw.tolist()], ["reads LN₁(H⁽⁰⁾) (Table 26)", *normalized.tolist()]]
    notes = ("Normalization changes every query, key and value, so the branch has to be computed anew.",)
    columns = ("Attention at begins", *feature_names(WIDTH))
    id, title = "attention-before-and-after-normalization", "The same attention on two inputs"
    return Item(id, title, "Formula: attention inside the block", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    encoder_route,
    two_bypasses,
    mixing_axes,
    begins_normalized,
    constant_row_normalized,
    attention_before_and_after_normalization,
    begins_in_mlp,
    affine_without_activation,
    begins_through_block,
    normalization_statistics,
    stage_normalized,
    stage_attention,
    stage_residual1,
    stage_mlp_normalized,
    stage_mlp,
    stage_output,
    stage_final,
)
