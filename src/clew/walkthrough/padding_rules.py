"""Padding and targets: who is read, which rows count, how unequal lengths are weighed, and what True means where."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from clew import visibility
from clew.data.batch import Batch
from clew.layers import MultiHeadAttention
from clew.layers.attention_kernels import fused_context
from clew.models.interchange.attention import attention_to_torch
from clew.tasks import NextToken
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import (
    CONTINUATION,
    PREFIX,
    VOCABULARY,
    embedded_rows,
    encoder,
    ids_of,
    proverb_model,
    words_of,
)
from clew.walkthrough.proverb_tables import distance, pair_table

SHORT = ("a", "single", "step")
"""A second sequence, shorter than the proverb."""
SHOWN = ("a", "journey", "of", "a")
"""Four positions of which the last two are taken as padding, as in Figure 16."""
WRONG_ID = 99


def record() -> tuple[str, ...]:
    """Give the prefix with its whole continuation: eleven words."""
    return (*PREFIX, *words_of(CONTINUATION))


def unequal_batch() -> Batch:
    """Put the proverb's eight first words and a sequence of three side by side, padded on the right."""
    first = record()[:8]
    padded = (*SHORT, *("a",) * (len(first) - len(SHORT)))
    ids = torch.cat((ids_of(first), ids_of(padded)))
    return Batch(ids, torch.arange(len(first)) < torch.tensor([[len(first)], [len(SHORT)]]))


def padded_weights() -> Item:
    """Hide two padded sources from four queries: the padded queries still read the real ones."""
    valid = torch.tensor([[True, True, False, False]])
    found = encoder().quantities(embedded_rows(SHOWN), valid)
    weights = found["blocks.0.attention.weights"][0, 0]
    visible = visibility.from_valid(valid)[0]
    labels = ("0: a", "1: journey", "2: padding", "3: padding")
    lengths = found["blocks.0.output"][0].norm(dim=-1).tolist()
    notes = (
        f"Queries at padding are computed all the same: their block outputs have lengths {lengths[2]:.3g} and "
        f"{lengths[3]:.3g}. Whoever pools or scores has to leave them out.",
    )
    caption = "Padding is hidden as a source and still computed as a query."
    title = "Weights of head 1 with two padded sources"
    return pair_table(
        "padded-weights", title, "Figure 16", weights.detach(), visible, labels=labels, notes=notes, caption=caption
    )


def combined_visibility() -> Item:
    """Combine padding and causality for a padded row."""
    valid = torch.tensor([[True, True, True, False]])
    rows: list[list[Cell]] = []
    for name, causal in (("padding only", False), ("padding and causal", True)):
        made = encoder(causal=causal)
        allowed = made.combine_visibility(1, 4, valid)
        assert allowed is not None
        rows += [[f"{name}, query {query}", *row] for query, row in enumerate(_added(allowed[0]))]
    columns = ("Rule and query", *(f"Source {source}" for source in range(4)))
    notes = ("Written as what is added to the scores: 0 permits, -infinity hides. Source 3 is padding.",)
    title = "Padding and causality combined"
    return Item("combined-visibility", title, "Formula: mask of padding and causality", columns, rows, notes)


def _added(visible: Bool[Tensor, "query source"]) -> list[list[float]]:
    return visibility.to_additive(visible, torch.float64).tolist()


def target_validity() -> Item:
    """List what is real and what is scored in two sequences of unequal length."""
    batch, rows = unequal_batch(), []
    assert batch.valid is not None
    aligned = NextToken(len(VOCABULARY)).align(batch)
    assert aligned.scored is not None
    for sequence, length in enumerate((8, 3)):
        for position, word_id in enumerate(batch.inputs[sequence].tolist()):
            is_real = bool(batch.valid[sequence, position])
            is_scored = position < 7 and bool(aligned.scored[sequence, position])
            target = VOCABULARY[int(aligned.targets[sequence, position])] if is_scored else None
            word = VOCABULARY[word_id] if is_real else "padding"
            rows.append([f"{sequence}, {position}", word, int(is_real), target, int(is_scored)])
        assert sum(row[2] for row in rows[-8:]) == length
    columns = ("Sequence, position", "Input", "m_t", "Target", "v_t")
    notes = ("The last real word of each sequence has m_t = 1 and v_t = 0: nothing follows it in the record.",)
    title = "What is real and what is scored"
    return Item("target-validity", title, "Formula: valid inputs and scored targets", columns, rows, notes)


