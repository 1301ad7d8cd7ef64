"""Byte-pair vocabulary: pieces of words, learned from the training text by the package `tokenizers`, an extra.

Pieces are made of bytes, so that nothing is unknown and a text comes back as it was. The extra is imported when a
vocabulary is fitted or read, not before.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clew.data.vocabulary import Vocabulary, refuse_surrogates
from clew.errors import ConfigError, DataError, complain

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FEWEST = 256
WHERE = "bpe vocabulary"


@dataclass(frozen=True)
class BytePairVocabulary(Vocabulary):
    """Byte pairs.

    Attributes:
        pieces: Text of each id, a letter a byte in the alphabet of byte-level tokenizers.
        merges: Pairs of pieces that are joined, in order.
    """

    pieces: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    kind: ClassVar[str] = "bpe"
    unit: ClassVar[str] = "pieces"

    @classmethod
    def fit(cls, texts: Iterable[str], size: int = 1024) -> "BytePairVocabulary":
        """Learn pieces from some texts.

        Args:
            texts: The training texts.
            size: How many ids there may be; fewer where the texts do not have so many pairs.

        Raises:
            ConfigError: If `size` is below 256, or the package `tokenizers` is not there.
            DataError: If there is no text.
        """
        if size < FEWEST:
            raise ConfigError(complain(WHERE, "size", f"at least {FEWEST}, one for each byte", size))
        listed = list(texts)
        if not any(listed):
            raise DataError(complain(WHERE, "text", "at least one character long", "none"))
        for text in listed:
            refuse_surrogates(text)
        tokenizers = _import_tokenizers()
        learned = tokenizers.Tokenizer(tokenizers.models.BPE())
        learned.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
        learned.train_from_iterator(listed, trainer)
        model = json.loads(learned.to_str())["model"]
        return cls._from_model(model["vocab"], model["merges"])

    @classmethod
    def _from_model(cls, numbers: dict[str, int], merges: Iterable[Any]) -> "BytePairVocabulary":
        pieces = tuple(sorted(numbers, key=numbers.__getitem__))
        # Older versions write a pair as one text with a space.
        pairs = (pair.split(" ") if isinstance(pair, str) else pair for pair in merges)
        return cls(pieces, tuple((left, right) for left, right in pairs))

    @property
    def size(self) -> int:
        """Bytes and learned pieces."""
        return len(self.pieces)

    @property
    def token_bytes(self) -> tuple[int, ...]:
        """Bytes of each piece."""
        return tuple(map(len, self.pieces))

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        tokenizers = _import_tokenizers()
        numbers = {piece: number for number, piece in enumerate(self.pieces)}
        try:
            made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=numbers, merges=list(self.merges)))
        except Exception as error:  # The package raises nothing narrower.
            raise DataError(complain(WHERE, "merges", "of known pieces", str(error))) from error
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        return made

    def encode_array(self, text: str) -> NDArray[np.int32]:
        """Give one id a piece; see `Vocabulary.encode_array`."""
        refuse_surrogates(text)
        return np.array(self._tokenizer.encode(text).ids, np.int32)

    def token(self, number: int) -> str:
        """Give the piece as text, where its bytes are whole characters."""
        return self._decode([number])

    def to_mapping(self) -> dict[str, Any]:
        """Give kind, pieces and merges."""
        return {"kind": self.kind, "pieces": list(self.pieces), "merges": [list(pair) for pair in self.merges]}

    def _decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False)


def _import_tokenizers() -> Any:
    try:
        import tokenizers
        import tokenizers.decoders
        import tokenizers.models
        import tokenizers.pre_tokenizers
        import tokenizers.trainers
    except ImportError as error:
        remedy = "Install it: pip install 'clew[tokenizers]'."
        raise ConfigError(complain(WHERE, "package tokenizers", "installed", "nothing", remedy)) from error
    return tokenizers
