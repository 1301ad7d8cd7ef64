"""A vocabulary of the words of the training text, with one id for all others."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.data.vocabulary import UNKNOWN_TOKEN, Vocabulary
from clew.errors import ConfigError, DataError, complain

WORD = re.compile(r"\n|\w+(?:['’]\w+)*|[^\w\s]")
CLOSING = frozenset(".,;:!?)]}%…»”\n")
OPENING = frozenset("([{«“\n")


@dataclass(frozen=True)
class WordVocabulary(Vocabulary):
    """One id for each word, sign of punctuation and end of line; id 0 for every word that training had too seldom.

    A word is a run of letters, digits and underscores, with apostrophes inside. Spaces are not kept, so that a decoded
    text reads well but is not the encoded one, and has no count of bytes.

    Attributes:
        words: Known words, the most frequent first; word i has the id i + 1.
        is_lower: Whether words are made small.

    >>> words = WordVocabulary.fit(["It rains, it rains!"], min_count=1, is_lower=True)
    >>> words.encode("It snows!"), words.decode(words.encode("It snows!"))
    ([1, 0, 3], 'it <unk>!')
    """

    words: tuple[str, ...]
    is_lower: bool = False
    kind: ClassVar[str] = "words"
    unit: ClassVar[str] = "words"
    gap: ClassVar[str] = " "

    def __post_init__(self) -> None:
        if len(set(self.words)) != len(self.words):
            raise ConfigError(complain("words vocabulary", "words", "each there once", "some twice"))

    @classmethod
    def fit(
        cls, texts: Iterable[str], min_count: int = 2, max_size: int | None = None, is_lower: bool = False
    ) -> "WordVocabulary":
        """Know the words of some texts.

        Args:
            texts: The training texts.
            min_count: How often a word must occur. With 1 the unknown word does not occur in training, and a model
                learns nothing about it.
            max_size: The most ids there may be; the most frequent words are kept.
            is_lower: Whether words are made small.

        Raises:
            DataError: If no word occurs so often.
            ConfigError: If a number is out of range.
        """
        if min_count < 1:
            raise ConfigError(complain("words vocabulary", "min_count", "at least 1", min_count))
        if max_size is not None and max_size < 2:
            raise ConfigError(complain("words vocabulary", "max_size", "at least 2", max_size))
        counts = Counter(word for text in texts for word in split_words(text, is_lower))
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
        if not kept:
            got = f"none of {len(counts)}"
            raise DataError(complain("words vocabulary", f"words that occur {min_count} times", "at least one", got))
        return cls(tuple(kept if max_size is None else kept[: max_size - 1]), is_lower)

    @property
    def size(self) -> int:
        """Known words and the unknown."""
        return len(self.words) + 1

    @property
    def specials(self) -> dict[str, int]:
        """The unknown word."""
        return {UNKNOWN_TOKEN: 0}

    @property
    def token_bytes(self) -> None:
        """Not known: spaces are lost."""
        return None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=1)}

    def encode_array(self, text: str) -> NDArray[np.int32]:
        """Give one id a word; see `Vocabulary.encode_array`."""
        return np.array([self._numbers.get(word, 0) for word in split_words(text, self.is_lower)], np.int32)

    def unknown_tokens(self, text: str) -> tuple[str, ...]:
        """Give the words that training did not have; see `Vocabulary.unknown_tokens`."""
        words = split_words(text, self.is_lower)
        return tuple(dict.fromkeys(word for word in words if word not in self._numbers))

    def go_on(self, text: str, more: str) -> str:
        """Put a text and what was said after it together, without a space before or after signs that have none."""
        is_tight = text[-1:] in OPENING or more[:1] in CLOSING
        return text + more if is_tight else super().go_on(text, more)

    def token(self, number: int) -> str:
        """Give the word, or `<unk>`."""
        return self.words[number - 1] if number else UNKNOWN_TOKEN

    def to_mapping(self) -> dict[str, Any]:
        """Give kind, words and whether they are made small."""
        return {"kind": self.kind, "words": list(self.words), "is_lower": self.is_lower}

    def _decode(self, ids: list[int]) -> str:
        return join_words([self.token(number) for number in ids])


def split_words(text: str, is_lower: bool = False) -> list[str]:
    """Take a text apart into words, signs and ends of lines.

    >>> split_words("Don't go (yet).")
    ["Don't", 'go', '(', 'yet', ')', '.']
    """
    return WORD.findall(text.lower() if is_lower else text)


def join_words(words: Sequence[str]) -> str:
    """Put words together with the usual spaces.

    >>> join_words(["Don't", "go", "(", "yet", ")", "."])
    "Don't go (yet)."
    """
    pieces: list[str] = []
    for word in words:
        if pieces and word not in CLOSING and pieces[-1] not in OPENING:
            pieces.append(" ")
        pieces.append(word)
    return "".join(pieces)
