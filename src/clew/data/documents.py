"""Documents: texts that do not go on from one to the next, read from files and split before anything is fitted."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.data.splitting import DEFAULT_FRACTIONS, Outline, SplitRule
from clew.data.text_files import Paths, as_paths, read_all
from clew.errors import ConfigError, DataError, complain, did_you_mean

UNITS = {
    "files": None,
    "paragraphs": re.compile(r"(?:(?<=\n\n)|(?<=\n\r\n))(?=[^\r\n])"),
    "lines": re.compile(r"(?<=\n)(?=.)", re.DOTALL),
}
WAYS = ("parts", "documents")


@dataclass(frozen=True)
class Documents:
    """Texts that do not go on from one to the next.

    Attributes:
        texts: What they say; none is empty.
        names: What they are called.

    Raises:
        DataError: If a text is empty, or names are missing.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.names):
            raise DataError(complain("Documents", "names", f"{len(self.texts)}, one a text", len(self.names)))
        for name, text in zip(self.names, self.texts, strict=True):
            if not text:
                raise DataError(complain("Documents", f"document '{name}'", "at least one character long", "none"))

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.texts)

    @property
    def characters(self) -> int:
        """Characters of all documents."""
        return sum(map(len, self.texts))

    def split(
        self,
        how: str = "parts",
        fractions: tuple[float | int, float | int, float | int] = DEFAULT_FRACTIONS,
        seed: int = 0,
    ) -> "TextParts":
        """Make a training, a validation and a test part.

        Args:
            how: "parts" cuts the whole text in two places, in its order; "documents" draws whole documents.
            fractions: Shares of the three parts: of the characters, or of the documents.
            seed: Seed of the draw of documents.

        Raises:
            ConfigError: If `how` or the shares are wrong.
            DataError: If there are too few documents, or a part would be empty.

        >>> parts = Documents(("abcdefgh",), ("a",)).split(fractions=(0.5, 0.25, 0.25))
        >>> [part.texts for part in parts]
        [('abcd',), ('ef',), ('gh',)]
        """
        if how not in WAYS:
            raise ConfigError(complain("Documents.split", "how", "known", repr(how), did_you_mean(str(how), WAYS)))
        rule = SplitRule("random", fractions, seed)
        if how == "documents":
            chosen = rule.indices(Outline(len(self)))
            return TextParts(*(self._pick(rows) for rows in chosen))
        ends = np.rint(np.cumsum((0.0, *rule.fractions)) * self.characters).astype(int)
        parts = [self._cut(int(first), int(last)) for first, last in pairwise(ends)]
        for share, part, name in zip(rule.fractions, parts, TextParts._fields, strict=True):
            if share and not len(part):
                got = f"none of {self.characters}"
                raise DataError(complain("Documents.split", f"characters of the {name} part", "at least one", got))
        return TextParts(*parts)

    def _pick(self, rows: NDArray[np.int64]) -> "Documents":
        return Documents(tuple(self.texts[row] for row in rows), tuple(self.names[row] for row in rows))

    def _cut(self, first: int, last: int) -> "Documents":
        """Take the characters from `first` to `last` of all texts one after another."""
        kept, start = [], 0
        for name, text in zip(self.names, self.texts, strict=True):
            piece = text[max(first - start, 0) : max(last - start, 0)]
            start += len(text)
            if piece:
                kept.append((piece, name))
        return Documents(tuple(piece for piece, _ in kept), tuple(name for _, name in kept))


class TextParts(NamedTuple):
    """Three parts of some documents.

    Attributes:
        train: What is fitted.
        validation: What selects.
        test: What is scored once.
    """

    train: Documents
    validation: Documents
    test: Documents


def read_documents(paths: Paths, documents: str = "files") -> Documents:
    """Read one or several files as documents.

    Args:
        paths: The files, in order.
        documents: What a document is: each of the "files", their "paragraphs" (up to and with the empty lines behind
            them), or their "lines". Lines with nothing but spaces are no document.

    Raises:
        ConfigError: If `documents` is unknown.
        TableError: As `read_text` does.
    """
    if documents not in UNITS:
        remedy = did_you_mean(str(documents), UNITS)
        raise ConfigError(complain("read_documents", "documents", "known", repr(documents), remedy))
    texts, names, border = [], [], UNITS[documents]
    for path, text in zip(as_paths(paths), read_all(paths), strict=True):
        pieces = [text] if border is None else [piece for piece in border.split(text) if piece.strip()]
        texts += pieces
        names += [str(path)] if border is None else [f"{path} {number}" for number in range(1, len(pieces) + 1)]
    if not texts:
        listed = ", ".join(map(str, as_paths(paths)))
        raise DataError(complain(listed, "text", f"one with {documents}", "nothing but spaces"))
    return Documents(tuple(texts), tuple(names))
