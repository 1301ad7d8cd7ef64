"""What a vocabulary is: token ids and the text of each.

It is fitted on the training text alone and kept in the run as JSON. Every id stands for something that can occur in a
text; there is no id for padding, which is marked beside the ids. `vocabularies` makes one by its kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.errors import DataError, complain

UNKNOWN_TOKEN = "<unk>"


class Vocabulary(ABC):
    """Token ids from 0 to `size`, and the text of each."""

    kind: ClassVar[str]
    unit: ClassVar[str]
    """What its tokens are called, more than one."""
    gap: ClassVar[str] = ""
    """What stands between two tokens of a text."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many ids there are."""

    @property
    def specials(self) -> dict[str, int]:
        """Ids that stand for no text of their own, by name: the unknown, where there is one."""
        return {}

    @property
    @abstractmethod
    def token_bytes(self) -> tuple[int, ...] | None:
        """Bytes of UTF-8 that each id stands for; None where ids do not fix the text."""

    @abstractmethod
    def encode_array(self, text: str) -> NDArray[np.int32]:
        """Give the ids of a text, (tokens,).

        Raises:
            DataError: If the text has something that the vocabulary cannot say.
        """

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text as a list; see `encode_array`."""
        return self.encode_array(text).tolist()

    def unknown_tokens(self, text: str) -> tuple[str, ...]:
        """Give the tokens of a text that the vocabulary does not have, each once, in their order."""
        return ()

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of some ids.

        Raises:
            DataError: If an id is outside the vocabulary.
        """
        listed = [int(number) for number in ids]
        for place, number in enumerate(listed):
            if not 0 <= number < self.size:
                raise DataError(complain(f"{self.kind} vocabulary", f"id {place}", f"in [0, {self.size})", number))
        return self._decode(listed)

    def go_on(self, text: str, more: str) -> str:
        """Put a text and what was said after it together, with what stands between tokens."""
        return text + (self.gap if text and more and not text[-1].isspace() else "") + more

    @abstractmethod
    def token(self, number: int) -> str:
        """Name one id, for tables."""

    @abstractmethod
    def to_mapping(self) -> dict[str, Any]:
        """Give the vocabulary as plain JSON values; `vocabulary_from_mapping` makes it again."""

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """Give the text of ids that are in range."""


def refuse_surrogates(text: str) -> None:
    """Raise unless a text can be written as UTF-8.

    Raises:
        DataError: If it has half of a pair of surrogates, as bytes of a wrong encoding leave behind.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        got = f"U+{ord(text[error.start]):04X} at character {error.start + 1}"
        raise DataError(complain("vocabulary", "text", "Unicode", got, "Read it with its right encoding.")) from error
