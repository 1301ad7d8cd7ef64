"""What an audit says: one finding a check, as a table, a page, a picture, JSON, or an error for a test.

`AuditReport` is made by `clew.audit`. Nothing here runs a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from clew.checks.finding import Finding
from clew.checks.influence_map import InfluenceMap
from clew.checks.page import Parts, report_page, report_parts
from clew.checks.report_text import report_text
from clew.checks.verdict import OF_STEPS, failed_findings, headline
from clew.errors import AuditError
from clew.files import dump_json, write_atomically
from clew.rendering.notebook import framed
from clew.rendering.numbers import format_number, format_seconds
from clew.rendering.page import standalone_svg


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
        failed = failed_findings(self.findings)
        heading = f"audit: every check must pass, got {len(failed)} failed: {', '.join(self.failures)}."
        raise AuditError("\n".join([heading, *(finding.text for finding in failed)]))

    @property
    def verdict(self) -> str:
        """The verdict in plain words, such as "This model reads the future"."""
        return headline(self.findings, self._subject)

    def table(self, plain: bool | None = None) -> str:
        """Show the verdict, every failure in full, and a line for each check, at most 100 columns wide.

        Args:
            plain: Whether to use ASCII alone; by default where standard output can show nothing else.
        """
        return report_text(self.findings, self._subject, self._facts(), self._map(), plain)

    def to_html(self, path: Path | str | None = None) -> str:
        """Give a self-contained page, and write it to a file if there is a path.

        Raises:
            RunError: If the file cannot be written.
        """
        page = report_page(*self._told())
        if path is not None:
            write_atomically(Path(path), page)
        return page

    def parts(self) -> Parts:
        """Give the verdict, the answer and the sections of the page, for a page of another make."""
        return report_parts(*self._told())

    def _told(self) -> tuple[Sequence[Finding], str, list[tuple[str, str]], InfluenceMap | None, str, str]:
        return self.findings, self._subject, self._facts(), self._map(), self._assurance(), self._warning()

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return framed(self.to_html(), self.verdict)

    @property
    def _subject(self) -> str:
        return "data"

    def _map(self) -> InfluenceMap | None:
        return None

    def _facts(self) -> list[tuple[str, str]]:
        """Say how the verdicts were reached."""
        return []

    def _assurance(self) -> str:
        """Say what makes the verdict sure, if anything does."""
        return ""

    def _warning(self) -> str:
        """Say what limits the verdict, if anything does."""
        return ""

    def __str__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values; NaN and infinity are left to `to_json`."""
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "failures": self.failures,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self) -> str:
        """Give everything that the page shows as strict JSON.

        `json.loads` reads it back as `to_dict` gives it, but for tuples, which become lists, and for numbers that JSON
        does not have: they are the strings "NaN", "Infinity" and "-Infinity", which `float` reads. None is null and
        means that there is no such value.

        >>> import json
        >>> json.loads(Report(()).to_json())["failures"]
        []
        """
        return dump_json(self.to_dict())


@dataclass(frozen=True, eq=False)
class AuditReport(Report):
    """The findings about one model.

    Attributes:
        findings: One for each check, in the order of `clew.checks.CHECKS`.
        power: How small a leak this audit was able to see.
        influence: How far each output moved when a source was varied, (outputs, time); a block's value where only
            blocks were varied, NaN where a source was not varied or an output not judged.
        influence_step: Steps of a block; 1 if each source was varied alone.
        allowed: What the boundary permits, (outputs, time); where it differs between rows, what some row permits,
            unless it moved where another row forbids it.
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

    @property
    def _subject(self) -> str:
        return "model"

    def _map(self) -> InfluenceMap:
        found = [one for one in self.findings if one.name in OF_STEPS and one.status == "failed" and not one.setting]
        examples = [(one.counterexample.moved, one.counterexample.changed) for one in found if one.counterexample]
        places = [(moved, int(changed)) for moved, changed in examples if moved is not None and _is_step(changed)]
        return InfluenceMap(self.influence, self.allowed, self.influence_step, self.floor, next(iter(places), None))

    def _facts(self) -> list[tuple[str, str]]:
        floor = f"movements above {format_number(self.floor, 2)} are no rounding, measured on this model"
        blocks = f", alone and in blocks of {self.influence_step}" if self.influence_step > 1 else ""
        outputs, time = self.influence.shape
        return [
            ("Power", self.power.reason),
            ("Floor", floor),
            ("Precision", f"judged in {self.precision}"),
            ("Map", f"{outputs} {'output' if outputs == 1 else 'outputs'}, {time} sources{blocks}"),
            ("Time", format_seconds(self.elapsed_seconds)),
        ]

    def _assurance(self) -> str:
        return f"The audit tested itself on this model: {self.power.reason}." if self.power.was_seen else ""

    def _warning(self) -> str:
        return f"Small leaks could be missed: {self.power.reason}." if self.power.was_seen is False else ""

    def picture(self) -> str:
        """Draw the influence map as an SVG file of its own: outputs downwards, sources to the right.

        Heat is the movement over the rounding floor, in powers of ten; what moved though it is forbidden is hatched and
        of another colour, and a line surrounds what may be read. Long sequences are drawn in blocks.
        """
        return standalone_svg(self._map().picture())

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


def _is_step(changed: int | str) -> bool:
    return isinstance(changed, int)
