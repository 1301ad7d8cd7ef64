"""Predictors of the next token by counting, scored on the same targets as a model: uniform, unigram, 5-gram.

Their contexts begin where a model's begin, at the start of each sequence (of each document, where several are packed
into one), so that windows that were cut for training cut the contexts of all alike.
"""

from math import log
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from clew.data.batch import Batch
from clew.errors import DataError, complain
from clew.tasks.ngram import NGram
from clew.tasks.sequences import Sequences, chunks, real_steps

ORDER = 5
SEQUENCES_AT_ONCE = 512


def token_references(
    vocab: int, token_bytes: tuple[int, ...] | None, train: Sequences, test: Sequences
) -> list[dict[str, Any]]:
    """Score the reference predictors on the targets that `NextToken` scores.

    Args:
        vocab: Number of token ids.
        token_bytes: Bytes of the text of each id, or None.
        train: What is counted.
        test: What is scored.

    Returns:
        Rows with `name`, `words` and the metrics of the task; an accuracy is None where it would take too long.

    Raises:
        DataError: If there is nothing to count or to score.
    """
    train_ids, train_offsets, _ = flat_ids(train)
    ids, offsets, scored = flat_ids(test)
    if not scored.any() or not len(train_ids):
        raise DataError(complain("NextToken.references", "tokens", "at least 1 to count and 1 to score", "none"))
    size = None if token_bytes is None else count_bytes(np.bincount(ids[scored], minlength=vocab), token_bytes)
    uniform = np.full(int(scored.sum()), 1 / vocab)
    rows = [_row("uniform", "gives every token the same probability", uniform, 1 / vocab, size)]
    for order, name, words in (
        (1, "unigram", "knows how often each token occurs in the training part"),
        (
            ORDER,
            f"{ORDER}-gram",
            f"counts of up to {ORDER} tokens of the training part, interpolated by Witten and Bell",
        ),
    ):
        model = NGram(train_ids, train_offsets, vocab, order)
        best = model.most_probable(ids, offsets)
        accuracy = None if best is None else float((best == ids)[scored].mean())
        rows.append(_row(name, words, model.probabilities(ids, offsets)[scored], accuracy, size))
    return rows


def flat_ids(
    data: Sequences,
) -> tuple[Int[np.ndarray, " tokens"], Int[np.ndarray, " borders"], Bool[np.ndarray, " tokens"]]:
    """Take the real tokens of all sequences one after the other, with their borders and which are targets."""
    ids, starts, scored = [], [], []
    for _, batch in chunks(data, SEQUENCES_AT_ONCE):
        valid, is_first = real_steps(batch), _is_first(batch)
        ids.append(batch.inputs[valid].cpu().numpy())
        starts.append(is_first[valid].cpu().numpy())
        is_target = valid & ~is_first
        # A gap in a row hides the target after it, as in `NextToken.align`.
        is_target[:, 1:] &= valid[:, :-1]
        scored.append(is_target[valid].cpu().numpy())
    if not ids:
        return np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, bool)
    flat, first = np.concatenate(ids).astype(np.int64), np.concatenate(starts)
    return flat, np.append(np.flatnonzero(first), len(flat)), np.concatenate(scored)


def _is_first(batch: Batch) -> Bool[torch.Tensor, "batch time"]:
    valid = real_steps(batch)
    is_first = valid & (valid.cumsum(dim=1) == 1)
    if batch.documents is not None:
        is_first[:, 1:] |= valid[:, 1:] & (batch.documents[:, 1:] != batch.documents[:, :-1])
    return is_first


def count_bytes(counts: Int[np.ndarray, " vocab"], token_bytes: tuple[int, ...]) -> int:
    """Count the bytes of a text, given how often each token is in it.

    Raises:
        DataError: If there are none.
    """
    total = int(np.asarray(token_bytes) @ counts)
    if total == 0:
        raise DataError(complain("NextToken", "bytes of the scored targets", "at least 1", total))
    return total


def _row(
    name: str, words: str, probabilities: Float[np.ndarray, " targets"], accuracy: float | None, size: int | None
) -> dict[str, Any]:
    total = float(-np.log(probabilities).sum())
    row = {"name": name, "words": words, "loss_nats": total / len(probabilities), "accuracy": accuracy}
    return row if size is None else row | {"bits_per_byte": total / log(2) / size}
