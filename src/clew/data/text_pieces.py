"""Text files in pieces that end at the end of a row, as UTF-8: what tables of text are read from, however large."""

from collections.abc import Iterator
from pathlib import Path

from clew.errors import DataError, complain

BYTE_ORDER_MARKS = ((b"\xff\xfe\x00\x00", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
LONGEST_ROW = 1 << 30


def read_pieces(path: Path, encoding: str, size: int | None, quote: bytes = b"") -> Iterator[bytes]:
    """Read a file in pieces of about `size` bytes, each ending with a row.

    Args:
        path: The file.
        encoding: Its encoding; the pieces are UTF-8 without a byte order mark.
        size: Bytes a piece; None for the whole file in one piece.
        quote: The sign between which ends of lines do not end a row.

    Raises:
        DataError: If the text is not of this encoding, or a row has no end.
    """
    rest, row = b"", 0
    for chunk in _as_utf8(path, encoding, size):
        whole = rest + chunk
        end = len(whole) if size is None else _end_of_rows(whole, quote)
        if end == 0:
            if size is not None and len(whole) > max(16 * size, LONGEST_ROW):
                remedy = "Look for a quote that is opened and not closed."
                raise DataError(complain(f"{path}: row {row}", "row", "one that ends", f"{len(whole)} bytes", remedy))
            rest = whole
            continue
        piece, rest = whole[:end], whole[end:]
        _refuse_other_text(path, piece, row)
        row += piece.count(b"\n")
        yield piece
    if rest:
        _refuse_other_text(path, rest, row)
        yield rest


def _as_utf8(path: Path, encoding: str, size: int | None) -> Iterator[bytes]:
    """Give the bytes of a file, recoded where it is not UTF-8."""
    try:
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
            with path.open("rb") as stream:
                start = stream.read(4)
                _refuse_byte_order_mark(path, start)
                stream.seek(3 if start.startswith(b"\xef\xbb\xbf") else 0)
                while chunk := stream.read(-1 if size is None else size):
                    yield chunk
            return
        with path.open("r", encoding=encoding, newline="") as stream:
            while text := stream.read(-1 if size is None else size):
                yield text.encode("utf-8")
    except LookupError as error:
        raise DataError(complain(str(path), "encoding", "one that Python knows", repr(encoding))) from error
    except UnicodeError as error:
        raise DataError(complain(str(path), "text", encoding, str(error), "Give its encoding.")) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(complain(str(path), "file", "one that can be read", reason)) from error


def _end_of_rows(text: bytes, quote: bytes) -> int:
    """Place behind the last end of a line that stands outside quotes, or 0."""
    end = text.rfind(b"\n") + 1
    while quote and end and text.count(quote, 0, end) % 2:
        end = text.rfind(b"\n", 0, end - 1) + 1
        # Inside a long quote it would take a pass a line: look only a little further back.
        if end and end < len(text) - (1 << 20):
            return 0
    return end


def _refuse_byte_order_mark(path: Path, start: bytes) -> None:
    for mark, encoding in BYTE_ORDER_MARKS:
        if start.startswith(mark):
            remedy = f"Save it as UTF-8, or say encoding='{encoding}'."
            raise DataError(complain(str(path), "text", "UTF-8", f"{encoding.upper()}", remedy))


def _refuse_other_text(path: Path, piece: bytes, rows_before: int) -> None:
    """Raise unless a piece is UTF-8 without NUL."""
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError as error:
        line = rows_before + piece.count(b"\n", 0, error.start) + 1
        remedy = "Save it as UTF-8, or give its encoding, as encoding='cp1252'."
        got = f"byte 0x{piece[error.start]:02x} in line {line}"
        raise DataError(complain(str(path), "text", "UTF-8", got, remedy)) from error
    if (place := piece.find(b"\0")) >= 0:
        line = rows_before + piece.count(b"\n", 0, place) + 1
        remedy = "If it is text of another encoding, give it, as encoding='utf-16'."
        raise DataError(complain(str(path), "content", "text", f"a NUL byte in line {line}", remedy))
