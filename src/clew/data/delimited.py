"""CSV and its kin: the delimiter is found, the header checked, and rows with too many or too few cells are named."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from clew.data.problems import Problems, shorten
from clew.data.raw_blocks import RawBlock
from clew.data.text_pieces import read_pieces
from clew.errors import DataError, complain

DELIMITERS = (",", ";", "\t", "|")
WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SNIFFED_BYTES = 1 << 16


class DelimitedSource:
    """A table of text with a header.

    Args:
        path: The file.
        delimiter: What stands between cells; None to find it.
        encoding: Encoding of the text.
    """

    kind = "csv"

    def __init__(self, path: Path, delimiter: str | None = None, encoding: str = "utf-8") -> None:
        self.path, self.delimiter, self.encoding = path, delimiter, encoding
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\n\r' or not delimiter.isascii()):
            raise DataError(complain(str(path), "delimiter", "one ASCII sign", repr(delimiter)))

    def blocks(self, size: int | None) -> Iterator[RawBlock]:
        """Read all rows; the header is checked first."""
        names: list[str] | None = None
        first_row = 1
        for piece in read_pieces(self.path, self.encoding, size, quote=b'"'):
            body = piece
            if names is None:
                body = body.lstrip(b"\r\n")
                if not body:
                    continue
                header, body = self._cut_header(body)
                self.delimiter = self.delimiter or sniff_delimiter(header + body[:SNIFFED_BYTES])
                names = self._read_header(header, body)
            block = self._parse(body, names, first_row)
            first_row += block.frame.height
            yield block
        if names is None:
            raise DataError(complain(str(self.path), "file", "one with a header and rows", "blank lines only"))

    def _cut_header(self, text: bytes) -> tuple[bytes, bytes]:
        """Split the first row from the others."""
        end = text.find(b"\n") + 1
        while end and text.count(b'"', 0, end) % 2:
            end = text.find(b"\n", end) + 1
        if not end and b"\r" in text.rstrip(b"\r"):
            remedy = "Save it with Unix or Windows line ends."
            raise DataError(complain(str(self.path), "ends of lines", "line feeds", "carriage returns alone", remedy))
        return (text[:end], text[end:]) if end else (text, b"")

    def _read_header(self, header: bytes, body: bytes) -> list[str]:
        """Give the names of the columns; raise on all that is wrong with them at once."""
        assert self.delimiter is not None
        problems = Problems(self.path)
        try:
            names = [name.strip() for name in next(csv.reader(io.StringIO(header.decode()), delimiter=self.delimiter))]
        except (csv.Error, StopIteration) as error:
            raise DataError(complain(str(self.path), "header", "names of columns", str(error) or "none")) from error
        better = sniff_delimiter(header + body[:SNIFFED_BYTES])
        if len(names) == 1 and better != self.delimiter and better in names[0]:
            got = f"one column {shorten(names[0])}"
            remedy = f"It looks as if {WORDS[better]} stand there: say delimiter={better!r}."
            rule = f"columns with {WORDS.get(self.delimiter, self.delimiter)} between them"
            problems.add("", "", "header", rule, got, remedy)
            problems.raise_if_any()
        if all(_is_number(name) for name in names):
            remedy = "Put a line with the names of the columns first."
            problems.add("", "", "header", "names of columns", f"numbers: {shorten(', '.join(names))}", remedy)
        for place, name in enumerate(names, start=1):
            if not name:
                remedy = "Name it; tables of pandas are written with index=False."
                problems.add(f"column {place}", "", "name", "given", "nothing", remedy)
            elif name in names[: place - 1]:
                problems.add(
                    f"column {place}", "", "name", "unlike the others", f"'{name}' again", "Rename one of them."
                )
        problems.raise_if_any()
        return names

    def _parse(self, body: bytes, names: list[str], first_row: int) -> RawBlock:
        """Read rows as text, with null for an empty cell."""
        import polars as pl

        assert self.delimiter is not None
        schema = dict.fromkeys(names, pl.String)
        if not body:
            return RawBlock(pl.DataFrame(schema=schema), first_row, frozenset(names), {})
        try:
            frame = pl.read_csv(
                io.BytesIO(body), has_header=False, separator=self.delimiter, schema=schema, infer_schema=False
            )
        except pl.exceptions.PolarsError as error:
            self._diagnose(body, len(names), first_row)
            got = str(error).splitlines()[0] if str(error) else "something else"
            remedy = "Look for quotes inside cells: they are doubled, and the cell stands in quotes."
            raise DataError(complain(str(self.path), "rows", f"CSV from row {first_row} on", got, remedy)) from error
        if frame.height and frame[names[-1]].null_count():
            # An empty last cell and a row that ends too early look alike there.
            self._diagnose(body, len(names), first_row)
        frame = frame.with_columns(pl.all().str.strip_chars())
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
        return RawBlock(frame, first_row, frozenset(names), {})

    def _diagnose(self, body: bytes, width: int, first_row: int) -> None:
        """Raise with every row that has another number of cells than the header."""
        problems = Problems(self.path)
        row = first_row - 1
        try:
            lines = csv.reader(io.StringIO(body.decode(), newline=""), delimiter=self.delimiter or ",")
            for row, cells in enumerate(lines, start=first_row):
                if cells and len(cells) != width:
                    remedy = f"A {'quote' if len(cells) > width else 'delimiter'} may be missing."
                    problems.add("", f"row {row}", "row", f"{width} cells long, as the header is", len(cells), remedy)
        except csv.Error as error:
            problems.add("", f"row {row + 1}", "row", "CSV", str(error), "Look for a quote that is not closed.")
        problems.raise_if_any()


def sniff_delimiter(text: bytes) -> str:
    """Find what stands between cells: what gives the most columns, the same number in every row.

    >>> sniff_delimiter(b"a;b\\n1,5;2\\n")
    ';'
    """
    lines = text.decode(errors="replace").splitlines()[:20]
    lines = lines[:-1] if len(lines) == 20 else lines
    scores = {}
    for delimiter in DELIMITERS:
        try:
            widths = [len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            scores[delimiter] = (len(set(widths)) == 1, widths[0])
    return max(scores, key=lambda delimiter: scores[delimiter], default=",")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
