"""From the encoder's rows to predictions: token logits, cross-entropy, pooling. The head is untrained (seed 0)."""

import torch
from jaxtyping import Float
from torch import Tensor

from clew.data.batch import Batch
from clew.models import SequenceModel, build
from clew.models.inputs import TokenInput
from clew.models.pooling import last_valid_row, masked_mean
from clew.tasks import NextToken
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import (
    BEGINS,
    CONTINUATION,
    LABELS,
    PREFIX,
    VOCABULARY,
    WIDTH,
    ids_of,
    proverb_model,
    words_of,
)
from clew.walkthrough.proverb_tables import POSITION, feature_names, feature_table, shape_text

WITH = words_of(CONTINUATION)[0]
UNTRAINED = "The text gives no weights for the head; these are drawn with seed 0 and have learned nothing."


def token_logits() -> Item:
    """Map every contextual row to nine logits."""
    logits = proverb_model()(ids_of(PREFIX)).logits[0].detach()
    rows = [[label, *row] for label, row in zip(LABELS, logits.tolist(), strict=True)]
    title = "Logits of the vocabulary head"
    chapter = "Formula: token logits"
    return Item("token-logits", title, chapter, (POSITION, *VOCABULARY), rows, (UNTRAINED,))


def begins_probabilities() -> Item:
    """Turn the logits of begins into a distribution over the vocabulary, and score each word as the target."""
    logits = proverb_model()(ids_of(PREFIX)).logits.detach()
    probabilities = logits[0, BEGINS].softmax(dim=-1)
    losses = [_loss_of_last(word) for word in VOCABULARY]
    parts = zip(VOCABULARY, logits[0, BEGINS].tolist(), probabilities.tolist(), losses, strict=True)
    columns = ("Class c", "Logit s_6c", "Probability p_6c", "Cross-entropy as target, nats")
    notes = (
        UNTRAINED,
        f"The nine probabilities add up to {probabilities.sum().item():.15g}; a uniform guess would cost log 9 = "
        f"{torch.tensor(9.0).log().item():.3g} nats.",
    )
    title = "Nine classes at the begins row"
    rows: list[list[Cell]] = [list(part) for part in parts]
    return Item("begins-probabilities", title, "Formula: class softmax and cross-entropy", columns, rows, notes)


def _loss_of_last(word: str) -> float:
    """Score a word as the one that follows the prefix, by the next-token task; its last row reads the seven words."""
    scores = NextToken(len(VOCABULARY)).score(proverb_model(), Batch(ids_of((*PREFIX, word))))
    return scores.losses_nats[0, -1].item()


def readouts() -> Item:
    """Ask autograd which of the encoder's rows the head of each task reads."""
    words = ids_of(PREFIX)
    forecaster = build("transformer", features=1, outputs=1, hidden=4, head="last", causal=True).double().eval()
    measured = torch.linspace(0.1, 0.7, len(PREFIX), dtype=torch.float64).reshape(1, -1, 1)
    rows = [
        _readout(task, model, inputs, visibility)
        for task, model, inputs, visibility in (
            ("Label supplied words", proverb_model(head="rows"), words, "all words"),
            ("Classify a recording", proverb_model(head="mean"), words, "all real steps"),
            ("Predict the next token", proverb_model(causal=True, head="last"), words, "this step and earlier ones"),
            ("Forecast a measurement", forecaster, measured, "this step and earlier ones"),
        )
    ]
    columns = ("Task", "Head", "Rows it reads", "Shape of the prediction", "Each row has read")
    title = "Which rows a head reads"
    notes = (f"Of {len(PREFIX)} rows. The last measurement is the last one observed; what is forecast is no input.",)
    return Item("readouts", title, "Table 32", columns, rows, notes)


def _readout(task: str, model: SequenceModel, inputs: Tensor, visibility: str) -> list[Cell]:
    output = model(inputs)
    (reached,) = torch.autograd.grad(output.logits.sum(), output.rows)
    read = int((reached[0] != 0).any(dim=1).sum())
    return [task, type(model.head).__name__, read, shape_text(output.logits[0]), visibility]


def masked_mean_pooling() -> Item:
    """Average the rows of the proverb, alone and padded to nine positions."""
    model, padded, valid = proverb_model(), *padded_prefix()
    alone, rows = model(ids_of(PREFIX)).rows.detach(), model(padded, valid=valid).rows.detach()
    table: list[list[Cell]] = [
        _pooled("mean of the 7 rows alone", masked_mean(alone)),
        _pooled("masked mean of 9 rows, 2 of them padding", masked_mean(rows, valid)),
        _pooled("mean over all 9 rows", masked_mean(rows)),
        _pooled("last valid row", last_valid_row(rows, valid)),
    ]
    columns = ("Readout", *feature_names(WIDTH))
    notes = ("The divisor counts real rows. Padding holds another word here, and the masked mean does not notice.",)
    title = "Masked mean pooling"
    return Item("masked-mean-pooling", title, "Formula: masked mean pooling", columns, table, notes)


def _pooled(name: str, row: Float[Tensor, "1 width"]) -> list[Cell]:
    return [name, *row[0].tolist()]


def padded_prefix() -> tuple[Tensor, Tensor]:
    """Pad the prefix to nine positions with a word that means nothing there, and say what is real."""
    padded = ids_of((*PREFIX, "step", "step"))
    return padded, torch.arange(padded.shape[1]).unsqueeze(0) < len(PREFIX)


def head_and_table() -> Item:
    """Compare the embedding table with the head's weights: equal shapes, different operations."""
    model = proverb_model()
    assert isinstance(model.inputs, TokenInput)
    shapes = [shape_text(part.weight) for part in (model.inputs.embedding, model.head.linear)]
    rows: list[list[Cell]] = [
        ["stored shape", *shapes],
        ["reads", "a token ID", "a row of five features"],
        ["gives", "a row of five features", "nine logits"],
    ]
    title = "Embedding table and vocabulary head"
    columns = ("Property", "Embedding table", "Vocabulary head")
    return Item("head-and-table", title, "Formula: vocabulary head", columns, rows)


def pooled_rows() -> Item:
    """Give the rows that a head reads from a padded batch: zeros at padding."""
    padded, valid = padded_prefix()
    rows = proverb_model()(padded, valid=valid).rows[0].detach()
    labels = (*LABELS, "7: padding", "8: padding")
    title = "Rows of a padded sequence"
    notes = ("The encoder gives zeros at padding, so that no readout can mistake it for a word.",)
    return feature_table("pooled-rows", title, "Formula: rows at padding", rows, labels, notes=notes)


ITEMS: tuple[Builder, ...] = (
    head_and_table,
    token_logits,
    begins_probabilities,
    readouts,
    masked_mean_pooling,
    pooled_rows,
)
