"""The ledger as files for other programs: strict JSON, CSV with a line a number, safetensors.

Hidden by a rule, not computed, 0, NaN and infinity stay five different things: in JSON `"hidden"`, `null`, `0`,
`"NaN"`, `"Infinity"` and `"-Infinity"`; in CSV the same words, with `not computed` for `null`.
"""

import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from safetensors.torch import save
from torch import Tensor

from clew.files import dump_json, to_strict_json
from clew.ledger.grids import cells
from clew.ledger.quantity import Quantity
from clew.ledger.verification import Distance
from clew.rendering.numbers import HIDDEN, NOT_COMPUTED

FORMAT = 1


def quantities_json(quantities: Sequence[Quantity], distances: Sequence[Distance] = ()) -> dict[str, Any]:
    """Describe a ledger by plain values, ready for `clew.files.dump_json`.

    Returns:
        `format`, `quantities` (name, axes, shape, equation, source, variant, value, sensitivity, `hidden_by` with True
        where a rule hid a cell, and `terms` that sum to the sensitivity), and `distances` to what really ran.
    """
    return {
        "format": FORMAT,
        "quantities": [_quantity_json(quantity) for quantity in quantities],
        "distances": [
            {"name": one.name, "what": one.what, "relative": one.relative, "bound": one.bound} for one in distances
        ],
    }


def json_text(quantities: Sequence[Quantity], distances: Sequence[Distance] = ()) -> str:
    """Write a ledger as strict JSON."""
    return dump_json(quantities_json(quantities, distances), indent=None)


def _quantity_json(quantity: Quantity) -> dict[str, Any]:
    hidden = quantity.is_hidden()
    return {
        **_description(quantity),
        "value": cells(quantity.value, hidden),
        "sensitivity": cells(quantity.sensitivity, hidden) if _is_computed(quantity) else None,
        "hidden_by": {rule: where.expand(quantity.shape).tolist() for rule, where in quantity.hidden_by.items()},
        "terms": {name: part.tolist() for name, part in quantity.terms.items()},
    }


def _description(quantity: Quantity) -> dict[str, Any]:
    return {
        "name": quantity.name,
        "axes": list(quantity.axes),
        "shape": list(quantity.shape),
        "equation": quantity.equation,
        "source": quantity.source,
        "variant": quantity.variant,
    }


def csv_text(quantities: Sequence[Quantity]) -> str:
    """Write a line for each number: name, a column for each axis there is, value, sensitivity, hidden_by.

    An axis that a quantity does not have is empty; several rules that hide a cell are joined by "+".
    """
    axes = list(dict.fromkeys(axis for quantity in quantities for axis in quantity.axes))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["name", *axes, "value", "sensitivity", "hidden_by"])
    for quantity in quantities:
        writer.writerows(_csv_rows(quantity, axes))
    return stream.getvalue()


def _csv_rows(quantity: Quantity, axes: Sequence[str]) -> Iterator[list[Any]]:
    columns = [1 + axes.index(axis) for axis in quantity.axes]
    values = quantity.value.flatten().tolist()
    count = len(values)
    known = quantity.sensitivity.flatten().tolist() if _is_computed(quantity) else [NOT_COMPUTED] * count
    rules = {rule: where.expand(quantity.shape).flatten().tolist() for rule, where in quantity.hidden_by.items()}
    places = itertools.product(*(range(size) for size in quantity.shape))
    for index, (place, value, sensitivity) in enumerate(zip(places, values, known, strict=True)):
        row: list[Any] = [quantity.name, *("" for _ in axes)]
        for column, step in zip(columns, place, strict=True):
            row[column] = step
        hid = "+".join(rule for rule, where in rules.items() if where[index])
        yield [*row, *((HIDDEN, HIDDEN) if hid else (to_strict_json(value), to_strict_json(sensitivity))), hid]


def safetensors_bytes(quantities: Sequence[Quantity]) -> bytes:
    """Write values under their names, sensitivities under "<name>.sensitivity", rules under "<name>.hidden_by.<rule>".

    The header's entry "ledger" describes each quantity as JSON; a sensitivity that is not there is not computed.
    """
    tensors: dict[str, Tensor] = {}
    for quantity in quantities:
        tensors[quantity.name] = quantity.value
        if _is_computed(quantity):
            tensors[f"{quantity.name}.sensitivity"] = quantity.sensitivity
        for rule, where in quantity.hidden_by.items():
            tensors[f"{quantity.name}.hidden_by.{rule}"] = where.expand(quantity.shape)
    described = json.dumps({"format": FORMAT, "quantities": [_description(quantity) for quantity in quantities]})
    # A copy each: several names may share one memory, which the format does not allow.
    return save(
        {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}, {"ledger": described}
    )


def _is_computed(quantity: Quantity) -> bool:
    return quantity.has_sensitivity and quantity.value.is_floating_point()
