"""Confusions 4 to 11 of Table 35, each as a computation that tells the mistake from what is so."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clew import visibility
from clew.data.batch import Batch
from clew.layers import LayerNorm
from clew.models.pooling import masked_mean
from clew.tasks import NextToken
from clew.walkthrough.encoder_block import block_stages
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.next_tokens import GENERATED, RULES, generate, stacked_rows
from clew.walkthrough.proverb import (
    BEGINS,
    CONTINUATION,
    HEAD_ONE,
    HEAD_TWO,
    LABELS,
    PREFIX,
    VOCABULARY,
    WIDTH,
    attention,
    embedded_rows,
    encoder,
    ids_of,
    positioned_rows,
    proverb_model,
    words_of,
)
from clew.walkthrough.proverb_tables import POSITION, distance
from clew.walkthrough.task_heads import padded_prefix


def weights_index_sources() -> Item:
    """Lengthen the prefix: the number of weights follows it, the number of output features does not."""
    rows: list[list[Cell]] = []
    for length in (1, 3, 5, 7):
        found = attention((HEAD_ONE,)).quantities(positioned_rows(PREFIX[:length]))
        weights, context = found["weights"][0, 0, -1], found["context"][0, 0, -1]
        rows.append([length, len(weights), weights.sum().item(), len(context)])
    columns = ("Words", "Weights of the last query", "Their sum", "Output features")
    title = "Seven weights are not seven output features"
    return Item("weights-index-sources", title, "Confusion 4", columns, rows)


def two_softmaxes() -> Item:
    """Put the softmax over sources beside the softmax over classes."""
    model, ids = proverb_model(), ids_of(PREFIX)
    weights = encoder().quantities(embedded_rows())["blocks.0.attention.weights"][0, 0, BEGINS]
    classes = model(ids).logits[0, BEGINS].softmax(dim=-1)
    other = proverb_model(head_seed=1)(ids).logits[0, BEGINS].softmax(dim=-1)
    rows: list[list[Cell]] = [
        ["attention weights of head 1", "sources", len(weights), weights.sum().item(), LABELS[int(weights.argmax())]],
        ["class probabilities", "vocabulary", len(classes), classes.sum().item(), VOCABULARY[int(classes.argmax())]],
        ["another vocabulary head", "vocabulary", len(other), other.sum().item(), VOCABULARY[int(other.argmax())]],
    ]
    columns = ("At begins", "Normalized over", "Entries", "Sum", "Largest")
    notes = ("The heads are untrained. Another one changes the prediction and leaves every attention weight as it is.",)
    title = "The attention softmax predicts no word"
    return Item("two-softmaxes", title, "Confusion 5", columns, rows, notes)


def heads_read_everything() -> Item:
    """Ask autograd which sources and which features each head's output for begins depends on."""
    rows: list[list[Cell]] = []
    for number, head in enumerate((HEAD_ONE, HEAD_TWO), start=1):
        layer, inputs = attention((head,)), positioned_rows().requires_grad_()
        found = layer.quantities(inputs)
        reached = torch.zeros_like(inputs)
        for feature in found["context"][0, 0, BEGINS]:
            reached += torch.autograd.grad(feature, inputs, retain_graph=True)[0].abs()
        sources, features = ((reached[0] > 0).any(dim=axis).sum().item() for axis in (1, 0))
        rows.append([f"head {number}", sources, features, found["weights"][0, 0, BEGINS].min().item()])
    columns = ("Head", "Positions it depends on", "Input features it depends on", "Smallest weight of begins")
    notes = (f"There are {len(PREFIX)} positions and {WIDTH} features, and each head reads them all.",)
    title = "Heads do not split the sentence"
    return Item("heads-read-everything", title, "Confusion 6", columns, rows, notes)


def normalization_stays_in_the_row() -> Item:
    """Disturb everything but the begins row and see whether its normalized row moves; BatchNorm stands beside it."""
    rows = positioned_rows()[0]
    disturbed = rows.clone()
    disturbed[:BEGINS] += 1
    table: list[list[Cell]] = []
    for name, norm in (("LayerNorm", LayerNorm(WIDTH).double()), ("BatchNorm", nn.BatchNorm1d(WIDTH).double())):
        norm.train()
        moved = distance(norm(rows)[BEGINS], norm(disturbed)[BEGINS])
        trained = norm(rows)[BEGINS]
        table.append([name, moved, distance(trained, norm.eval()(rows)[BEGINS])])
    columns = ("Normalization", "Begins moved by other words", "Begins, training against evaluation")
    notes = ("One is added to all features of the six other words.",)
    title = "LayerNorm mixes neither words nor batches"
    return Item("normalization-stays-in-the-row", title, "Confusion 7", columns, table, notes)


