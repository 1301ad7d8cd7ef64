"""Exercises 3 to 6, computed."""

from math import log

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from clew.layers import Linear, MultiHeadAttention
from clew.layers.attention_kernels import AttentionStep, attention_step
from clew.models.pooling import masked_mean
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import PREFIX, WIDTH, block, encoder, ids_of, load, positioned_rows, proverb_model
from clew.walkthrough.proverb_tables import distance, shape_text
from clew.walkthrough.task_heads import padded_prefix

SCORES, VALUES = (0.0, log(2), log(3)), (2.0, -1.0, 4.0)
REPORTS, SEEDS, VALIDATION, TEST, TRUTH = 20_000, 3, 512, 1024, 0.25
"""Simulated reports of three equally good seeds each, whose true accuracy is that of a guess."""


def masked_query() -> Item:
    """Attend with three scores, with and without the last source."""
    two = torch.tensor([[True, True, False]])
    rows: list[list[Cell]] = [_attention_row("unrestricted", _attend(None))]
    for shift, suffix in ((0.0, ""), (1.0, ", every value raised by 1")):
        rows.append(_attention_row(f"source 2 masked before the softmax{suffix}", _attend(two, shift)))
        weights = _attend(None).weights[0, 0, 0] * two[0]
        output = (weights @ (torch.tensor(VALUES, dtype=torch.float64) + shift)).item()
        rows.append([f"weight of source 2 zeroed afterwards{suffix}", *weights.tolist(), weights.sum().item(), output])
    columns = ("Rule", "Weight 0", "Weight 1", "Weight 2", "Sum", "Output")
    notes = (
        "With these three values both ways happen to give 0, because 2 and -1 cancel at weights in the ratio 1 : 2.",
        "The weights differ all the same: zeroed ones add up to one half. If every value is raised by 1, an average "
        "rises by 1: the masked output does, the zeroed one rises by one half.",
    )
    title = "One query, with and without its third source"
    return Item("masked-query", title, "Exercise 3", columns, rows, notes)


def _attend(visible: Bool[Tensor, "1 source"] | None, shift: float = 0.0) -> AttentionStep:
    """Run a head of width one whose keys are the scores, for a query of one."""
    query = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    key, value = (torch.tensor(part, dtype=torch.float64).reshape(1, 1, 3, 1) for part in (SCORES, VALUES))
    return attention_step(query, key, value + shift, visible)


def _attention_row(name: str, step: AttentionStep) -> list[Cell]:
    weights = step.weights[0, 0, 0]
    return [name, *weights.tolist(), weights.sum().item(), step.context.item()]


def three_heads() -> Item:
    """Give the shapes of three heads with queries of two and values of four features."""
    layer = MultiHeadAttention(WIDTH, 3, head_dim=2, value_dim=4).double()
    found = layer.quantities(positioned_rows())
    rows = [
        [name, shape_text(found[key][0, 0])]
        for name, key in (
            ("queries of a head", "query"),
            ("keys of a head", "key"),
            ("values of a head", "value"),
            ("scores of a head", "scores"),
            ("output of a head", "context"),
        )
    ]
    rows += [
        ["three heads joined", shape_text(found["joined"][0])],
        ["output map as stored", shape_text(layer.output_map.weight)],
        ["its right multiplier", shape_text(layer.output_map.weight.T)],
        ["output of the layer", shape_text(found["output"][0])],
        ["nn.MultiheadAttention(5, 3)", _refusal()],
    ]
    title = "Three heads, d_k = 2, d_v = 4"
    return Item("three-heads", title, "Exercise 4", ("Object", "Shape"), rows)


def _refusal() -> str:
    try:
        nn.MultiheadAttention(WIDTH, 3)
    except AssertionError as error:
        return f"not the standard partition: {error}"
    raise AssertionError("torch.nn took a width that its heads do not divide")


def silent_branches() -> Item:
    """Silence the attention branch, then the MLP branch too."""
    rows, inputs = [], positioned_rows()
    made, stack = block(), encoder(positions=None)
    norm = stack.final_norm
    assert norm is not None
    expected = inputs + made.mlp(made.mlp_norm(inputs))
    _silence(made.attention.output_map)
    for name, silenced in (("attention silent", None), ("both silent", made.mlp.output_map)):
        if silenced is not None:
            _silence(silenced)
        output = made(inputs)
        parts = (distance(output, expected), distance(output, inputs), distance(norm(output), inputs))
        rows.append([name, *parts])
    columns = ("Block", "Output from H + MLP(LN₂(H))", "Output from H", "Final LayerNorm of it from H")
    notes = ("A block without branches hands its input on unchanged; the stack's final LayerNorm still changes it.",)
    return Item("silent-branches", "What the two bypasses carry", "Exercise 5", columns, rows, notes)


def _silence(linear: Linear) -> None:
    load(linear.weight, torch.zeros_like(linear.weight))
    assert linear.bias is not None
    load(linear.bias, torch.zeros_like(linear.bias))


def faulty_report() -> Item:
    """Measure what choosing the best seed on the test set adds, and what pooling padded rows does."""
    test, validation = (_accuracies(episodes, seed) for seed, episodes in enumerate((TEST, VALIDATION)))
    chosen = test.gather(1, validation.argmax(dim=1, keepdim=True)).mean().item()
    padded, valid = padded_prefix()
    model = proverb_model()
    pooled, rows = masked_mean(model(ids_of(PREFIX)).rows), model(padded).rows
    masked = model(padded, valid=valid).rows
    table: list[list[Cell]] = [
        ["reported accuracy, best of three on the test set", test.max(dim=1).values.mean().item(), TRUTH],
        ["reported accuracy, chosen on validation", chosen, TRUTH],
        ["reported accuracy, mean of three", test.mean().item(), TRUTH],
        ["distance from the words alone, padded rows pooled too", distance(masked_mean(rows), pooled), 0.0],
        ["distance from the words alone, padding left out", distance(masked_mean(masked, valid), pooled), 0.0],
    ]
    columns = ("Way", "Found", "True")
    notes = (
        f"{REPORTS} simulated reports: {SEEDS} seeds that all guess with accuracy {TRUTH}, {VALIDATION} validation and "
        f"{TEST} test episodes. The best of three on the test set looks better than any of them is.",
        "Two repairs: select on validation and score the test set once, keeping every seed; pool real rows only, with "
        "padding hidden from attention.",
        "Neither says anything about delays never trained on: those need test episodes at such delays, scored once by "
        "models that were selected without them.",
    )
    title = "An evaluation with two faults"
    return Item("faulty-report", title, "Exercise 6", columns, table, notes)


def _accuracies(episodes: int, seed: int) -> Float[Tensor, "reports seeds"]:
    counts = torch.full((REPORTS, SEEDS), float(episodes), dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    return torch.binomial(counts, torch.full_like(counts, TRUTH), generator=generator) / episodes


ITEMS: tuple[Builder, ...] = (masked_query, three_heads, silent_branches, faulty_report)