def loss_weighting() -> Item:
    """Weigh every target alike, or every sequence alike."""
    batch, task, model = unequal_batch(), NextToken(len(VOCABULARY)), proverb_model(causal=True)
    means, rows = [], []
    for sequence, name in enumerate(("the proverb", "a single step")):
        one = batch.select(torch.tensor([sequence]))
        means.append(task.evaluate(model, one)["loss_nats"])
        rows.append([f"mean of {name}", task.scored_targets(one), means[-1]])
    rows.append(["mean over all targets of the batch", task.scored_targets(batch), task.loss(model, batch).item()])
    rows.append(["mean of the two sequence means", None, sum(means) / len(means)])
    columns = ("Reduction", "Scored targets", "Loss, nats")
    notes = ("The task's loss is the mean over all targets: seven of the proverb's and two of the other's.",)
    title = "Unequal lengths: a mean over targets, a mean over sequences"
    return Item("loss-weighting", title, "Formula: loss over valid targets", columns, rows, notes)


def invalid_targets() -> Item:
    """Put an id that is no word at a padded target: select first, or weigh with zero afterwards."""
    batch, task, model = unequal_batch(), NextToken(len(VOCABULARY)), proverb_model(causal=True)
    assert batch.valid is not None
    spoiled = Batch(torch.where(batch.valid, batch.inputs, WRONG_ID), batch.valid)
    aligned = task.align(spoiled)
    assert aligned.scored is not None
    logits = model(aligned.inputs, valid=aligned.valid).logits
    rows: list[list[Cell]] = [
        ["clean padding, selected first", task.loss(model, batch).item()],
        [f"padding holds {WRONG_ID}, selected first", task.loss(model, spoiled).item()],
        [f"padding holds {WRONG_ID}, weighed with 0 afterwards", _weigh_afterwards(logits, aligned.targets)],
    ]
    title = "A target that is no class"
    chapter = "Formula: select before indexing"
    return Item("invalid-targets", title, chapter, ("Way", "Loss, nats, or what was said"), rows)


def _weigh_afterwards(logits: Float[Tensor, "batch time vocab"], targets: Tensor) -> str | float:
    try:
        return cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").sum().item()
    except IndexError as error:
        return f"IndexError: {error}"


def mask_conventions() -> Item:
    """Hand one causal rule to three interfaces, converted and as it is."""
    layer = MultiHeadAttention(6, 2, generator=torch.Generator().manual_seed(0)).double()
    rows = embedded_rows().repeat(1, 1, 2)[..., :6]
    visible = visibility.causal(len(PREFIX))
    torch_layer, expected = attention_to_torch(layer), layer(rows, visible)
    hidden = visibility.to_multihead_attention(visible)
    found = layer.quantities(rows, visible)
    functional = distance(fused_context(found["query"], found["key"], found["value"], visible), found["context"])
    table: list[list[Cell]] = [
        ["clew", "may read", int(visible[0, 1]), 0.0],
        ["nn.MultiheadAttention, converted", "hidden", int(hidden[0, 1]), _gap(torch_layer, rows, hidden, expected)],
        ["nn.MultiheadAttention, as it is", "hidden", int(visible[0, 1]), _gap(torch_layer, rows, visible, expected)],
        ["scaled_dot_product_attention", "may read", int(visible[0, 1]), functional],
    ]
    columns = ("Interface", "True means", "Given for query 0, source 1", "Distance from clew's output")
    notes = ("Handed over as it is, a causal rule lets nn.MultiheadAttention read the future and nothing else.",)
    title = "One rule, two meanings of True"
    return Item("mask-conventions", title, "Formula: mask conventions", columns, table, notes)


def _gap(module: torch.nn.MultiheadAttention, rows: Tensor, mask: Tensor, expected: Tensor) -> float:
    return distance(module(rows, rows, rows, attn_mask=mask, need_weights=False)[0], expected)


ITEMS: tuple[Builder, ...] = (
    padded_weights,
    combined_visibility,
    target_validity,
    loss_weighting,
    invalid_targets,
    mask_conventions,
)
