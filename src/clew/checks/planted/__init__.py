"""Planted faults with their repaired twins: what the audit itself is tested on.

`PLANTED` lists them all; a `Plant` makes the arguments of two audits, one that must fail and one that must pass.
"""

from clew.checks.planted import calls, padding, reading_ahead, scoring
from clew.checks.planted.plant import Plant
from clew.checks.planted.self_test import Outcome, run_self_test, self_test_table

PLANTED: tuple[Plant, ...] = (*reading_ahead.PLANTS, *padding.PLANTS, *calls.PLANTS, *scoring.PLANTS)

__all__ = ["PLANTED", "Outcome", "Plant", "run_self_test", "self_test_table"]
