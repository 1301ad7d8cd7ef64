"""Counts of token strings, and the interpolated Witten-Bell model that they give: what a result has to beat.

    p_0(w)     = 1 / vocab
    p_k(w | h) = (c(h w) + t(h) p_{k-1}(w | h')) / (c(h) + t(h))        h: the last k - 1 tokens, h' without the first

c counts occurrences, t(h) how many different tokens followed h; a context that was never seen leaves it to the shorter
one. Sequences are kept apart: no context reaches across a border. Sorted arrays hold counts of millions of tokens.

Source:
    Witten and Bell 1991, IEEE Transactions on Information Theory 37(4); interpolated as in Chen and Goodman 1998.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from clew.errors import ConfigError, DataError, complain

ABSENT = -1
PREDICTED_AT_ONCE = 2**22  # probabilities of whole distributions that are held together
MOST_PREDICTED = 2**29  # beyond so many, the most probable tokens are not looked for


@dataclass(frozen=True)
class _Order:
    """The token strings of one length, sorted by (number of all but the last token, last token).

    Attributes:
        keys: prefix * vocab + last token, sorted; the place of a string is its number.
        counts: How often each occurs.
        totals: For each prefix how often something followed it.
        kinds: For each prefix how many different tokens followed it.
    """

    keys: Int[np.ndarray, " strings"]
    counts: Int[np.ndarray, " strings"]
    totals: Int[np.ndarray, " prefixes"]
    kinds: Int[np.ndarray, " prefixes"]


class NGram:
    """An interpolated Witten-Bell model of `order` tokens (a context of `order - 1`).

    Args:
        ids: All training tokens, one sequence after the other.
        offsets: First token of each sequence and the end of the last.
        vocab: Number of token ids.
        order: Longest string that is counted; 1 is a unigram model.

    Raises:
        ConfigError: If `order` is below 1.
        DataError: If there is no token, or an id is outside the vocabulary.

    >>> model = NGram(np.array([0, 1, 0, 1]), np.array([0, 4]), vocab=3, order=2)
    >>> [round(p, 4) for p in model.probabilities(np.array([0, 1]), np.array([0, 2]))]
    [0.4444, 0.8148]
    """

    def __init__(
        self, ids: Int[np.ndarray, " tokens"], offsets: Int[np.ndarray, " borders"], vocab: int, order: int = 5
    ) -> None:
        if order < 1:
            raise ConfigError(complain("NGram", "order", "at least 1", order))
        if len(ids) == 0 or ids.min() < 0 or ids.max() >= vocab:
            got = f"{ids.min()} to {ids.max()}" if len(ids) else "no token"
            raise DataError(complain("NGram", "ids", f"in [0, vocab={vocab})", got))
        self.vocab, self.order = vocab, order
        self.orders_: list[_Order] = []
        ids = ids.astype(np.int64)
        places = _places(offsets)
        strings, prefixes = (
            np.zeros(len(ids), np.int64),
            1,
        )  # number of the string before each token; the empty one is 0
        for length in range(order):
            is_there = places >= length
            keys = strings[is_there] * vocab + ids[is_there]
            unique, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
            prefix = unique // vocab
            totals = np.bincount(prefix, weights=counts, minlength=prefixes).astype(np.int64)
            self.orders_.append(_Order(unique, counts, totals, np.bincount(prefix, minlength=prefixes)))
            following = np.full(len(ids), ABSENT)
            following[np.flatnonzero(is_there)] = inverse
            # The strings that end just before each token are the contexts of the next order.
            strings, prefixes = np.concatenate([[ABSENT], following[:-1]]), len(unique)

    def probabilities(
        self, ids: Int[np.ndarray, " tokens"], offsets: Int[np.ndarray, " borders"]
    ) -> Float[np.ndarray, " tokens"]:
        """Give the probability of each token after those before it in its sequence.

        Raises:
            DataError: If an id is outside the vocabulary.
        """
        if len(ids) and (ids.min() < 0 or ids.max() >= self.vocab):
            raise DataError(complain("NGram", "ids", f"in [0, vocab={self.vocab})", f"{ids.min()} to {ids.max()}"))
        ids = ids.astype(np.int64)
        probabilities = np.full(len(ids), 1 / self.vocab)
        for order, contexts in zip(self.orders_, self._contexts(ids, offsets), strict=True):
            known = np.flatnonzero(contexts != ABSENT)
            context = contexts[known]
            probabilities[known] = _interpolated(
                order, context, context * self.vocab + ids[known], probabilities[known]
            )
        return probabilities

    def most_probable(
        self, ids: Int[np.ndarray, " tokens"], offsets: Int[np.ndarray, " borders"]
    ) -> Int[np.ndarray, " tokens"] | None:
        """Give the most probable token at each place, the least id of equals; None where that would take too long."""
        contexts = np.stack(self._contexts(ids.astype(np.int64), offsets), axis=1)
        unique, inverse = np.unique(contexts, axis=0, return_inverse=True)
        if len(unique) * self.vocab * self.order > MOST_PREDICTED:
            return None
        size = max(1, PREDICTED_AT_ONCE // self.vocab)
        best = [
            self._distributions(unique[start : start + size]).argmax(axis=1) for start in range(0, len(unique), size)
        ]
        return np.concatenate([*best, np.zeros(0, np.int64)])[inverse.reshape(-1)]

    def _distributions(self, contexts: Int[np.ndarray, "rows order"]) -> Float[np.ndarray, "rows vocab"]:
        probabilities = np.full((len(contexts), self.vocab), 1 / self.vocab)
        tokens = np.arange(self.vocab)
        for order, column in zip(self.orders_, contexts.T, strict=True):
            known = np.flatnonzero(column != ABSENT)
            context = np.repeat(column[known], self.vocab)
            keys = context * self.vocab + np.tile(tokens, len(known))
            mixed = _interpolated(order, context, keys, probabilities[known].reshape(-1))
            probabilities[known] = mixed.reshape(-1, self.vocab)
        return probabilities

    def _contexts(
        self, ids: Int[np.ndarray, " tokens"], offsets: Int[np.ndarray, " borders"]
    ) -> list[Int[np.ndarray, " tokens"]]:
        """Number the context of each token in each order; `ABSENT` where it was never followed in training."""
        places = _places(offsets)
        strings = np.zeros(len(ids), np.int64)
        contexts = []
        for length, order in enumerate(self.orders_):
            is_known = (strings != ABSENT) & (places >= length)
            is_known[is_known] = order.totals[strings[is_known]] > 0
            contexts.append(np.where(is_known, strings, ABSENT))
            following = np.full(len(ids), ABSENT)
            known = np.flatnonzero(is_known)
            place, is_found = _find(order.keys, strings[known] * self.vocab + ids[known])
            following[known[is_found]] = place[is_found]
            strings = np.concatenate([[ABSENT], following[:-1]])
        return contexts


def _interpolated(
    order: _Order,
    contexts: Int[np.ndarray, " rows"],
    keys: Int[np.ndarray, " rows"],
    shorter: Float[np.ndarray, " rows"],
) -> Float[np.ndarray, " rows"]:
    place, is_found = _find(order.keys, keys)
    counts = np.where(is_found, order.counts[place], 0)
    kinds = order.kinds[contexts]
    return (counts + kinds * shorter) / (order.totals[contexts] + kinds)


def _find(
    keys: Int[np.ndarray, " strings"], wanted: Int[np.ndarray, " rows"]
) -> tuple[Int[np.ndarray, " rows"], np.ndarray]:
    """Find the place of each wanted key, and whether it is there."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return place, keys[place] == wanted


def _places(offsets: Int[np.ndarray, " borders"]) -> Int[np.ndarray, " tokens"]:
    """Number the tokens within each sequence from 0."""
    lengths = np.diff(offsets)
    return np.arange(lengths.sum()) - np.repeat(offsets[:-1] - offsets[0], lengths)
