"""Words become positioned rows: ids, embeddings, sinusoids, and what an order-blind average loses (Tables 7 to 9)."""

from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from clew.layers import sinusoids
from clew.models import build
from clew.models.pooling import masked_mean
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import (
    BEGINS,
    EMBEDDINGS,
    HEAD_ONE,
    LABELS,
    PREFIX,
    VOCABULARY,
    WIDTH,
    attention,
    embedded_rows,
    embedding,
    ids_of,
    positioned_rows,
    positions,
)
from clew.walkthrough.proverb_tables import POSITION, distance, feature_table, shape_text

RISE = (0.1, 0.2, 0.3, 0.4)
"""A measurement that rises; read backwards it falls, with the same average."""
OFFSET = 3
"""Positions by which the shift relation is tried: from the first "a" to the second."""


def rise_and_fall() -> Item:
    """Compare what four readouts make of the same numbers, rising and falling."""
    rise = torch.tensor(RISE, dtype=torch.float64).reshape(1, -1, 1)
    rows: list[list[Cell]] = [_both("average of the measurements", masked_mean(rise), masked_mean(rise.flip(1)))]
    for name, preset, head, places in (
        ("Transformer without positions, averaged", "transformer", "mean", "none"),
        ("Transformer with sinusoids, averaged", "transformer", "mean", "sinusoidal"),
        ("RNN, last state", "rnn", "last", None),
    ):
        model = build(preset, features=1, outputs=1, hidden=4, head=head, positions=places).double().eval()
        rows.append(_both(name, model(rise).logits, model(rise.flip(1)).logits))
    columns = ("Readout", "Rising 0.1 to 0.4", "Falling 0.4 to 0.1", "Distance")
    notes = ("The models are untrained, drawn with seed 0: no weights would mend a distance of zero.",)
    return Item("rise-and-fall", "What an average cannot tell", "Order and available context", columns, rows, notes)


def _both(name: str, rising: Float[Tensor, "1 1"], falling: Float[Tensor, "1 1"]) -> list[Cell]:
    return [name, rising.item(), falling.item(), distance(rising, falling)]


def tokens_and_ids() -> Item:
    """List the seven positions and the ids they select."""
    ids = ids_of(PREFIX)[0].tolist()
    rows = [[position, word, ids[position]] for position, word in enumerate(PREFIX)]
    columns = ("Position t", "Input token", "Token ID k_t")
    notes = (f"{len(PREFIX)} positions, {len(set(ids))} of {len(VOCABULARY)} vocabulary entries, {WIDTH} features.",)
    return Item("tokens-and-ids", "Seven positions, six token types", "Table 7", columns, rows, notes)


def embedding_table() -> Item:
    """List the rows of the embedding layer."""
    columns = ("ID", "Token", *(f"j={feature}" for feature in range(WIDTH)))
    rows = [[index, VOCABULARY[index], *row] for index, row in enumerate(embedding().weight.tolist())]
    return Item("embedding-table", "A row of five features for each word", "Table 8", columns, rows)


def embedding_lookup() -> Item:
    """Look up the seven rows."""
    notes = ("Rows 0 and 3 are one row of the table, selected twice.",)
    caption = "Embedding rows of the seven positions, before positions are added."
    title = "Embeddings of the seven positions"
    return feature_table("embedding-lookup", title, "Figure 4", embedded_rows()[0], notes=notes, caption=caption)


def position_features() -> Item:
    """Tabulate the sinusoids of seven positions."""
    vectors = positions().table(torch.float64, torch.device("cpu"))[: len(PREFIX)]
    notes = ("The last feature is a sine without its cosine, because the width is odd.",)
    caption = "Sinusoids of width five: the first pair turns fast, the last sine hardly moves."
    title = "Position vectors of width five"
    return feature_table("position-features", title, "Figure 5", vectors, notes=notes, caption=caption)


def positioned_inputs() -> Item:
    """Add positions to the embeddings."""
    caption = "Embedding plus position, entry by entry: the two occurrences of a are no longer equal."
    title = "Positioned rows, the input of the encoder"
    return feature_table("positioned-inputs", title, "Figure 6", positioned_rows()[0], caption=caption)


def second_a() -> Item:
    """Compare the two occurrences of one word before and after positions are added."""
    embedded, positioned = embedded_rows()[0], positioned_rows()[0]
    vectors = positions().table(torch.float64, torch.device("cpu"))
    rows = []
    for name, values in (("embedding e", embedded), ("position p", vectors), ("positioned h", positioned)):
        rows += [[f"{name}_{at}", *values[at].tolist()] for at in (0, 3)]
        rows.append([f"{name}: distance", *(values[3] - values[0]).abs().tolist()])
    columns = ("Row", *(f"Feature {feature}" for feature in range(WIDTH)))
    notes = ("There is one embedding of a and it has not changed: the whole distance comes from the positions.",)
    return Item("second-a", "The two occurrences of a", "Pause: what changed for the second a?", columns, rows, notes)


