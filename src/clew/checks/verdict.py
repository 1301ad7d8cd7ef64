"""An audit in two sentences: what is wrong in plain words, and how many checks say so.

Page, terminal and JSON say the same words. Start with `headline`.
"""

from collections.abc import Sequence

from clew.checks.advice import ADVICE, advice_for
from clew.checks.finding import Finding
from clew.rendering.numbers import join_words

SYMBOLS = {"failed": "✗", "passed": "✓", "not applicable": "–"}
OF_STEPS = ("future", "boundary")
"""The checks whose faults the influence map shows."""


def failed_findings(findings: Sequence[Finding]) -> list[Finding]:
    """List what failed, the most telling first."""
    order = {name: place for place, name in enumerate(ADVICE)}
    failed = [finding for finding in findings if finding.status == "failed"]
    return sorted(failed, key=lambda finding: order.get(finding.name, len(order)))


def headline(findings: Sequence[Finding], subject: str) -> str:
    """Give the verdict in plain words.

    Args:
        findings: Of all checks.
        subject: "model" or "data".
    """
    failed = failed_findings(findings)
    if all(finding.status == "not applicable" for finding in findings):
        return f"Nothing could be checked on this {subject}"
    if not failed:
        return f"This {subject} passes the audit{', with remarks' if worth_knowing(findings) else ''}"
    said = [advice_for(finding.name).verdict for finding in failed]
    if len(said) < 3:
        return f"This {subject} {join_words(said)}"
    return f"This {subject} {said[0]}; {len(said) - 1} more faults were found"


def worth_knowing(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """List the remarks of the checks that passed, each after its check."""
    return [(finding.name, words) for finding in findings if finding.status == "passed" for words in finding.remarks]


def seen(finding: Finding) -> str:
    """Say in a sentence what a failed check saw."""
    example = finding.counterexample
    if finding.name not in OF_STEPS or example is None or example.moved is None:
        words = finding.reason
    else:
        later = ", which comes later" if finding.name == "future" else ", which it must not read"
        words = f"output {example.moved} is moved by {example.source}{later}"
        words += f" ({finding.setting})" if finding.setting else ""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def where(finding: Finding) -> str:
    """Say in a sentence where on the way a difference shows first; "" if that is not known."""
    place = finding.place
    if place is None:
        return ""
    if place.origin:
        return f"It arises in the code of {place.origin}, before {place.first}, whose output moves first."
    return f"The first submodule whose output moves is {place.first}."


def counts(findings: Sequence[Finding]) -> str:
    """Say how many checks failed, passed and did not apply."""
    numbers = {status: sum(finding.status == status for finding in findings) for status in SYMBOLS}
    failed, passed, other = numbers.values()
    apply = "does" if other == 1 else "do"
    words = [f"{failed} failed", f"{passed} passed", f"{other} {apply} not apply"]
    return f"Of {len(findings)} checks, {join_words(words if failed else words[1:])}."
