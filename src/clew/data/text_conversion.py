"""Text larger than memory: decoded in pieces, its ids written as memory-mapped arrays, cut into windows from there.

The file is read a piece at a time, three times: to check it and count its characters, to fit the vocabulary to the
training part alone, and to write the ids. Parts, vocabulary, ids and numbers of documents are those that
`read_documents`, `Documents.split` and `TextPreparation` give; only whole documents are not drawn. The folder is used
again while file and arguments are the same; see `conversion_folder`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, repeat, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.data.conversion_folder import convert_once
from clew.data.documents import UNITS, TextParts
from clew.data.sequence_data import SequenceData
from clew.data.splitting import SplitRule
from clew.data.storage import FolderWriter, open_folder
from clew.data.text import cut_windows
from clew.data.text_files import decode_pieces
from clew.data.vocabularies import fit_vocabulary, vocabulary_from_mapping
from clew.data.vocabulary import Vocabulary
from clew.errors import ConfigError, DataError, complain, did_you_mean

PIECE_BYTES = 1 << 20
TOKENS_AT_ONCE = 1 << 18
WHOLE_FILE = "files"
LONGEST_BORDER = 3
CUT_ANYWHERE = ("characters", "bytes")
BETWEEN_TOKENS = re.compile(r".*\w(?=[ \n])", re.DOTALL)
"""The longest beginning of a text behind which no token of words or byte pairs goes on: those begin with a space."""

Fractions = tuple[float | int, float | int, float | int]


@dataclass(frozen=True, eq=False)
class ConvertedText:
    """Ids of a text on disk.

    Attributes:
        vocabulary: What made the ids.
        ids: Of each part that has any text, memory-mapped, (tokens,); None for one that has none.
        documents: Number of the document of each id, memory-mapped, (tokens,); None where a part has one only.
        folder: Where they stand.
        is_reused: Whether the folder was there already.
    """

    vocabulary: Vocabulary
    ids: tuple[NDArray[np.int32] | None, ...]
    documents: tuple[NDArray[np.int32] | None, ...]
    folder: Path
    is_reused: bool

    def windows(self, context: int) -> list[SequenceData | None]:
        """Cut each part into windows, as `TextData.windows` does.

        Raises:
            ConfigError: If `context` is below 1.
            DataError: If a part has fewer than two ids.
        """
        parts = zip(self.ids, self.documents, strict=True)
        return [None if ids is None else cut_windows(ids, documents, context) for ids, documents in parts]


def convert_text(
    path: Path | str,
    cache: Path | str,
    documents: str = "files",
    kind: str = "characters",
    *,
    options: Mapping[str, Any] | None = None,
    vocabulary: Vocabulary | None = None,
    fractions: Fractions | None = None,
    piece_bytes: int = PIECE_BYTES,
) -> ConvertedText:
    """Turn a text of any size into ids on disk, with memory for a few pieces of it.

    A paragraph or line that is a document, and a run of letters without a space, is in memory as a whole; and the
    training part, while byte pairs are learned from it.

    Args:
        path: The file.
        cache: Folder for converted files; made if it is not there.
        documents: As for `read_documents`.
        kind: As for `fit_vocabulary`, like `options`.
        options: Arguments of the kind's `fit`.
        vocabulary: What was fitted to the training part elsewhere; None to fit it here.
        fractions: Shares of the three parts, which are cut in the order of the text; None for one part, all of it.
        piece_bytes: About how much of the file is in memory at a time.

    Raises:
        DataError: If the file is not UTF-8 text or changes meanwhile, a part is empty, or the vocabulary cannot say it.
        ConfigError: If an argument is wrong.
        RunError: If the folder cannot be written.
    """
    place = Path(path)
    if documents not in UNITS:
        remedy = did_you_mean(str(documents), UNITS)
        raise ConfigError(complain("convert_text", "documents", "known", repr(documents), remedy))
    # A file that cannot be read has no stamp to be compared, and is told first.
    next(decode_pieces(place, piece_bytes))
    asked = {
        "text": documents,
        "kind": kind,
        "options": dict(options or {}),
        "vocabulary": None if vocabulary is None else vocabulary.to_mapping(),
        "fractions": fractions,
    }
    source = _Source(place, documents, piece_bytes)

    def write(folder: Path, about: Mapping[str, Any]) -> None:
        ends = _ends_of_parts(source, fractions)
        made = vocabulary if vocabulary is not None else _fit(source, ends, kind, options)
        _write(folder, source, ends, made, about)

    return _open(*convert_once(place, Path(cache), asked, write))


class _Piece(NamedTuple):
    """Some of the text of a document, which the next piece may go on with; documents are numbered in the file."""

    part: int
    document: int
    text: str


@dataclass(frozen=True)
class _Source:
    """A text file, read from its beginning as often as is asked for."""

    path: Path
    unit: str
    size: int

    def pieces(self, ends: Sequence[int], kind: str) -> Iterator[_Piece]:
        """Give the text in its order, with its part and document, in pieces that a vocabulary of a kind can take."""
        pieces = self._of_parts(ends)
        return pieces if kind in CUT_ANYWHERE or self.unit != WHOLE_FILE else _cut_between_tokens(pieces)

    def texts(self) -> Iterator[tuple[int, str]]:
        """Give the texts of documents, each with its number: whole, but for a file, which comes in pieces."""
        pieces, border = decode_pieces(self.path, self.size), UNITS[self.unit]
        return zip(repeat(0), pieces) if border is None else self._documents(pieces, border)

    def _documents(self, pieces: Iterable[str], border: re.Pattern[str]) -> Iterator[tuple[int, str]]:
        """Cut at the borders of documents; one with nothing but spaces is none."""
        number, held, tail = 0, [], ""
        for piece in pieces:
            held.append(piece)
            # The last signs before a border and the one behind it decide on it: what is held is not searched again.
            whole = border.split("".join(held)) if border.search(tail + piece) else []
            held = whole[-1:] or held
            tail = (tail + piece)[-LONGEST_BORDER:]
            for text in filter(str.strip, whole[:-1]):
                yield number, text
                number += 1
        if (text := "".join(held)).strip():
            yield number, text
        elif not number:
            raise DataError(complain(str(self.path), "text", f"one with {self.unit}", "nothing but spaces"))

    def _of_parts(self, ends: Sequence[int]) -> Iterator[_Piece]:
        start = 0
        for document, text in self.texts():
            for part, (first, last) in enumerate(pairwise(ends)):
                if piece := text[max(first - start, 0) : max(last - start, 0)]:
                    yield _Piece(part, document, piece)
            start += len(text)


def _cut_between_tokens(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Move the ends of pieces to where no token goes on, within each part; the pieces are of one document."""
    for part, own in groupby(pieces, key=lambda piece: piece.part):
        held: list[str] = []
        for piece in own:
            if (found := BETWEEN_TOKENS.match(piece.text)) is None:
                held.append(piece.text)
                continue
            yield _Piece(part, piece.document, "".join([*held, found[0]]))
            held = [piece.text[found.end() :]]
        if rest := "".join(held):
            yield _Piece(part, 0, rest)


