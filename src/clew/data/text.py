"""From documents to ids: encoded with a vocabulary of the training part, cut into windows for next-token prediction.

`read_documents` reads, `Documents.split` makes parts, `TextPreparation` fits and applies. Tables of tokens go through
`Preparation` instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.data.documents import Documents
from clew.data.problems import TableError
from clew.data.sequence_data import SequenceData
from clew.data.vocabularies import fit_vocabulary, vocabulary_from_mapping
from clew.data.vocabulary import Vocabulary
from clew.errors import ConfigError, DataError, complain

KIND = "text"


@dataclass(frozen=True, eq=False)
class TextData:
    """Documents as ids, one after another.

    Attributes:
        ids: All tokens, (tokens,).
        borders: First token of each document and the end of the last, (documents + 1,).
        names: What the documents are called.
    """

    ids: NDArray[np.int32]
    borders: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def encode(cls, documents: Documents, vocabulary: Vocabulary) -> "TextData":
        """Turn documents into ids; a document without any token, as one of spaces in a vocabulary of words, is empty.

        Raises:
            DataError: With a line for each document that the vocabulary cannot say.
        """
        parts, lines = [], []
        for name, text in zip(documents.names, documents.texts, strict=True):
            try:
                parts.append(vocabulary.encode_array(text))
            except DataError as error:
                lines.append(f"{name}: {error}")
        if lines:
            raise TableError(lines)
        borders = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
        ids = np.concatenate(parts) if parts else np.zeros(0, np.int32)
        return cls(ids, borders.astype(np.int64), documents.names)

    def windows(self, context: int) -> SequenceData:
        """Cut the ids into windows that a model reads `context` ids of.

        A window has one id more, the last target; the next window begins with that id. So every id but the first of
        each document is a target exactly once. Windows run across documents, which are then numbered, so that no
        target is predicted from another document. The last window is as long as what is left.

        Args:
            context: How many ids a model reads, at least 1.

        Raises:
            ConfigError: If `context` is below 1.
            DataError: If there are fewer than two ids.

        >>> data = TextData(np.arange(6, dtype=np.int32), np.array([0, 6]), ("a",))
        >>> data.windows(3).whole().inputs.tolist()
        [[0, 1, 2, 3], [3, 4, 5, 0]]
        """
        return cut_windows(self.ids, self._documents(), context)

    def sequences(self) -> SequenceData:
        """Give each document as a sequence of its own, for short ones.

        Raises:
            DataError: With a line for each document that has no second token to predict.
        """
        lengths = np.diff(self.borders)
        short = np.flatnonzero(lengths < 2)
        if len(short):
            lines = [
                complain("TextData.sequences", f"document '{self.names[row]}'", "at least 2 tokens long", lengths[row])
                for row in short
            ]
            raise TableError(lines)
        return SequenceData(self.ids, self.borders, ids=self.names)

    def _documents(self) -> NDArray[np.int32] | None:
        """Number of the document of each token; None where there is one only."""
        lengths = np.diff(self.borders)
        if (lengths > 0).sum() < 2:
            return None
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def cut_windows(ids: NDArray[np.int32], documents: NDArray[np.int32] | None, context: int) -> SequenceData:
    """Cut ids into windows as `TextData.windows` does, without a copy of them.

    Args:
        ids: All tokens, (tokens,), in memory or memory-mapped.
        documents: Number of the document of each, (tokens,); None where there is one only.
        context: How many ids a model reads, at least 1.

    Raises:
        ConfigError: If `context` is below 1.
        DataError: If there are fewer than two ids.
    """
    if context < 1:
        raise ConfigError(complain("TextData.windows", "context", "at least 1", context))
    if len(ids) < 2:
        raise DataError(complain("TextData.windows", "text", "at least 2 tokens long", len(ids)))
    starts = np.arange(0, len(ids) - 1, context)
    lengths = np.minimum(len(ids) - starts, context + 1)
    return SequenceData.windows(ids, starts, lengths, documents=documents)


@dataclass(frozen=True)
class TextPreparation:
    """How text becomes ids for next-token prediction.

    Attributes:
        vocabulary: Fitted on the training part.
        context: How many ids a model reads at a time.
    """

    vocabulary: Vocabulary
    context: int
    task: str = "next_token"

    @classmethod
    def fit(
        cls,
        documents: Documents,
        kind: str = "characters",
        *,
        context: int = 256,
        options: Mapping[str, Any] | None = None,
    ) -> "TextPreparation":
        """Fit a vocabulary to the training part; see `fit_vocabulary` for kinds and options.

        Raises:
            ConfigError: If an argument is wrong.
            DataError: If there is nothing to fit.
        """
        if context < 1:
            raise ConfigError(complain("TextPreparation", "context", "at least 1", context))
        return cls(fit_vocabulary(kind, documents.texts, options), context)

    @property
    def features(self) -> int:
        """None: ids have no numeric columns."""
        return 0

    @property
    def categories(self) -> tuple[int, ...]:
        """None."""
        return ()

    @property
    def classes(self) -> tuple[str, ...]:
        """None."""
        return ()

    def apply(self, documents: Documents) -> SequenceData:
        """Turn a part into windows; see `TextData.windows`.

        Raises:
            DataError: If a text has what the vocabulary cannot say, or is too short.
        """
        return TextData.encode(documents, self.vocabulary).windows(self.context)

    def to_mapping(self) -> dict[str, Any]:
        """Give everything as plain JSON values."""
        return {"kind": KIND, "task": self.task, "context": self.context, "vocabulary": self.vocabulary.to_mapping()}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "TextPreparation":
        """Make the preparation again from what `to_mapping` gave.

        Raises:
            DataError: If something is missing.
        """
        try:
            return cls(vocabulary_from_mapping(mapping["vocabulary"]), int(mapping["context"]))
        except (KeyError, TypeError) as error:
            raise DataError(complain("TextPreparation", "mapping", "one of text", f"without {error}")) from error
