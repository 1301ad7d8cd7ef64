"""The audit before the first step: does a model read what its task forbids, do parts of the data share sequences?

The quick audit of `clew.checks` looks at the untrained model on a few training sequences, with the boundary that the
task declares. Parts are compared by hashes of their sequences, so that nothing of a sealed one is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import combinations
from math import exp
from typing import Literal

import torch

from clew.checks import audit_data, quick_audit
from clew.data.batch import Batch
from clew.errors import AuditError, ClewError, ConfigError, complain, did_you_mean
from clew.models.sequence_model import SequenceModel
from clew.runs.audit_arguments import input_arguments
from clew.tasks import Task
from clew.tasks.sequences import Sequences

RULES = ("refuse", "warn", "skip")
ROWS = 4
LEAKS = ("batch_mates", "boundary", "future")
COINCIDENCE = 1e-3
HASHED_AT_ONCE = 512
MOST_HASHED = 200_000
SHARED_FRACTION = 0.05


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


def audit_before_fit(
    model: SequenceModel, task: Task, train: Sequences, validation: Sequences, rule: str = "refuse"
) -> list[Audit]:
    """Audit a model and its data before it is trained.

    Sequences that training and validation share are a fault where they are more than a twentieth of validation; fewer,
    such as short sentences that many texts have, are told and pass.

    Args:
        model: The untrained model.
        task: Declares what a prediction may read.
        train: Training sequences.
        validation: Sequences for selection.
        rule: "refuse": a fault is an error; "warn": it is told; "skip": nothing is done.

    Raises:
        AuditError: If the rule is "refuse" and something failed; all faults at once.
        ConfigError: If there is no such rule.
    """
    check_rule("fit", rule)
    if rule == "skip":
        return []
    found = [audit_model("the model", model, task, train)]
    if max(len(train), len(validation)) <= MOST_HASHED:
        hashes = {"train": sequence_hashes(train), "validation": sequence_hashes(validation)}
        expected = coincidences_expected(train, [len(train), len(validation)])
        audit = audit_parts("the data", hashes, expected)
        shared = len(set(hashes["train"]) & set(hashes["validation"]))
        is_small = audit.status == "failed" and shared <= SHARED_FRACTION * len(set(hashes["validation"]))
        found.append(replace(audit, status="passed") if is_small else audit)
    if rule == "refuse":
        refuse_failed("fit", found, "Mend it, or pass audit='warn' to train all the same.")
    return found


def check_rule(where: str, rule: str) -> None:
    """Raise ConfigError unless there is such a rule for what a failed audit does."""
    if rule not in RULES:
        raise ConfigError(complain(where, "audit", "refuse, warn or skip", f"'{rule}'", did_you_mean(rule, RULES)))


def refuse_failed(where: str, audits: Sequence[Audit], remedy: str) -> None:
    """Raise AuditError with the reasons of every audit that failed, if any did, and what to do once, last."""
    failed = [audit for audit in audits if audit.status == "failed"]
    if failed:
        reasons = [f"{one.subject}: {reason.rstrip('.')}" for one in failed for reason in one.reasons]
        got = f"{len(failed)} of {len(audits)} audits failed: {'; '.join(reasons)}"
        rule = "without a leak before they are trained on"
        raise AuditError(complain(where, "model and data", rule, got, remedy))


def audit_model(name: str, model: SequenceModel, task: Task, train: Sequences) -> Audit:
    """Audit an untrained model on the first training sequences; one that refuses its inputs is no fault here."""
    try:
        aligned = task.align(train.select(torch.arange(min(ROWS, len(train)))))
        arguments = input_arguments(model, aligned.inputs, aligned.valid)
        report = quick_audit(model, boundary=task.boundary, **arguments)
    except ClewError as error:
        return Audit(name, "not made", [], [str(error)])
    reasons = [finding.text for finding in report.findings if finding.status == "failed"]
    return Audit(name, "passed" if report.passed else "failed", report.failures, reasons)


def audit_parts(name: str, hashes: Mapping[str, Sequence[str]], expected: float) -> Audit:
    """Look for sequences that stand in two parts.

    Equal sequences are excused where they repeat by nature (less than half of the training sequences are distinct), and
    where so few tokens make so few sequences that as many coincidences are expected of independent draws.

    Args:
        name: What the data are called.
        hashes: Hashes of the sequences of "train", "validation" and, where there is one, "test".
        expected: Coincidences that are expected.
    """
    names = ("train", "validation", "test")
    report = audit_data(*({"sequence": list(hashes[name])} if name in hashes else None for name in names))
    shared = sum(len(set(first) & set(second)) for first, second in combinations(hashes.values(), 2))
    repeats = 2 * len(set(hashes["train"])) < len(hashes["train"])
    if report.passed or repeats or is_coincidence(shared, expected):
        return Audit(name, "passed", is_of_data=True)
    reasons = [finding.text for finding in report.findings if finding.status == "failed"]
    return Audit(name, "failed", report.failures, reasons, is_of_data=True)


def coincidences_expected(train: Sequences, sizes: Sequence[int]) -> float:
    """How many equal sequences independent draws from the training tokens would put into two parts.

    A sequence of n ids out of v is one of v^n; real values never coincide. The shortest sequences count.

    Args:
        train: Training sequences; the first few say how many tokens there are.
        sizes: Sequences of each part.
    """
    inputs = train.inputs if isinstance(train, Batch) else train.select(torch.arange(min(len(train), 4096))).inputs
    if inputs.is_floating_point():
        return 0.0
    tokens = len(inputs.unique())
    steps = inputs[0].numel() if isinstance(train, Batch) else int(train.lengths.min())
    pairs = sum(first * second for first, second in combinations(sizes, 2))
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


def sequence_hashes(data: Sequences) -> list[str]:
    """Hash what is real of each sequence, with its targets; what stands at padding makes no difference.

    >>> batch = Batch(torch.tensor([[1, 2, 9], [1, 2, 7]]), torch.tensor([[True, True, False]] * 2))
    >>> len(set(sequence_hashes(batch)))
    1
    """
    if isinstance(data, Batch):
        return _hashes(data)
    rows = torch.arange(len(data)).split(HASHED_AT_ONCE)
    return [digest for some in rows for digest in _hashes(data.select(some))]


def _hashes(batch: Batch) -> list[str]:
    real = None if batch.valid is None else batch.valid.cpu().numpy()
    digests = [sha256() for _ in range(len(batch))]
    for part in (batch.inputs, batch.targets):
        if part is None:
            continue
        # Bytes are read through uint8, because numpy does not know every type of torch.
        steps = part.detach().cpu().reshape(len(part), part.shape[1] if part.ndim > 1 else 1, -1).contiguous()
        values = steps.view(torch.uint8).numpy()
        has_steps = real is not None and values.shape[:2] == real.shape
        for row, digest in enumerate(digests):
            kept = values[row][real[row]] if has_steps and real is not None else values[row]
            digest.update(f"{part.dtype} {kept.shape};".encode() + kept.tobytes())
    return [digest.hexdigest() for digest in digests]
