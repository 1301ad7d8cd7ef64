"""`label_in_features`: no column says the label in other words.

A column fails if it equals the label, is a one-to-one recoding of a label whose values repeat, or a straight-line
function of a real-valued one.
"""

from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.data_tables import Column, SplitTables, is_number
from clew.checks.finding import Finding, failed, not_applicable, passed

NAME = "label_in_features"


def check_label_in_features(data: SplitTables) -> Finding:
    """Compare every column with the label, over all splits."""
    if data.label is None:
        return not_applicable(NAME, "no label was named")
    label = _whole(data, data.label)
    if len(numpy.unique(label)) < 2:
        return not_applicable(NAME, "the label has one value only")
    others = [column for column in data.columns if column not in (data.label, data.time, data.group)]
    if not others:
        return not_applicable(NAME, "there is no other column")
    for column in others:
        how = _says(_whole(data, column), label)
        if how:
            reason = f"column {column!r} {how} the label {data.label!r}"
            return failed(NAME, f"{reason}. Usual cause: a column known only after the label.", changed="nothing")
    return passed(NAME, f"none of {len(others)} columns is the label in other words", changed="nothing")


def _whole(data: SplitTables, column: Column) -> NDArray[Any]:
    return numpy.concatenate([data.column(split, column) for split in data.tables])


def _says(column: NDArray[Any], label: NDArray[Any]) -> str:
    if column.dtype.kind == label.dtype.kind and bool((column == label).all()):
        return "equals"
    values, number = numpy.unique(column, return_inverse=True)
    classes, kind = numpy.unique(label, return_inverse=True)
    if len(classes) * 2 <= len(label):
        pairs = len(set(zip(number.tolist(), kind.tolist(), strict=True)))
        return "is a one-to-one recoding of" if pairs == len(values) == len(classes) else ""
    if is_number(column) and is_number(label) and len(values) > 2:
        agreement = abs(numpy.corrcoef(column.astype(float), label.astype(float))[0, 1])
        return "is a straight-line function of" if agreement > 1 - 1e-9 else ""
    return ""