def second_bypass() -> Item:
    """Take the MLP branch away from the block's output and see what is left."""
    found = block_stages()
    left = found["output"] - found["mlp_branch"]
    rows: list[list[Cell]] = [
        ["the first sum U", distance(left, found["attention_sum"])],
        ["the block's input H", distance(left, positioned_rows()[0])],
        ["the normalized row LN₂(U)", distance(left, found["mlp_input"])],
    ]
    columns = ("Output without the MLP branch, compared with", "Greatest distance")
    return Item("second-bypass", "The second bypass carries U", "Confusion 8", columns, rows)


def masking_sources_is_not_enough() -> Item:
    """Hide padding from attention and forget it in pooling and loss."""
    padded, valid = padded_prefix()
    model, task = proverb_model(causal=True), NextToken(len(VOCABULARY))
    parts = [_encoded(padded, visible) for visible in (visibility.from_valid(valid), None)]
    alone = proverb_model()(ids_of(PREFIX)).rows
    rows: list[list[Cell]] = [
        ["row of begins", *(distance(part[:, BEGINS], alone[:, BEGINS]) for part in parts)],
        ["mean of the real rows", *(distance(masked_mean(part, valid), masked_mean(alone)) for part in parts)],
        ["mean of all nine rows", *(distance(masked_mean(part), masked_mean(alone)) for part in parts)],
    ]
    error = abs(task.loss(model, Batch(padded)).item() - task.loss(model, Batch(padded, valid)).item())
    rows.append(["next-token loss over all eight targets", error, error])
    columns = ("Quantity", "Padding hidden from attention: error", "Padding not hidden: error")
    notes = (
        "Errors are distances from the seven words alone. The loss is that of a causal model, which hides padding on "
        "the right anyway. Hidden sources mend the rows; pooling and loss need an exclusion of their own.",
    )
    title = "Masking padded sources is not enough"
    return Item("masking-sources-is-not-enough", title, "Confusion 9", columns, rows, notes)


def _encoded(padded: Tensor, visible: Tensor | None) -> Float[Tensor, "1 time width"]:
    return proverb_model()(padded, visible=visible).rows.detach()


def last_layer_mask() -> Item:
    """Change the last word and see which rows of a stack of two blocks move."""
    other = (*PREFIX[:BEGINS], "step")
    moved = []
    for rules in RULES:
        rows = [stacked_rows(proverb_model(layers=2), words, rules)[0] for words in (PREFIX, other)]
        moved.append((rows[1] - rows[0]).abs().amax(dim=-1).tolist())
    table: list[list[Cell]] = [list(row) for row in zip(LABELS, *moved, strict=True)]
    columns = (POSITION, "Causal in both blocks", "Causal in the last block only", "Unrestricted")
    notes = ("The word at position 6 is changed from begins to step; shown is how far each final row moves.",)
    title = "A mask in the last layer comes too late"
    return Item("last-layer-mask", title, "Confusion 10", columns, table, notes)


def known_record_or_generated_prefix() -> Item:
    """Read the recorded continuation in one pass, and the generated one word by word."""
    recorded, generated = words_of(CONTINUATION), generate(GENERATED, head_seed=1)
    model = proverb_model(causal=True, head_seed=1)
    one_pass = model(ids_of((*PREFIX, *recorded))).logits[0]
    rows: list[list[Cell]] = []
    for step in range(GENERATED):
        own = model(ids_of((*PREFIX, *generated[:step]))).logits[0, -1]
        row = one_pass[BEGINS + step]
        words = [VOCABULARY[int(part.argmax())] for part in (row, own)]
        read = [" ".join(part[:step]) or "(the prefix)" for part in (recorded, generated)]
        rows.append([step + 1, read[0], words[0], read[1], words[1], distance(row, own)])
    columns = (
        "Step", "Recorded words read", "Predicted", "Generated words read", "Predicted and appended",
        "Distance of the logits",
    )  # fmt: skip
    notes = (
        f"The record takes one pass for its {GENERATED} rows; generation takes {GENERATED} passes, each after the last "
        "word is chosen. Once a word differs, they read different inputs. The head (seed 1) is untrained.",
    )
    title = "A known record is not a generated prefix"
    return Item("known-record-or-generated-prefix", title, "Confusion 11", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (
    weights_index_sources,
    two_softmaxes,
    heads_read_everything,
    normalization_stays_in_the_row,
    second_bypass,
    masking_sources_is_not_enough,
    last_layer_mask,
    known_record_or_generated_prefix,
)
