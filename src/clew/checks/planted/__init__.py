"""Planted faults with their repaired twins: what the audit itself is tested on.

`PLANTED` lists them all; a `Plant` makes the arguments of two audits, one that must fail and one that must pass. A
module holds the faults of one kind, its list `PLANTS` at the end.
"""

from clew.checks.planted import (
    attention_masks,
    batch_rows,
    boundaries,
    calls,
    decoding,
    empty_rows,
    losses,
    modes,
    padding,
    pooling,
    splits,
    time_mixing,
)
from clew.checks.planted.plant import Plant
from clew.checks.planted.self_test import Outcome, run_self_test, self_test_table

MODEL_KINDS = (
    attention_masks, time_mixing, boundaries, padding, pooling, empty_rows, batch_rows, calls, modes, losses, decoding
)  # fmt: skip
PLANTED: tuple[Plant, ...] = tuple(plant for kind in (*MODEL_KINDS, splits) for plant in kind.PLANTS)

__all__ = ["PLANTED", "Outcome", "Plant", "run_self_test", "self_test_table"]
