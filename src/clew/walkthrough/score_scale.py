"""Two small arguments about scores: why they are divided by a root, and why their maximum is taken away."""

import torch

from clew.layers.attention_kernels import attention_step, visible_softmax
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import BEGINS, HEAD_ONE, LABELS, attention, positioned_rows
from clew.walkthrough.proverb_tables import SOURCE

HEAD_DIMS = (1, 3, 16, 64, 256)
DRAWN = (64, 1, 32)
"""Sequences, heads and positions of the drawn queries and keys: 65536 dot products for each width."""
LARGE = 1000.0
"""Added to every score: the exponential of anything above 709.8 is infinite in double precision."""


def dot_product_variance() -> Item:
    """Draw independent queries and keys of variance one and measure their scores before and after the division."""
    generator, rows = torch.Generator().manual_seed(0), []
    for head_dim in HEAD_DIMS:
        query, key = (torch.randn(*DRAWN, head_dim, generator=generator, dtype=torch.float64) for _ in range(2))
        step = attention_step(query, key, key)
        sharpest = visible_softmax(step.scores, None).amax(dim=-1).mean().item()
        variances = [part.var(correction=0).item() for part in (step.scores, step.scaled_scores)]
        rows.append([head_dim, *variances, sharpest, step.weights.amax(dim=-1).mean().item()])
    columns = (
        "d_k", "Variance of q k'", "Variance of q k' / root(d_k)", "Largest weight, unscaled", "Largest weight, scaled"
    )  # fmt: skip
    notes = (
        f"Coordinates are drawn standard normal (seed 0), for {DRAWN[0] * DRAWN[2] ** 2} dot products a row; the mean "
        f"largest weight is that of a query over {DRAWN[2]} sources.",
        "Unscaled, the variance grows as d_k and the softmax ends up on one source; scaled, neither happens.",
    )
    title = "Why scores are divided by the root of d_k"
    return Item("dot-product-variance", title, "Formula: variance of a dot product", columns, rows, notes)


def stable_softmax() -> Item:
    """Add 1000 to the scores of begins: the plain quotient overflows, the layer's softmax gives the same weights."""
    found = attention((HEAD_ONE,)).quantities(positioned_rows())
    scores = (found["scaled_scores"] + LARGE).detach()
    weights = visible_softmax(scores, None)[0, 0, BEGINS]
    row = scores[0, 0, BEGINS]
    plain, shifted = row.exp(), (row - row.max()).exp()
    parts = (row, plain, plain / plain.sum(), shifted, weights, found["weights"][0, 0, BEGINS])
    rows: list[list[Cell]] = [list(cells) for cells in zip(LABELS, *(part.tolist() for part in parts), strict=True)]
    columns = (
        SOURCE, "S_6j + 1000", "exp", "exp / sum of exp", "exp(score - maximum)", "Layer's weight", "A_6j",
    )  # fmt: skip
    notes = ("A constant added to a row of scores cancels; only the arithmetic on the way can fail.",)
    title = "Softmax with and without the maximum taken away"
    return Item("stable-softmax", title, "Formula: softmax with the maximum subtracted", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (dot_product_variance, stable_softmax)
