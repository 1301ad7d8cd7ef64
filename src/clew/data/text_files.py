"""Plain text files: exactly as they stand, once they are known to be UTF-8."""

from collections.abc import Sequence
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
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        remedy = suggest_file(path) if isinstance(error, FileNotFoundError) else ""
        raise DataError(complain(str(path), "file", "one that can be read", reason, remedy)) from error
    if not content:
        raise DataError(complain(str(path), "file", "one with content", "an empty file"))
    return content


def decode_text(path: Path | str, content: bytes) -> str:
    """Decode bytes as UTF-8 text without NUL; a byte order mark of UTF-8 is dropped.

    Raises:
        DataError: If they are something else, with the first wrong byte and its line.
    """
    where = str(path)
    for mark, encoding in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            raise DataError(complain(where, "text", "UTF-8", encoding.upper(), "Save it as UTF-8."))
    start = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    try:
        text = content[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        place = start + error.start
        got = f"0x{content[place]:02x} at {_place(content, place)}"
        raise DataError(complain(where, "text", "UTF-8", got, "Save it as UTF-8.")) from error
    if not text:
        raise DataError(complain(where, "file", "one with content", "a byte order mark alone"))
    if (place := content.find(b"\0")) >= 0:
        got = f"a NUL at {_place(content, place)}"
        raise DataError(complain(where, "content", "text", got, "Save it as UTF-8."))
    return text


def _place(content: bytes, place: int) -> str:
    line = content.count(b"\n", 0, place) + 1
    return f"byte {place + 1}, line {line}"
