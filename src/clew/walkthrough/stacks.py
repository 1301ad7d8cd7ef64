"""What whole stacks do: depth, permuted rows, where the normalization stands, and how gradients split at a sum."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from clew.data.batch import Batch
from clew.models.blocks import TransformerBlock
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder
from clew.tasks import NextToken
from clew.visibility import causal
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import (
    BEGINS,
    LABELS,
    PREFIX,
    VOCABULARY,
    WIDTH,
    attention,
    block,
    embedded_rows,
    encoder,
    ids_of,
    positioned_rows,
    proverb_model,
)
from clew.walkthrough.proverb_tables import POSITION, distance, feature_names, shape_text

ORDER = torch.tensor([6, 2, 5, 0, 3, 1, 4])
"""The rearrangement that is tried: row t of the result is row ORDER[t] of the original."""
TARGET = VOCABULARY.index("with")


def depth() -> Item:
    """Stack one to three blocks: the shape stays, the rows do not."""
    rows: list[list[Cell]] = []
    for layers in (1, 2, 3):
        found = encoder(layers).quantities(embedded_rows())
        output, last = found["output"][0], found[f"blocks.{layers - 1}.output"][0]
        rows.append([layers, shape_text(output), *output[BEGINS].tolist(), distance(output, last)])
    columns = ("Blocks", "Shape", *(f"Begins, feature {index}" for index in range(WIDTH)), "Moved by the final norm")
    notes = ("All blocks have the weights of the text here; a trained stack has different ones in each.",)
    return Item("depth", "Blocks on top of each other", "Formula: final normalization of a stack", columns, rows, notes)


def permuted_attention() -> Item:
    """Permute the rows that attention reads: weights follow on both axes, outputs on one."""
    rows = positioned_rows()
    straight, permuted = (attention().quantities(part) for part in (rows, rows[:, ORDER]))
    queries_only, output = straight["weights"][..., ORDER, :], straight["output"][:, ORDER]
    weights = queries_only[..., ORDER]
    table: list[list[Cell]] = [
        ["weights of the permuted rows, from A permuted on both axes", distance(permuted["weights"], weights)],
        [
            "... from A with its queries permuted only",
            distance(permuted["weights"], queries_only),
        ],
        [
            "output of the permuted rows, from the output permuted",
            distance(permuted["output"], output),
        ],
        ["... from the output left as it was", distance(permuted["output"], straight["output"])],
    ]
    title, chapter = "Attention follows a permutation of its rows", "Formula: permutation equivariance of attention"
    return Item("permuted-attention", title, chapter, ("Compared", "Greatest distance"), table)


def permuted_sequences() -> Item:
    """Permute what enters the whole encoder in four ways; only two of them leave no trace of the order."""
    plain, placed, causal = encoder(positions=None), encoder(), encoder(positions=None, causal=True)
    words, rows = embedded_rows(), positioned_rows()
    table: list[list[Cell]] = [
        ["embeddings without positions", "full", _trace(plain, words)],
        ["positioned rows, positions carried along", "full", _trace(plain, rows)],
        ["words permuted, positions stay", "full", _trace(placed, words)],
        ["embeddings without positions", "causal", _trace(causal, words)],
    ]
    notes = (
        "Zero, to rounding: the output is the old one in the new order, so the order has left no trace. The other two "
        "know it: from positions, or from a mask that is tied to places.",
    )
    columns = ("What is permuted", "Visibility", "Distance of the output from the permuted old one")
    title = "Order, seen or not seen by the encoder"
    chapter = "Formula: permutation equivariance of the encoder"
    return Item("permuted-sequences", title, chapter, columns, table, notes)


def _trace(made: TransformerEncoder, rows: Float[Tensor, "1 time width"]) -> float:
    """How far the output of permuted rows lies from the permuted output."""
    return distance(made(rows[:, ORDER]).rows, made(rows).rows[:, ORDER])


def pre_and_post_norm() -> Item:
    """Run begins through both layouts with the same weights."""
    rows: list[list[Cell]] = []
    stages = ("attention_input", "attention_branch", "attention_sum", "mlp_input", "mlp_branch", "mlp_sum", "output")
    found = {norm: block(norm).quantities(positioned_rows()) for norm in ("pre", "post")}
    for stage in stages:
        parts = [found[norm][stage][0] for norm in ("pre", "post")]
        rows.append([stage, *parts[0][BEGINS].tolist(), *parts[1][BEGINS].tolist(), distance(*parts)])
    columns = (
        "Stage at begins",
        *(f"Pre-norm {index}" for index in range(WIDTH)),
        *(f"Post-norm {index}" for index in range(WIDTH)),
        "Greatest distance, all rows",
    )
    notes = ("Pre-norm normalizes what a branch reads; post-norm normalizes the sums, the bypass with them.",)
    title = "Pre-norm and post-norm on the same weights"
    return Item("pre-and-post-norm", title, "Formula: pre-norm and post-norm", columns, rows, notes)


def residual_gradient() -> Item:
    """Split the gradient at begins into what the bypass hands back and what the branch adds, at both sums."""
    rows: list[list[Cell]] = []
    for name, terms in residual_terms().items():
        rows += [[f"{name}: {term}", *values[0, BEGINS].tolist()] for term, values in terms.items()]
    columns = ("Gradient at begins", *feature_names(WIDTH))
    notes = (
        "The loss is the cross-entropy of with at the begins row, read by the untrained vocabulary head (seed 0).",
        "The bypass term is the gradient of the sum itself, unchanged; the two terms add up to the gradient below it.",
    )
    title = "Where paths meet, gradients add"
    return Item("residual-gradient", title, "Formula: residual gradient", columns, rows, notes)


def residual_gradient_by_position() -> Item:
    """Measure the two terms of the first sum at every position."""
    terms = residual_terms()["first sum"]
    lengths = [values[0].norm(dim=-1).tolist() for values in terms.values()]
    rows = [list(row) for row in zip(LABELS, *lengths, strict=True)]
    columns = (POSITION, *(f"Length of {term}" for term in terms))
    notes = ("Only the begins row is read by the loss, so only it has a bypass term; attention reaches the others.",)
    title = "Bypass and branch at each position"
    chapter = "Formula: residual gradient, all positions"
    return Item("residual-gradient-by-position", title, chapter, columns, rows, notes)


def shared_map_gradient() -> Item:
    """Split the gradient of the MLP's first map, which all positions share, into what each position adds."""
    model, rows = proverb_model(), positioned_rows()
    made = _first_block(model)
    found = made.quantities(rows, causal(len(PREFIX)))
    weight, preactivation = made.mlp.hidden_map.weight, found["mlp.preactivation"]
    loss = _loss_of_all_rows(model, found["output"])
    (sensitivity,) = torch.autograd.grad(loss, preactivation, retain_graph=True)
    (total,) = torch.autograd.grad(loss, weight, retain_graph=True)
    parts = [
        torch.autograd.grad(preactivation[0, at], weight, sensitivity[0, at], retain_graph=True)[0]
        for at in range(len(LABELS))
    ]
    added = sum(parts, torch.zeros_like(total))
    table: list[list[Cell]] = [
        [label, part.norm().item(), part[2, 2].item()] for label, part in zip(LABELS, parts, strict=True)
    ]
    table += [["all, added up", added.norm().item(), added[2, 2].item()]]
    table += [["gradient of one backward pass", total.norm().item(), total[2, 2].item()]]
    columns = ("Position: token", "Length of its contribution", "Entry W_1[2, 2]")
    notes = ("The loss is the mean cross-entropy of the next word at all seven rows, in a causal block.",)
    title = "A shared map adds up all positions"
    return Item("shared-map-gradient", title, "Formula: shared parameters of a row map", columns, table, notes)


