"""`label_in_features`: no column says the label in other words, or says a later one.

A column fails if it equals the label, is a one-to-one recoding of a label whose values repeat, runs up or down with a
real-valued one (a straight line, a logarithm), or, where a time is named, equals the label of a later row. An earlier
row's label is what a forecast may read. Entries of a column of several numbers a row are tried one by one. A label of
several numbers a row fails if one column holds all of them; ids that equal the inputs are targets still to be shifted.
"""

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_cells import coded_columns
from clew.checks.data_columns import Column, is_number
from clew.checks.data_tables import SplitTables
from clew.checks.finding import Finding, failed, not_applicable, passed

NAME = "label_in_features"
LEAST_ROWS = 8
LEAST_CHANGES = 3
LEADS = (1, 2, 3)

Codes = NDArray[numpy.int64]
Entry = tuple[str, NDArray[Any], Codes]


def check_label_in_features(data: SplitTables) -> Finding:
    """Compare every column with the label, over all splits."""
    if data.label is None:
        return not_applicable(NAME, "no label was named")
    others = [column for column in data.columns if column not in (data.label, data.time, data.group)]
    if not others:
        return not_applicable(NAME, "there is no other column")
    labels = list(_entries(data, data.label))
    if all(len(numpy.unique(codes)) < 2 for _, _, codes in labels):
        return not_applicable(NAME, "the label has one value only")
    for column in others:
        how = _says_label(data, column, labels) if len(labels) == 1 else _holds_all(data, column, labels)
        if how:
            reason = f"{how} the label {data.label!r}"
            return failed(NAME, f"{reason}. Usual cause: a column known only after the label.", changed="nothing")
    return passed(NAME, f"none of {len(others)} columns is the label in other words", changed="nothing")


def _says_label(data: SplitTables, column: Column, labels: list[Entry]) -> str:
    _, label, label_codes = labels[0]
    for name, values, codes in _entries(data, column):
        how = _says(values, codes, label, label_codes) or _says_later(data, codes, label_codes)
        if how:
            return f"column {name} {how}"
    return ""


def _holds_all(data: SplitTables, column: Column, labels: list[Entry]) -> str:
    """Say whether every entry of a label of several numbers is an entry of a column."""
    assert data.label is not None
    shapes = [data.column("train", name).shape for name in (column, data.label)]
    if shapes[0] == shapes[1] and data.column("train", column).dtype.kind in "iu":
        return ""
    held = {codes.tobytes() for _, _, codes in _entries(data, column)}
    return f"column {column!r} holds" if all(codes.tobytes() in held for _, _, codes in labels) else ""


def _entries(data: SplitTables, column: Column) -> Iterator[Entry]:
    """Give name, values and codes of each entry of a column, over all splits."""
    arrays = [data.column(split, column) for split in data.tables]
    codes = numpy.concatenate(coded_columns(arrays))
    whole = numpy.concatenate([array.reshape(len(array), -1) for array in arrays])
    for place in range(codes.shape[1]):
        name = repr(column) if arrays[0].ndim == 1 else f"{column!r}, entry {place},"
        yield name, whole[:, place], codes[:, place]


def _says(column: NDArray[Any], codes: Codes, label: NDArray[Any], label_codes: Codes) -> str:
    if is_number(column) and is_number(label):
        if numpy.array_equal(column, label, equal_nan=column.dtype.kind == label.dtype.kind == "f"):
            return "equals"
    elif column.dtype.kind == label.dtype.kind and column.tolist() == label.tolist():
        return "equals"
    values, number = numpy.unique(codes, return_inverse=True)
    classes, kind = numpy.unique(label_codes, return_inverse=True)
    if len(classes) * 2 <= len(label):
        pairs = len(set(zip(number.tolist(), kind.tolist(), strict=True)))
        return "is a one-to-one recoding of" if pairs == len(values) == len(classes) else ""
    if is_number(column) and is_number(label) and len(values) > 2:
        return _runs_with(column.astype(float), label.astype(float))
    return ""


def _runs_with(column: NDArray[Any], label: NDArray[Any]) -> str:
    """Say whether two columns go up together, unless the label goes one way from row to row as a counter does."""
    rises = numpy.diff(label)
    if (rises >= 0).all() or (rises <= 0).all() or not (numpy.isfinite(column) & numpy.isfinite(label)).all():
        return ""
    if abs(numpy.corrcoef(column, label)[0, 1]) > 1 - 1e-9:
        return "is a straight-line function of"
    steps = numpy.diff(column[numpy.argsort(label, kind="stable")])
    is_long = len(numpy.unique(label)) == len(numpy.unique(column)) == len(label) >= LEAST_ROWS
    return "rises and falls with" if is_long and ((steps > 0).all() or (steps < 0).all()) else ""


def _says_later(data: SplitTables, codes: Codes, label: Codes) -> str:
    """Say whether a column equals the label of a later row in every unit, and not that of an earlier row too."""
    if data.time is None:
        return ""
    units = _in_order(data)
    for lead in LEADS:
        if _equals_shifted(units, codes, label, lead):
            return f"is a copy, {lead} row{'s'[: lead > 1]} early, of"
    return ""


def _in_order(data: SplitTables) -> list[NDArray[numpy.int64]]:
    """Give the rows of each unit of each split in the order of time; rows are numbered over all splits."""
    assert data.time is not None
    arrays = {split: data.column(split, data.time) for split in data.tables}
    times = numpy.concatenate(list(arrays.values()))
    names = [list(arrays).index(split) for split, one in arrays.items() for _ in one]
    units = [numpy.array(names)]
    if data.group is not None:
        units.append(numpy.concatenate(coded_columns([data.column(split, data.group) for split in arrays]))[:, 0])
    order = numpy.lexsort((times, *units))
    is_new = numpy.any([numpy.diff(unit[order]) != 0 for unit in units], axis=0)
    return numpy.split(order, numpy.flatnonzero(is_new) + 1)


def _equals_shifted(units: list[NDArray[numpy.int64]], codes: Codes, label: Codes, lead: int) -> bool:
    compared = changes = 0
    for order in units:
        later = label[order][lead:]
        if not numpy.array_equal(codes[order][:-lead], later):
            return False
        compared += len(later)
        changes += int((numpy.diff(later) != 0).sum())
    if compared < LEAST_ROWS or changes < LEAST_CHANGES:
        return False
    longest = max(units, key=len)
    lags = range(1, len(longest) // 2 + 1)
    return not any(numpy.array_equal(codes[longest][lag:], label[longest][:-lag]) for lag in lags)