def sinusoid_shift() -> Item:
    """Shift each sine and cosine pair by coefficients of the offset alone, and try the same with the unpaired sine."""
    steps = torch.arange(len(PREFIX))
    odd = _shift_errors(WIDTH)
    even = _shift_errors(WIDTH + 1)
    lone, shifted = sinusoids(steps, WIDTH)[:, -1], sinusoids(steps + OFFSET, WIDTH)[:, -1]
    rows: list[list[Cell]] = []
    for step in steps.tolist():
        now, later = lone[step].item(), shifted[step].item()
        errors = [odd[step, 0].item(), odd[step, 1].item(), even[step, 2].item()]
        rows.append([step, *errors, now, later, later / now if now else None])
    columns = (
        "Position t", "Pair (0, 1): error", "Pair (2, 3): error", "Width six, pair (4, 5): error",
        "Feature 4 at t", f"Feature 4 at t + {OFFSET}", "Factor it would need",
    )  # fmt: skip
    notes = (
        f"sin((t + {OFFSET})w) = sin(tw) cos({OFFSET}w) + cos(tw) sin({OFFSET}w), and the cosine alike: one rotation "
        "serves every t, to rounding.",
        "The lone sine of width five has no cosine to draw on: the factor it would need changes with t, and at t = 0 "
        "there is none.",
    )
    title = "Shifting sinusoids by an offset"
    return Item("sinusoid-shift", title, "Formula: shift of sinusoid pairs", columns, rows, notes)


def _shift_errors(width: int) -> Float[Tensor, "steps pairs"]:
    """Rotate the complete pairs of seven positions by the offset's own pair; give the distance to what is there."""
    steps = torch.arange(len(PREFIX))
    pairs = width // 2 * 2
    now, later, turn = (
        sinusoids(at, width)[..., :pairs].unflatten(-1, (-1, 2)) for at in (steps, steps + OFFSET, torch.tensor(OFFSET))
    )
    sine = now[..., 0] * turn[..., 1] + now[..., 1] * turn[..., 0]
    cosine = now[..., 1] * turn[..., 1] - now[..., 0] * turn[..., 0]
    return (torch.stack((sine, cosine), dim=-1) - later).abs().amax(dim=-1)


def embedding_scaling() -> Item:
    """Scale the embeddings by the root of the width, as the original Transformer does, and see what begins reads."""
    rows, scaled = embedded_rows(), embedded_rows() * sqrt(WIDTH)
    layer, place = attention((HEAD_ONE,)), positions()
    lengths = [values[0].norm(dim=-1).tolist() for values in (rows, scaled, place(torch.zeros_like(rows)))]
    weights = [layer.quantities(place(values))["weights"][0, 0, BEGINS].tolist() for values in (rows, scaled)]
    columns = (
        POSITION, "Length of e", "Length of e root(5)", "Length of p", "Begins weight, unscaled",
        "Begins weight, scaled",
    )  # fmt: skip
    table = [list(row) for row in zip(LABELS, *lengths, *weights, strict=True)]
    notes = ("The text keeps embeddings unscaled; scaling gives the word more say beside its position.",)
    title = "Embeddings scaled and unscaled"
    return Item("embedding-scaling", title, "Formula: embedding scale", columns, table, notes)


def representation_shapes() -> Item:
    """Read off which axis each count governs."""
    vectors = positions().table(torch.float64, torch.device("cpu"))[: len(PREFIX)]
    rows = [
        ["E_vocab", shape_text(embedding().weight), "one embedding for each vocabulary type"],
        ["E_seq", shape_text(embedded_rows()[0]), "embeddings selected for input occurrences"],
        ["P", shape_text(vectors), "position information for those occurrences"],
        ["H⁽⁰⁾", shape_text(positioned_rows()[0]), "occurrences with identity and position combined"],
    ]
    notes = (f"{len(EMBEDDINGS)} is the vocabulary, {len(PREFIX)} the sequence, {WIDTH} the width.",)
    columns = ("Object", "Shape", "What its rows describe")
    return Item("representation-shapes", "Vocabulary, sequence and width", "Table 9", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    rise_and_fall,
    tokens_and_ids,
    embedding_table,
    embedding_lookup,
    position_features,
    sinusoid_shift,
    positioned_inputs,
    embedding_scaling,
    second_a,
    representation_shapes,
)
