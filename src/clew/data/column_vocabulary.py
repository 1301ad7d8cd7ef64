"""The vocabulary of a table's column of tokens: its words, one a step, written in a text with spaces between them.

It is a view of the column's `CategoryMap`, which the preparation of the run keeps; nothing is fitted or stored here.
A word that has a space in it stands in tables alone: no text can say it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.data.categories import UNKNOWN, CategoryMap
from clew.data.vocabulary import UNKNOWN_TOKEN, Vocabulary


@dataclass(frozen=True)
class ColumnVocabulary(Vocabulary):
    """One id for each word of a column; id 0 for every word that training did not have, or had too seldom.

    Attributes:
        column: The words of the column and their numbers.

    >>> words = ColumnVocabulary(CategoryMap("colour", ("blue", "red")))
    >>> words.encode("red green"), words.decode([2, 0]), words.unknown_tokens("green red pink")
    ([2, 0], 'red <unk>', ('green', 'pink'))
    """

    column: CategoryMap
    kind: ClassVar[str] = "column"
    unit: ClassVar[str] = "tokens"
    gap: ClassVar[str] = " "

    @property
    def size(self) -> int:
        """Known words and the unknown."""
        return self.column.size

    @property
    def specials(self) -> dict[str, int]:
        """The unknown word."""
        return {UNKNOWN_TOKEN: UNKNOWN}

    @property
    def token_bytes(self) -> None:
        """Not known: the steps of a table are no text."""
        return None

    def encode_array(self, text: str) -> NDArray[np.int32]:
        """Give one id a word between spaces; see `Vocabulary.encode_array`."""
        return np.array(self.column.encode(text.split()), np.int32)

    def unknown_tokens(self, text: str) -> tuple[str, ...]:
        """Give the words that are not of the column; see `Vocabulary.unknown_tokens`."""
        words = text.split()
        found = zip(words, self.column.encode(words), strict=True)
        return tuple(dict.fromkeys(word for word, number in found if number == UNKNOWN))

    def token(self, number: int) -> str:
        """Give the word, or `<unk>`."""
        return self.column.decode([number])[0]

    def to_mapping(self) -> dict[str, Any]:
        """Give the words of the column; the preparation of a table keeps them, `vocabulary_from_mapping` does not."""
        return {"kind": self.kind, **self.column.to_mapping()}

    def _decode(self, ids: list[int]) -> str:
        return " ".join(self.column.decode(ids))
