"""Words of a categorical column as numbers: 0 is every word that training did not have, or had too seldom."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = 0
UNKNOWN_WORD = "<unk>"


@dataclass(frozen=True)
class CategoryMap:
    """The words of one column.

    Attributes:
        name: The column.
        words: Known words in order; word i has the number i + 1.

    >>> words = CategoryMap("colour", ("blue", "red"))
    >>> words.encode(["red", "green"]), words.decode([2, 0]), words.size
    ([2, 0], ['red', '<unk>'], 3)
    """

    name: str
    words: tuple[str, ...]

    @classmethod
    def fit(cls, name: str, counts: Mapping[str, int], min_count: int = 1) -> "CategoryMap":
        """Know the words that occur at least `min_count` times."""
        return cls(name, sort_words(word for word, count in counts.items() if count >= min_count))

    @property
    def size(self) -> int:
        """How many numbers there are, the unknown among them."""
        return len(self.words) + 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=1)}

    def encode(self, words: Iterable[str | None]) -> list[int]:
        """Give the number of each word; 0 where it is unknown or missing."""
        return [UNKNOWN if word is None else self._numbers.get(word, UNKNOWN) for word in words]

    def encode_column(self, cells: "pl.Series") -> NDArray[np.int64]:
        """Give the numbers of a whole column of text."""
        return encode_words(cells, self._numbers, UNKNOWN, UNKNOWN)

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Give the word of each number."""
        return [UNKNOWN_WORD if number == UNKNOWN else self.words[number - 1] for number in numbers]

    def to_mapping(self) -> dict[str, Any]:
        """Give the words as plain JSON values."""
        return {"name": self.name, "words": list(self.words)}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "CategoryMap":
        """Make the map again from what `to_mapping` gave."""
        return cls(mapping["name"], tuple(mapping["words"]))


def encode_words(cells: "pl.Series", numbers: Mapping[str, int], unknown: int, missing: int) -> NDArray[np.int64]:
    """Replace words by numbers."""
    import polars as pl

    if not numbers:
        return np.where(cells.is_null().to_numpy(), missing, unknown).astype(np.int64)
    found = cells.replace_strict(list(numbers), list(numbers.values()), default=unknown, return_dtype=pl.Int64)
    return np.where(cells.is_null().to_numpy(), missing, found.fill_null(missing).to_numpy()).astype(np.int64)


def count_words(cells: "pl.Series") -> Counter[str]:
    """Count the words of a column; missing ones are left out."""
    counted = cells.drop_nulls().value_counts(name="count_")
    return Counter(dict(zip(counted[cells.name].to_list(), counted["count_"].to_list(), strict=True)))


def sort_words(words: Iterable[str]) -> tuple[str, ...]:
    """Sort words: as numbers where all are whole numbers, else letter by letter.

    >>> sort_words(["10", "9"]), sort_words(["b", "10"])
    (('9', '10'), ('10', 'b'))
    """
    listed: Sequence[str] = sorted(words)
    if all(word.lstrip("-").isdecimal() and word.count("-") <= 1 and word.isascii() for word in listed):
        listed = sorted(listed, key=int)
    return tuple(listed)
