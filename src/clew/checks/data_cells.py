"""Rows of tables as codes: equal entries have equal codes, in every split and whatever their type."""

import unicodedata
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_columns import Column, kind_of
from clew.checks.data_tables import SplitTables

Codes = NDArray[numpy.int64]


def coded(data: SplitTables, columns: list[Column], plain_text: bool = False) -> dict[str, Codes]:
    """Give the rows of every split, (rows, entries).

    Args:
        data: The splits.
        columns: Columns that are coded, in this order; one of several entries a row gives several.
        plain_text: Code texts without regard to case, spaces and punctuation.
    """
    parts = [coded_columns([table[name] for table in data.tables.values()], plain_text) for name in columns]
    return {split: numpy.concatenate([part[n] for part in parts], axis=1) for n, split in enumerate(data.tables)}


def coded_columns(arrays: list[NDArray[Any]], plain_text: bool = False) -> list[Codes]:
    """Code one column of several splits, each (rows, entries)."""
    kinds = {array.dtype.kind for array in arrays}
    flat = [array.reshape(len(array), -1) for array in arrays]
    if "O" not in kinds and len({kind_of(array) for array in arrays}) == 1 and kinds & set("biufMm"):
        shared = numpy.result_type(*[array.dtype for array in arrays])
        return [_bits(array.astype(shared)) for array in flat]
    numbers: dict[Any, int] = {}
    return [_numbered(array, numbers, plain_text) for array in flat]


def _bits(array: NDArray[Any]) -> Codes:
    if array.dtype.kind != "f":
        return array.astype(numpy.int64)
    wide = array.astype(numpy.float64) + 0.0  # -0.0 becomes 0.0
    wide[numpy.isnan(wide)] = numpy.nan
    return wide.view(numpy.int64)


def _numbered(array: NDArray[Any], numbers: dict[Any, int], plain_text: bool) -> Codes:
    keys = [_key(value, plain_text) for value in array.ravel().tolist()]
    return numpy.array([numbers.setdefault(key, len(numbers)) for key in keys]).reshape(array.shape).astype(numpy.int64)


def _key(value: Any, plain_text: bool) -> Any:
    """Give something hashable that is equal for equal entries; NaN is equal to NaN."""
    if isinstance(value, str):
        return plain(value) if plain_text else value
    if isinstance(value, (list, tuple, numpy.ndarray)) or hasattr(value, "tolist"):
        entries = value if isinstance(value, (list, tuple)) else value.tolist()
        return tuple(_key(one, plain_text) for one in entries) if isinstance(entries, (list, tuple)) else entries
    if isinstance(value, dict):
        return tuple((key, _key(one, plain_text)) for key, one in value.items())
    return "NaN" if value != value else value


def plain(text: str) -> str:
    """Leave of a text its letters and digits, in one case, with single spaces.

    >>> plain("The  cat sat. ")
    'the cat sat'
    """
    kept = "".join(letter if letter.isalnum() else " " for letter in unicodedata.normalize("NFKC", text).casefold())
    return " ".join(kept.split()) or text


def row_keys(codes: Codes) -> list[bytes]:
    """Give a key for each row, equal for equal rows."""
    whole = numpy.ascontiguousarray(codes)
    return [row.tobytes() for row in whole]