def _loss_of_all_rows(model: SequenceModel, output: Float[Tensor, "1 time width"]) -> Float[Tensor, ""]:
    targets = NextToken(len(VOCABULARY)).align(Batch(ids_of((*PREFIX, VOCABULARY[TARGET])))).targets
    return cross_entropy(_logits(model, output)[0], targets[0])


def _logits(model: SequenceModel, output: Float[Tensor, "1 time width"]) -> Float[Tensor, "1 time vocab"]:
    assert isinstance(model.encoder, TransformerEncoder) and model.encoder.final_norm is not None
    return model.head(model.encoder.final_norm(output))


def _first_block(model: SequenceModel) -> TransformerBlock:
    assert isinstance(model.encoder, TransformerEncoder)
    made = model.encoder.blocks[0]
    assert isinstance(made, TransformerBlock)
    return made


def bypass_through_normalization() -> Item:
    """Follow the gradient from what the head reads to what the last bypass hands on, in both layouts."""
    rows: list[list[Cell]] = []
    for norm in ("pre", "post"):
        for place, gradient in _gradients_at_the_top(norm).items():
            rows.append([f"{norm}-norm: {place}", *gradient[0, BEGINS].tolist()])
    columns = ("Gradient at begins", *feature_names(WIDTH))
    notes = (
        "The loss is the cross-entropy of with at the begins row, read by the same untrained head.",
        "Pre-norm passes one LayerNorm, the stack's last, and none at a sum. Post-norm passes one at every sum.",
    )
    title = "What a bypass hands on in the two layouts"
    chapter = "Formula: residual gradient, pre-norm and post-norm"
    return Item("bypass-through-normalization", title, chapter, columns, rows, notes)


