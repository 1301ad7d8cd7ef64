"""Plain text files: exactly as they stand, once they are known to be UTF-8; whole, or a piece at a time."""

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path

from clew.data.problems import TableError
from clew.data.text_pieces import BYTE_ORDER_MARKS
from clew.errors import ConfigError, DataError, complain, suggest_file

Paths = Path | str | Sequence[Path | str]


def read_text(paths: Paths) -> str:
    """Read one or several files as one text, exactly as it stands in them, but for a byte order mark.

    Raises:
        TableError: With a line for each file that is empty, not UTF-8 or cannot be read.
    """
    return "".join(read_all(paths))


def as_paths(paths: Paths) -> list[Path]:
    """Give one or several paths as a list."""
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def read_all(paths: Paths) -> list[str]:
    """Read files as a text each; see `read_text`."""
    listed = as_paths(paths)
    if not listed:
        raise ConfigError(complain("read_text", "paths", "at least one", "none"))
    texts, lines = [], []
    for path in listed:
        try:
            texts.append(decode_text(path, _read_bytes(path)))
        except DataError as error:
            lines.append(str(error))
    if lines:
        raise TableError(lines)
    return texts


def _read_bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise _cannot_read(path, error) from error
    if not content:
        raise _empty_file(path)
    return content


def _cannot_read(path: Path, error: OSError | ValueError) -> DataError:
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    remedy = suggest_file(path) if isinstance(error, FileNotFoundError) else ""
    return DataError(complain(str(path), "file", "one that can be read", reason, remedy))


def _empty_file(path: Path) -> DataError:
    return DataError(complain(str(path), "file", "one with content", "an empty file"))


def decode_text(path: Path | str, content: bytes) -> str:
    """Decode bytes as UTF-8 text without NUL; a byte order mark of UTF-8 is dropped.

    Raises:
        DataError: If they are something else, with the first wrong byte and its line.
    """
    start = _start_of_text(path, content)
    try:
        text = content[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        place = start + error.start
        raise _other_text(path, content[place], _place(content, place)) from error
    if not text:
        raise _mark_alone(path)
    if (place := content.find(b"\0")) >= 0:
        raise _nul(path, _place(content, place))
    return text


def decode_pieces(path: Path, size: int) -> Iterator[str]:
    """Decode a file as `decode_text` does, about `size` bytes at a time; no piece is empty.

    Raises:
        DataError: As `read_text` does, in the same words. A NUL is told at the end, because what is not UTF-8 at all
            goes first.
    """
    decoder, before, lines, is_empty = codecs.getincrementaldecoder("utf-8")(), 0, 0, True
    nul: DataError | None = None
    for chunk in _read_chunks(path, size):
        # What is left of the last chunk is less than a character, and has no end of a line.
        first = before - len(decoder.getstate()[0])
        start = _start_of_text(path, chunk) if not before else 0
        try:
            text = decoder.decode(chunk[start:], final=not chunk)
        except UnicodeDecodeError as error:
            where = _place(error.object, error.start, first + start, lines)
            raise _other_text(path, error.object[error.start], where) from error
        if nul is None and (place := chunk.find(b"\0")) >= 0:
            nul = _nul(path, _place(chunk, place, before, lines))
        before, lines = before + len(chunk), lines + chunk.count(b"\n")
        if text:
            is_empty = False
            yield text
    if is_empty:
        raise _mark_alone(path) if before else _empty_file(path)
    if nul is not None:
        raise nul


def _read_chunks(path: Path, size: int) -> Iterator[bytes]:
    """Give the bytes of a file, at least 4 at a time, so that the first have a whole mark, and nothing at the end."""
    try:
        with path.open("rb") as stream:
            chunk = None
            while chunk != b"":
                chunk = stream.read(max(size, 4))
                yield chunk
    except (OSError, ValueError) as error:
        raise _cannot_read(path, error) from error


def _start_of_text(path: Path | str, content: bytes) -> int:
    """Give the place behind a byte order mark of UTF-8, and refuse one of something else."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            raise DataError(complain(str(path), "text", "UTF-8", encoding.upper(), "Save it as UTF-8."))
    return 3 if content.startswith(b"\xef\xbb\xbf") else 0


def _mark_alone(path: Path | str) -> DataError:
    return DataError(complain(str(path), "file", "one with content", "a byte order mark alone"))


def _other_text(path: Path | str, byte: int, where: str) -> DataError:
    return DataError(complain(str(path), "text", "UTF-8", f"0x{byte:02x} at {where}", "Save it as UTF-8."))


def _nul(path: Path | str, where: str) -> DataError:
    return DataError(complain(str(path), "content", "text", f"a NUL at {where}", "Save it as UTF-8."))


def _place(content: bytes, place: int, bytes_before: int = 0, lines_before: int = 0) -> str:
    line = lines_before + content.count(b"\n", 0, place) + 1
    return f"byte {bytes_before + place + 1}, line {line}"
