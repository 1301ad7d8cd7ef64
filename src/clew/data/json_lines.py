"""JSON Lines: one object a line, a key a column; lines that are none are named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.data.problems import Problems, shorten
from clew.data.raw_blocks import RawBlock
from clew.data.text_pieces import read_pieces
from clew.errors import DataError, complain

if TYPE_CHECKING:
    import polars as pl

NESTED = "nested values"


class JsonLinesSource:
    """A table of JSON objects.

    Args:
        path: The file.
        encoding: Encoding of the text.
    """

    kind = "jsonl"

    def __init__(self, path: Path, encoding: str = "utf-8") -> None:
        self.path, self.encoding = path, encoding

    def blocks(self, size: int | None) -> Iterator[RawBlock]:
        """Read all rows; a key that a line lacks is a missing value."""
        row, names = 1, []
        for piece in read_pieces(self.path, self.encoding, size):
            objects, lines = self._parse(piece, row)
            names = list(dict.fromkeys([*names, *(name for item in objects for name in item)]))
            if objects:
                yield _as_block(objects, names, row)
            row += lines
        if not names:
            raise DataError(complain(str(self.path), "file", "one with at least one JSON object", "none"))

    def _parse(self, piece: bytes, first_row: int) -> tuple[list[dict[str, Any]], int]:
        """Read the objects of a piece; blank lines count as rows of the file only at its end."""
        problems = Problems(self.path)
        objects: list[dict[str, Any]] = []
        lines = piece.decode().split("\n")
        lines = lines[:-1] if not lines[-1].strip() else lines
        if lines and first_row == 1 and lines[0].lstrip().startswith("["):
            remedy = "Write one object a line, without the outer brackets."
            problems.add("", "row 1", "line", "one JSON object", "an array", remedy)
            problems.raise_if_any()
        for row, line in enumerate(lines, start=first_row):
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                got = "a blank line" if not line.strip() else f"{shorten(line.strip())} ({_reason(error)})"
                problems.add("", f"row {row}", "line", "one JSON object", got)
                continue
            if not isinstance(item, dict):
                problems.add("", f"row {row}", "line", "one JSON object", shorten(line.strip()))
                continue
            objects.append(item)
        problems.raise_if_any()
        return objects, len(lines)


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _as_block(objects: list[dict[str, Any]], names: list[str], first_row: int) -> RawBlock:
    """Turn objects into columns."""
    import polars as pl

    columns, untyped, other = [], set(), {}
    for name in names:
        values = [item.get(name) for item in objects]
        series, is_untyped = _as_series(name, values)
        if series is None:
            other[name] = NESTED
        else:
            columns.append(series)
            untyped.update([name] if is_untyped else [])
    frame = pl.DataFrame(columns) if columns else pl.DataFrame(height=len(objects))
    return RawBlock(frame, first_row, frozenset(untyped), other)


def _as_series(name: str, values: list[Any]) -> "tuple[pl.Series | None, bool]":
    """Give a column of one type; mixed cells become text, and are then looked at as those of a CSV file are."""
    import polars as pl

    kinds = {_kind(value) for value in values if value is not None}
    if "nested" in kinds or ("list" in kinds and len(kinds) > 1):
        return None, False
    if kinds != {"list"}:
        cells, dtype, is_untyped = _as_cells(values, kinds)
        return pl.Series(name, cells, dtype=dtype), is_untyped
    flat = [cell for value in values if value is not None for cell in value]
    inner = {_kind(cell) for cell in flat if cell is not None}
    if inner & {"list", "nested"}:
        return None, False
    cells, dtype, is_untyped = _as_cells(flat, inner)
    lists, place = [], 0
    for value in values:
        count = 0 if value is None else len(value)
        lists.append(None if value is None else cells[place : place + count])
        place += count
    return pl.Series(name, lists, dtype=pl.List(dtype)), is_untyped


def _as_cells(values: list[Any], kinds: set[str]) -> tuple[list[Any], Any, bool]:
    """Bring cells to numbers or text."""
    import polars as pl

    if not kinds:
        return values, pl.String, True
    if kinds == {"number"}:
        return [None if value is None else _to_float(value) for value in values], pl.Float64, False
    if kinds == {"whole"}:
        return [None if value is None else int(value) for value in values], pl.Int64, False
    if kinds <= {"number", "whole"}:
        return [None if value is None else _to_float(value) for value in values], pl.Float64, False
    if kinds == {"text"}:
        return [None if value is None else _clean(value) for value in values], pl.String, False
    texts = (value if isinstance(value, str | None) else json.dumps(value) for value in values)
    return [None if text is None else _clean(text).strip() for text in texts], pl.String, True


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "whole"
    if isinstance(value, int | float):
        return "number"
    return "list" if isinstance(value, list) else "nested"


def _to_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _clean(text: str) -> str:
    """Replace what UTF-8 cannot hold: halves of a pair that JSON can write alone."""
    return text.encode(errors="replace").decode()