def _gradients_at_the_top(norm: str) -> dict[str, Float[Tensor, "1 time width"]]:
    made, model = encoder(norm=norm), proverb_model()
    found = block(norm).quantities(positioned_rows())
    read = found["output"] if made.final_norm is None else made.final_norm(found["output"])
    loss = cross_entropy(model.head(read)[0, BEGINS : BEGINS + 1], torch.tensor([TARGET]))
    gradients = torch.autograd.grad(loss, (read, found["output"], found["mlp_sum"]))
    return dict(zip(("what the head reads", "output of the block", "handed on by the bypass"), gradients, strict=True))


def residual_terms() -> dict[str, dict[str, Float[Tensor, "1 time width"]]]:
    """Split the gradients of both sums of the block by autograd.

    Returns:
        For "second sum" and "first sum": "bypass" (the gradient of the sum), "branch" (what comes back through the
        branch alone) and "total" (the gradient of what enters the sum's bypass, by one backward pass through it all).
    """
    model = proverb_model()
    rows = positioned_rows().requires_grad_()
    found = _first_block(model).quantities(rows)
    logits = _logits(model, found["output"])
    loss = cross_entropy(logits[0, BEGINS : BEGINS + 1], torch.tensor([TARGET]))
    return {
        "second sum": _split(loss, found["mlp_sum"], found["mlp_branch"], found["attention_sum"]),
        "first sum": _split(loss, found["attention_sum"], found["attention_branch"], rows),
    }


def _split(loss: Tensor, total_sum: Tensor, branch: Tensor, entering: Tensor) -> dict[str, Tensor]:
    (bypass,) = torch.autograd.grad(loss, total_sum, retain_graph=True)
    (through,) = torch.autograd.grad(branch, entering, bypass, retain_graph=True)
    (total,) = torch.autograd.grad(loss, entering, retain_graph=True)
    return {"bypass": bypass, "branch": through, "total": total}


ITEMS: tuple[Builder, ...] = (
    depth,
    permuted_attention,
    permuted_sequences,
    pre_and_post_norm,
    residual_gradient,
    residual_gradient_by_position,
    shared_map_gradient,
    bypass_through_normalization,
)
