"""The audit before the first step: does a recipe's model read what its task forbids, do the splits share sequences?

The quick audit of `clew.checks` looks at each recipe's untrained model on a few training sequences, with the boundary
that the task declares; that takes a fraction of a second. The sealed test is compared with the other splits by hashes,
so that nothing of it is shown. A fault refuses the training unless the caller says otherwise.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clew.data.batch import Batch
from clew.errors import ClewError
from clew.lab.recipe import Recipe
from clew.lab.results import RunResult
from clew.lab.splits import Splits
from clew.runs.auditing import (
    Audit,
    audit_model,
    audit_parts,
    check_rule,
    coincidences_expected,
    is_coincidence,
    refuse_failed,
)
from clew.tasks import Task
from clew.threads import on_threads

__all__ = [
    "Audit",
    "Audits",
    "audit_before_training",
    "audit_recipe",
    "audit_splits",
    "data_of",
    "expected_coincidences",
    "is_coincidence",
]


@dataclass(frozen=True)
class Audits:
    """The audits before one comparison.

    Attributes:
        all: One a recipe, and one of the splits; empty if they were skipped.
        seconds: What they took together.
    """

    all: list[Audit] = field(default_factory=list)
    seconds: float = 0.0

    def leaks(self, results: Sequence[RunResult]) -> dict[str, str]:
        """Give the runs whose results the audits call a leak, with the words for it, by identity."""
        words = {audit.subject: audit.leak for audit in self.all if audit.leak}
        found = {}
        for result in results:
            for subject in (result.plan.recipe.name, data_of(result.task)):
                if subject in words:
                    found.setdefault(result.identity, words[subject])
        return found

    def warnings(self) -> list[str]:
        """One line an audit that failed or could not be made."""
        return [f"audit of {one.subject}: {one.status}. {' '.join(one.reasons)}" for one in self.all if one.reasons]

    def words(self) -> str:
        """Say in a line what was audited, how it ended and what it cost."""
        parts = [f"{audit.subject} {audit.status}" for audit in self.all]
        return f"Audit before training, {self.seconds:.1f} s: {'; '.join(parts)}"

    def __add__(self, other: "Audits") -> "Audits":
        return Audits([*self.all, *other.all], self.seconds + other.seconds)

    def to_rows(self) -> list[dict[str, Any]]:
        """Give plain values; no clock in them."""
        return [asdict(audit) for audit in self.all]


def audit_before_training(
    recipes: Sequence[Recipe], task: Task, splits: Splits, seed: int, rule: str = "refuse"
) -> Audits:
    """Audit the splits and the untrained model of each recipe.

    A model that cannot be audited, because it refuses its inputs say, is no fault here: its training will say why.

    Args:
        recipes: What will be trained.
        task: Declares what a prediction may read.
        splits: Where the sequences come from.
        seed: Draws the initial weights.
        rule: "refuse": a fault is an error; "warn": it is told, and the runs count as leaking; "skip": nothing is done.

    Raises:
        AuditError: If the rule is "refuse" and something failed; all faults at once.
        ConfigError: If there is no such rule.
    """
    check_rule("compare", rule)
    if rule == "skip":
        return Audits()
    started = time.perf_counter()
    with on_threads(1):
        found = [audit_splits(task, splits), *(audit_recipe(recipe, task, splits.train, seed) for recipe in recipes)]
    if rule == "refuse":
        refuse_failed("compare", found, "Mend it, or pass audit='warn' to train all the same, marked as leaking.")
    return Audits(found, time.perf_counter() - started)


def audit_recipe(recipe: Recipe, task: Task, train: Batch, seed: int) -> Audit:
    """Audit the untrained model of a recipe on the first training sequences."""
    try:
        model = recipe.build(seed)
    except ClewError as error:
        return Audit(recipe.name, "not made", [], [str(error)])
    return audit_model(recipe.name, model, task, train)


def data_of(task: Task) -> str:
    """Name the data of a task."""
    return ", ".join(part for part in ("the data", task.label) if part)


def audit_splits(task: Task, splits: Splits) -> Audit:
    """Look for sequences that stand in two splits.

    Equal sequences are excused where they repeat by nature (less than half of the training sequences are distinct), and
    where so few tokens make so few sequences that as many coincidences are expected of independent draws.
    """
    return audit_parts(data_of(task), splits.sequence_hashes(), expected_coincidences(splits))


def expected_coincidences(splits: Splits) -> float:
    """How many equal sequences independent draws from the training tokens would put into two splits.

    A sequence of n ids out of v is one of v^n; real values never coincide.
    """
    return coincidences_expected(splits.train, [len(splits.train), len(splits.validation), len(splits.test)])