def _ends_of_parts(source: _Source, fractions: Fractions | None) -> list[int]:
    """Count the characters, which also checks the whole file, and say where parts end, as `Documents.split` does."""
    characters = sum(len(text) for _, text in source.texts())
    if fractions is None:
        return [0, characters]
    shares = SplitRule("random", fractions).fractions
    ends = np.rint(np.cumsum((0.0, *shares)) * characters).astype(int).tolist()
    for share, (first, last), name in zip(shares, pairwise(ends), TextParts._fields, strict=True):
        if share and first == last:
            got = f"none of {characters}"
            raise DataError(complain("Documents.split", f"characters of the {name} part", "at least one", got))
    return ends


def _fit(source: _Source, ends: Sequence[int], kind: str, options: Mapping[str, Any] | None) -> Vocabulary:
    """Fit to the training part, which is the first."""
    pieces = takewhile(lambda piece: piece.part == 0, source.pieces(ends, kind))
    texts = (piece.text for piece in pieces)
    return fit_vocabulary(kind, _new_characters(texts) if kind == "characters" else texts, options)


def _new_characters(texts: Iterable[str]) -> Iterator[str]:
    """Give the characters of texts, each where it comes first, so that a vocabulary of them need not keep more."""
    known: set[str] = set()
    for text in texts:
        if found := set(text) - known:
            known |= found
            yield "".join(found)


def _write(
    folder: Path, source: _Source, ends: Sequence[int], vocabulary: Vocabulary, about: Mapping[str, Any]
) -> None:
    with FolderWriter(folder) as writer:
        parts = [_PartWriter(writer, part, source.unit != WHOLE_FILE) for part in range(len(ends) - 1)]
        for piece in source.pieces(ends, vocabulary.kind):
            part = parts[piece.part]
            try:
                part.add(piece.document, vocabulary.encode_array(piece.text))
            except DataError as error:
                name = source.path if source.unit == WHOLE_FILE else f"{source.path} {piece.document + 1}"
                after = f", behind character {part.characters} of this part" if source.unit == WHOLE_FILE else ""
                raise DataError(f"{name}{after}: {error}") from error
            part.characters += len(piece.text)
        for part in parts:
            part.flush()
        described = [{"characters": part.characters, "documents": part.documents} for part in parts]
        writer.describe({"vocabulary": vocabulary.to_mapping(), "parts": described, **about})


class _PartWriter:
    """Appends the ids of a part, with the numbers of their documents in this part, many of them at a time.

    Attributes:
        characters: Of the text that was taken.
        documents: That have at least one token.
    """

    def __init__(self, writer: FolderWriter, part: int, has_documents: bool) -> None:
        self.characters = self.documents = 0
        self._writer, self._part, self._has_documents = writer, part, has_documents
        self._first, self._last = -1, -1
        self._ids: list[NDArray[np.int32]] = []
        self._numbers: list[int] = []
        self._tokens = 0

    def add(self, document: int, ids: NDArray[np.int32]) -> None:
        """Take more ids of this document or of a later one."""
        if self._first < 0:
            self._first = document
        if not len(ids):
            return
        self.documents += document != self._last
        self._last = document
        self._ids.append(ids)
        self._numbers.append(document - self._first)
        self._tokens += len(ids)
        if self._tokens >= TOKENS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what was held back."""
        if self._ids:
            self._writer.append(f"ids_{self._part}", np.concatenate(self._ids))
            if self._has_documents:
                numbers = np.repeat(np.array(self._numbers, np.int32), [len(ids) for ids in self._ids])
                self._writer.append(f"documents_{self._part}", numbers)
        self._ids, self._numbers, self._tokens = [], [], 0


def _open(folder: Path, is_reused: bool) -> ConvertedText:
    arrays, about = open_folder(folder)
    ids, documents = [], []
    for number, part in enumerate(about["parts"]):
        # A part may have text but no token, as one of spaces in a vocabulary of words.
        ids.append(arrays.get(f"ids_{number}", np.zeros(0, np.int32)) if part["characters"] else None)
        documents.append(arrays.get(f"documents_{number}") if part["documents"] > 1 else None)
    vocabulary = vocabulary_from_mapping(about["vocabulary"])
    return ConvertedText(vocabulary, tuple(ids), tuple(documents), folder, is_reused)
