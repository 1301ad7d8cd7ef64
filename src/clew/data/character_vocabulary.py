"""Vocabularies that need no idea of words: the characters of the training text, or the bytes of UTF-8."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.data.problems import SHOWN
from clew.data.vocabulary import UNKNOWN_TOKEN, Vocabulary, refuse_surrogates
from clew.errors import ConfigError, DataError, complain

UNKNOWN_POLICIES = ("refuse", "replace")


@dataclass(frozen=True)
class CharacterVocabulary(Vocabulary):
    """One id for each Unicode character of the training text, in the order of their code points.

    Attributes:
        characters: The known characters; with unknown="replace" character i has the id i + 1.
        unknown: What a character that training did not have does: "refuse" makes it an error, "replace" gives it the
            id 0, which counts as one byte, the fewest that it can have.

    >>> letters = CharacterVocabulary.fit(["abba"])
    >>> letters.encode("bab"), letters.decode([1, 0, 1]), letters.size
    ([1, 0, 1], 'bab', 2)
    """

    characters: str
    unknown: str = "refuse"
    kind: ClassVar[str] = "characters"
    unit: ClassVar[str] = "characters"

    def __post_init__(self) -> None:
        if self.unknown not in UNKNOWN_POLICIES:
            rule = "'refuse' or 'replace'"
            raise ConfigError(complain("characters vocabulary", "unknown", rule, repr(self.unknown)))
        if len(set(self.characters)) != len(self.characters):
            raise ConfigError(complain("characters vocabulary", "characters", "each there once", "some twice"))

    @classmethod
    def fit(cls, texts: Iterable[str], unknown: str = "refuse") -> "CharacterVocabulary":
        """Know the characters of some texts.

        Raises:
            DataError: If there are none.
        """
        found = "".join(sorted(set().union(*map(set, texts))))
        if not found:
            raise DataError(complain("characters vocabulary", "text", "at least one character long", "none"))
        refuse_surrogates(found)
        return cls(found, unknown)

    @property
    def size(self) -> int:
        """Known characters, and the unknown where it has an id."""
        return len(self.characters) + self._first

    @property
    def specials(self) -> dict[str, int]:
        """The unknown character, with unknown="replace"."""
        return {UNKNOWN_TOKEN: 0} if self._first else {}

    @property
    def token_bytes(self) -> tuple[int, ...]:
        """Bytes of each character."""
        return (*[1] * self._first, *(len(character.encode()) for character in self.characters))

    @property
    def _first(self) -> int:
        return int(self.unknown == "replace")

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        """Id of each code point, -1 where it is unknown."""
        points = _code_points(self.characters)
        numbers = np.full(int(points.max(initial=0)) + 2, -1, np.int32)
        numbers[points] = np.arange(len(points)) + self._first
        return numbers

    def encode_array(self, text: str) -> NDArray[np.int32]:
        """Give one id a character; see `Vocabulary.encode_array`."""
        points = _code_points(text)
        # The last entry of the table is unknown, and stands for everything beyond it.
        ids = self._numbers[np.minimum(points, len(self._numbers) - 1)]
        is_unknown = ids < 0
        if not is_unknown.any():
            return ids
        if self.unknown == "replace":
            return np.where(is_unknown, np.int32(0), ids)
        raise DataError(_unknown_characters(text, np.flatnonzero(is_unknown)))

    def unknown_tokens(self, text: str) -> tuple[str, ...]:
        """Give the characters that training did not have; see `Vocabulary.unknown_tokens`."""
        known = set(self.characters)
        return tuple(dict.fromkeys(character for character in text if character not in known))

    def token(self, number: int) -> str:
        """Give the character, or `<unk>`."""
        return self.characters[number - self._first] if number >= self._first else UNKNOWN_TOKEN

    def to_mapping(self) -> dict[str, Any]:
        """Give kind, characters and policy."""
        return {"kind": self.kind, "characters": self.characters, "unknown": self.unknown}

    def _decode(self, ids: list[int]) -> str:
        return "".join(self.token(number) for number in ids)


@dataclass(frozen=True)
class ByteVocabulary(Vocabulary):
    """The 256 bytes of UTF-8: nothing to fit, and nothing is unknown.

    >>> ByteVocabulary().encode("é"), ByteVocabulary().decode([195, 169])
    ([195, 169], 'é')
    """

    kind: ClassVar[str] = "bytes"
    unit: ClassVar[str] = "bytes"

    @property
    def size(self) -> int:
        """Always 256."""
        return 256

    @property
    def token_bytes(self) -> tuple[int, ...]:
        """One each."""
        return (1,) * 256

    def encode_array(self, text: str) -> NDArray[np.int32]:
        """Give the bytes; see `Vocabulary.encode_array`."""
        refuse_surrogates(text)
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)

    def token(self, number: int) -> str:
        """Give the sign of a printable ASCII byte, else its hexadecimal number."""
        return chr(number) if 32 <= number < 127 else f"0x{number:02x}"

    def to_mapping(self) -> dict[str, Any]:
        """Give the kind."""
        return {"kind": self.kind}

    def _decode(self, ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), "<u4").astype(np.uint32)


def _unknown_characters(text: str, places: NDArray[np.int64]) -> str:
    """Name the characters that a vocabulary does not have, each with its first place."""
    firsts: dict[str, int] = {}
    for place in places.tolist():
        firsts.setdefault(text[place], place)
    named = [f"{character!r} (U+{ord(character):04X}) at {place + 1}" for character, place in firsts.items()]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    remedy = "Leave them out, or fit the vocabulary with unknown='replace'."
    rule = "among those that training had"
    return complain("characters vocabulary", "characters", rule, ", ".join(named[:SHOWN]) + more, remedy)
