"""Simple taggers, counted on the training part: the most frequent tag, and the most frequent tag of each word.

A word is an id, or the number in the column of real-valued inputs that was named; number 0 of such a column is an
unknown word. A word that training never saw gets the most frequent tag of all.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from clew.errors import DataError, ShapeError, complain
from clew.tasks.class_references import class_shares
from clew.tasks.class_scores import class_metrics
from clew.tasks.sequences import Sequences, chunks, real_steps

SEQUENCES_AT_ONCE = 1024
UNKNOWN_WORD = 0


def tag_references(classes: int, word: int | None, train: Sequences, test: Sequences) -> list[dict[str, Any]]:
    """Score the most frequent tag and, where words are known, the most frequent tag of each word.

    Probabilities are (count + 1) / (targets + classes), for a word from its own counts; every scored step counts,
    also those that a model with `max_steps` does not read.

    Raises:
        DataError: If there is no scored target to learn from or to score.
        ShapeError: If the column of the word is not there.
    """
    words, targets = _words_and_targets(word, train)
    is_learnt = targets >= 0
    words, targets = (None if words is None else words[is_learnt]), targets[is_learnt]
    test_words, test_targets = _words_and_targets(word, test)
    if len(targets) == 0 or len(test_targets) == 0:
        raise DataError(complain("Tagging.references", "scored targets", "at least 1 in each part", "none"))
    shares = class_shares(targets, classes).log().expand(len(test_targets), -1)
    rows = [_row("majority", "always gives the most frequent tag of training", shares, test_targets)]
    if words is not None and test_words is not None:
        text = "gives each word its most frequent tag of training, an unknown one the most frequent of all"
        predicted = _per_word(classes, words, targets, test_words, is_column=word is not None)
        rows.append(_row("most_frequent_per_word", text, predicted, test_targets))
    return rows


def _per_word(
    classes: int,
    words: Int[Tensor, " train"],
    targets: Int[Tensor, " train"],
    asked: Int[Tensor, " test"],
    is_column: bool,
) -> Float[Tensor, "test classes"]:
    unique, number = words.unique(return_inverse=True)
    counts = torch.bincount(number * classes + targets, minlength=len(unique) * classes).reshape(-1, classes).double()
    place = torch.searchsorted(unique, asked).clamp(max=len(unique) - 1)
    is_known = unique[place] == asked
    if is_column:
        is_known &= asked != UNKNOWN_WORD
    # Of equally frequent tags of a word, the one that is more frequent over all.
    overall = class_shares(targets, classes)
    smoothed = (counts + 1 + 1e-6 * overall) / (counts.sum(dim=1, keepdim=True) + classes + 1e-6)
    return torch.where(is_known.unsqueeze(1), smoothed[place], overall).log()


def _words_and_targets(word: int | None, data: Sequences) -> tuple[Int[Tensor, " steps"] | None, Int[Tensor, " steps"]]:
    """Give the words and targets of all scored steps, one after the other; no words where none are known."""
    words, targets = [], []
    for _, batch in chunks(data, SEQUENCES_AT_ONCE):
        if batch.targets is None:
            raise DataError(complain("Tagging.references", "targets", "given", "none"))
        scored = (batch.targets != -1) & real_steps(batch)
        targets.append(batch.targets[scored].cpu().long())
        if batch.inputs.ndim == 2:
            words.append(batch.inputs[scored].cpu().long())
        elif word is not None:
            if word >= batch.inputs.shape[2]:
                rule = f"below the {batch.inputs.shape[2]} columns of the inputs"
                raise ShapeError(complain("Tagging.references", "word", rule, word))
            words.append(batch.inputs[..., word][scored].cpu().long())
    if not targets:
        return None, torch.zeros(0, dtype=torch.int64)
    return torch.cat(words) if words else None, torch.cat(targets)


def _row(
    name: str, words: str, log_probabilities: Float[Tensor, "test classes"], targets: Int[Tensor, " test"]
) -> dict[str, Any]:
    return {"name": name, "words": words} | class_metrics(log_probabilities, targets) | {"truncated_fraction": 0.0}
