"""What an audit says: one finding a check, as a table, as JSON, or as an error for a test.

`AuditReport` is made by `clew.audit`. Nothing here runs a model.
"""

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.finding import Finding
from clew.errors import AuditError
from clew.files import dump_json


@dataclass(frozen=True)
class Power:
    """Whether a known leak, injected into the model under audit, was seen.

    Attributes:
        injected: Its size, as a fraction of the outputs' size; None where nothing can leak.
        was_seen: Whether the checks reported it; None where none was injected.
        reason: What was injected, or why nothing was.
    """

    injected: float | None
    was_seen: bool | None
    reason: str


@dataclass(frozen=True, eq=False)
class Report:
    """The findings of one audit, of a model or of data.

    Attributes:
        findings: One for each check.
    """

    findings: tuple[Finding, ...]

    @property
    def failures(self) -> list[str]:
        """Names of the checks that failed, sorted."""
        return sorted(finding.name for finding in self.findings if finding.status == "failed")

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def __getitem__(self, name: str) -> Finding:
        """Give the finding of one check.

        Raises:
            KeyError: If there is no such check.
        """
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(name)

    def raise_if_failed(self) -> None:
        """Do nothing if the audit passed.

        Raises:
            AuditError: With every failed finding: what leaks, from where to where, in which submodule, and what
                usually causes it.
        """
        if self.passed:
            return
        failed = [finding for finding in self.findings if finding.status == "failed"]
        heading = f"audit: every check must pass, got {len(failed)} failed: {', '.join(self.failures)}."
        raise AuditError("\n".join([heading, *(finding.text for finding in failed)]))

    def table(self) -> str:
        """Show every finding in plain text, the failed ones in full below."""
        width = max(len(finding.name) for finding in self.findings)
        rows = [f"{one.name:<{width}}  {one.status:<14}  {_short(one)}" for one in self.findings]
        verdict = "passed" if self.passed else f"failed: {', '.join(self.failures)}"
        told = [finding.text for finding in self.findings if finding.status == "failed"]
        remarks = [f"{one.name}: {text}" for one in self.findings if one.status != "failed" for text in one.remarks]
        parts = [[f"audit {verdict}"], rows, self._means(), told, remarks]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _means(self) -> list[str]:
        """Say how the verdicts were reached."""
        return []

    def __str__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values; NaN and infinity are left to `to_json`."""
        return {
            "passed": self.passed,
            "failures": self.failures,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self) -> str:
        """Give everything as strict JSON: NaN and the infinities are strings."""
        return dump_json(self.to_dict())


@dataclass(frozen=True, eq=False)
class AuditReport(Report):
    """The findings about one model.

    Attributes:
        findings: One for each check, in the order of `clew.checks.CHECKS`.
        power: How small a leak this audit was able to see.
        influence: How far each output moved when a source was varied, (outputs, time); a block's value where only
            blocks were varied.
        influence_step: Steps of a block; 1 if each source was varied alone.
        allowed: What the boundary permits in the first row, (outputs, time).
        floor: Movement above which a difference is no rounding.
        precision: Number type in which the verdicts were reached.
        elapsed_seconds: Time that the audit took.
    """

    power: Power
    influence: NDArray[numpy.float64]
    influence_step: int
    allowed: NDArray[numpy.bool_]
    floor: float
    precision: str
    elapsed_seconds: float

    def _means(self) -> list[str]:
        judged = f"judged in {self.precision}; movements above {self.floor:.2g} are no rounding"
        return [f"power: {self.power.reason}", judged]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values; NaN and infinity are left to `to_json`."""
        return super().to_dict() | {
            "power": vars(self.power),
            "influence": self.influence.tolist(),
            "influence_step": self.influence_step,
            "allowed": self.allowed.tolist(),
            "floor": self.floor,
            "precision": self.precision,
            "elapsed_seconds": self.elapsed_seconds,
        }


def _short(finding: Finding) -> str:
    sentence = finding.reason.split(". ")[0]
    return sentence if len(sentence) <= 100 else sentence[:97] + "..."
