"""The audit before the first step: does a recipe's model read what its task forbids, do the splits share sequences?

The quick audit of `clew.checks` looks at each recipe's untrained model on a few training sequences, with the boundary
that the task declares; that takes a fraction of a second. The sealed test is compared with the other splits by hashes,
so that nothing of it is shown. A fault refuses the training unless the caller says otherwise.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import exp
from typing import Any, Literal

import torch
from torch import Tensor, nn

from clew.checks import audit_data, quick_audit
from clew.data.batch import Batch
from clew.errors import AuditError, ClewError, ConfigError, complain, did_you_mean
from clew.lab.jobs import single_thread
from clew.lab.recipe import Recipe
from clew.lab.results import RunResult
from clew.lab.splits import Splits
from clew.tasks import Task

RULES = ("refuse", "warn", "skip")
ROWS = 4
LEAKS = ("batch_mates", "boundary", "future")
COINCIDENCE = 1e-3


@dataclass(frozen=True)
class Audit:
    """What the audit before training said of one recipe, or of the splits.

    Attributes:
        subject: Name of the recipe, or the data and the task's setting.
        status: "passed", "failed" or "not made".
        failures: Checks that failed.
        reasons: A sentence for each of them, or why the audit could not be made.
        is_of_data: Whether the splits were audited, and not a model.
    """

    subject: str
    status: Literal["passed", "failed", "not made"]
    failures: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    is_of_data: bool = False

    @property
    def leak(self) -> str:
        """Why the results cannot be trusted, in words; "" if they can."""
        if self.status == "failed" and (self.is_of_data or set(self.failures) & set(LEAKS)):
            return f"reported as a leak: the audit of {self.subject} found {', '.join(self.failures)}"
        return ""


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
    if rule not in RULES:
        raise ConfigError(complain("compare", "audit", "refuse, warn or skip", f"'{rule}'", did_you_mean(rule, RULES)))
    if rule == "skip":
        return Audits()
    started = time.perf_counter()
    with single_thread():
        found = [audit_splits(task, splits), *(audit_recipe(recipe, task, splits.train, seed) for recipe in recipes)]
    audits = Audits(found, time.perf_counter() - started)
    failed = [audit for audit in found if audit.status == "failed"]
    if failed and rule == "refuse":
        heading = complain(
            "compare", "model and data", "without a leak before they are trained on",
            f"{len(failed)} of {len(found)} audits failed",
            "Mend it, or pass audit='warn' to train all the same, marked as leaking.",
        )  # fmt: skip
        raise AuditError(
            "\n".join([heading, *(f"{one.subject}: {reason}" for one in failed for reason in one.reasons)])
        )
    return audits


def audit_recipe(recipe: Recipe, task: Task, train: Batch, seed: int) -> Audit:
    """Audit the untrained model of a recipe on the first training sequences."""
    try:
        aligned = task.align(train.select(torch.arange(min(ROWS, len(train)))))
        report = quick_audit(
            recipe.build(seed),
            aligned.inputs,
            boundary=task.boundary,
            valid=aligned.valid,
            call=call_model,
            vocab=recipe.model.get("vocab"),
        )
    except ClewError as error:
        return Audit(recipe.name, "not made", [], [str(error)])
    reasons = [finding.text for finding in report.findings if finding.status == "failed"]
    return Audit(recipe.name, "passed" if report.passed else "failed", report.failures, reasons)


def call_model(model: nn.Module, inputs: Tensor, valid: Tensor | None) -> Any:
    """Call a model of clew as the tasks do."""
    return model(inputs) if valid is None else model(inputs, valid=valid)


def data_of(task: Task) -> str:
    """Name the data of a task."""
    return ", ".join(part for part in ("the data", task.label) if part)


def audit_splits(task: Task, splits: Splits) -> Audit:
    """Look for sequences that stand in two splits.

    Equal sequences are excused where they repeat by nature (less than half of the training sequences are distinct), and
    where so few tokens make so few sequences that as many coincidences are expected of independent draws.
    """
    hashes = splits.sequence_hashes()
    report = audit_data(*({"sequence": hashes[name]} for name in ("train", "validation", "test")))
    shared = sum(len(set(hashes["train"]) & set(hashes[name])) for name in ("validation", "test"))
    shared += len(set(hashes["validation"]) & set(hashes["test"]))
    repeats = 2 * len(set(hashes["train"])) < len(hashes["train"])
    if report.passed or repeats or is_coincidence(shared, expected_coincidences(splits)):
        return Audit(data_of(task), "passed", is_of_data=True)
    reasons = [finding.text for finding in report.findings if finding.status == "failed"]
    return Audit(data_of(task), "failed", report.failures, reasons, is_of_data=True)


def expected_coincidences(splits: Splits) -> float:
    """How many equal sequences independent draws from the training tokens would put into two splits.

    A sequence of n ids out of v is one of v^n; real values never coincide.
    """
    inputs = splits.train.inputs
    if inputs.is_floating_point():
        return 0.0
    tokens, steps = len(inputs.unique()), inputs[0].numel()
    train, validation, test = len(splits.train), len(splits.validation), len(splits.test)
    pairs = train * validation + train * test + validation * test
    return pairs * float(max(tokens, 1)) ** -steps


def is_coincidence(count: int, expected: float) -> bool:
    """Say whether `count` or more are not rare, where `expected` are expected.

    >>> is_coincidence(1, 0.01), is_coincidence(2, 0.01), is_coincidence(1, 1e-9)
    (True, False, False)
    """
    term, below = exp(-expected), 0.0
    for number in range(count):
        below += term
        term *= expected / (number + 1)
    return 1 - below >= COINCIDENCE
