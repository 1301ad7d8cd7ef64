"""What one head gives when later positions are hidden from it: Table 16, Figure 11 and the boundary they draw."""

import torch
from jaxtyping import Float
from torch import Tensor

from clew.visibility import causal, to_additive
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import HEAD_ONE, JOURNEY, LABELS, PREFIX, VOCABULARY, attention, positioned_rows
from clew.walkthrough.proverb_tables import POSITION, SOURCE, distance, feature_table, pair_table


def _head(words: tuple[str, ...] = PREFIX, is_causal: bool = True) -> dict[str, Float[Tensor, "time ..."]]:
    """Compute the first head on some words, without its batch and head axes."""
    visible = causal(len(words)) if is_causal else None
    found = attention((HEAD_ONE,)).quantities(positioned_rows(words), visible)
    return {name: found[name][0, 0].detach() for name in ("weights", "context", "value")}


def journey_weights() -> Item:
    """Compare the two rules at the journey query."""
    parts = [_head(is_causal=is_causal)["weights"][JOURNEY].tolist() for is_causal in (False, True)]
    columns = (SOURCE, "Unrestricted A_1j", "Causal A_1j")
    rows = [list(row) for row in zip(LABELS, *parts, strict=True)]
    return Item("journey-weights", "Journey reads all, or only what is behind it", "Table 16", columns, rows)


def causal_weights() -> Item:
    """Hide later sources from every query."""
    title, weights = "Causal weights of all queries", _head()["weights"]
    caption = "Later sources are hidden before the softmax; what is left of a row adds up to one."
    notes = (f"Each row adds up to one; the last differs from the unrestricted one by {_last_row_distance():g}.",)
    return pair_table("causal-weights", title, "Figure 11", weights, causal(len(PREFIX)), notes=notes, caption=caption)


def _last_row_distance() -> float:
    free, bound = _head(is_causal=False)["weights"], _head()["weights"]
    return distance(free[-1], bound[-1])


def causal_outputs() -> Item:
    """Mix the values with the causal weights."""
    title = "Output rows of the causal head"
    return feature_table("causal-outputs", title, "Formula: causal head output", _head()["context"])


def future_word_changed() -> Item:
    """Put another word behind journey and see whose output moves."""
    other = (*PREFIX[:2], "step", *PREFIX[3:])
    assert "step" in VOCABULARY
    rows: list[list[Cell]] = []
    moved = [
        (_head(other, is_causal)["context"] - _head(PREFIX, is_causal)["context"]).abs().amax(dim=-1).tolist()
        for is_causal in (False, True)
    ]
    for label, free, bound in zip(LABELS, *moved, strict=True):
        rows.append([label, free, bound])
    columns = (POSITION, "Unrestricted: moved by", "Causal: moved by")
    notes = ("The word at position 2 is changed from of to step. Causal rows 0 and 1 stay the same to the last bit.",)
    title = "A later word changed"
    return Item("future-word-changed", title, "Formula: causal boundary of one head", columns, rows, notes)


def zeroing_is_not_masking() -> Item:
    """Zero the later weights of journey after the softmax, beside the mask before it."""
    free, bound = _head(is_causal=False)["weights"][JOURNEY], _head()["weights"][JOURNEY]
    zeroed = free * causal(len(PREFIX))[JOURNEY]
    rows: list[list[Cell]] = [
        list(row) for row in zip(LABELS, *(part.tolist() for part in (free, zeroed, bound)), strict=True)
    ]
    rows.append(["Sum", free.sum().item(), zeroed.sum().item(), bound.sum().item()])
    columns = (SOURCE, "Unrestricted", "Zeroed afterwards", "Masked before the softmax")
    title = "Zeroing weights is not masking scores"
    return Item("zeroing-is-not-masking", title, "Formula: mask before the softmax", columns, rows)


def nothing_to_read() -> Item:
    """Hide every source from one query: a plain softmax is undefined there, the layer gives zeros."""
    visible = causal(3)
    visible[1] = False
    found = attention((HEAD_ONE,)).quantities(positioned_rows(PREFIX[:3]), visible)
    plain = (found["scaled_scores"][0, 0] + to_additive(visible, torch.float64)).softmax(dim=-1)
    rows: list[list[Cell]] = [
        [label, *one, *other]
        for label, one, other in zip(LABELS, plain.tolist(), found["weights"][0, 0].tolist(), strict=False)
    ]
    columns = ("Query: token", *(f"{way}, source {source}" for way in ("Plain", "Layer") for source in range(3)))
    notes = ("The query at position 1 may read nothing here: its output row is zero, without any gradient.",)
    title = "A query without any source"
    return Item("nothing-to-read", title, "Formula: a fully masked row", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    journey_weights,
    causal_weights,
    causal_outputs,
    future_word_changed,
    zeroing_is_not_masking,
    nothing_to_read,
)
