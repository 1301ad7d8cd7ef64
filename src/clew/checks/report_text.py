"""An audit in a terminal, at most 100 columns wide: the verdict, every failure in full, all checks, how it was judged.

Start with `report_text`. Signs beyond ASCII are left out where the output cannot show them.
"""

import sys
import textwrap
from collections.abc import Sequence

from clew.checks.advice import advice_for
from clew.checks.finding import Finding
from clew.checks.influence_map import InfluenceMap
from clew.checks.verdict import OF_STEPS, SYMBOLS, counts, failed_findings, headline, seen, worth_knowing

WIDTH = 100
_PLAIN = {"✗": "x", "✓": "+", "–": "-"}
_TERM = 13
_SHORT = {
    "smallest example": "example",
    "first submodule that moved": "where",
    "arises before it, in the code of": "arises in",
    "usual causes": "causes",
}


def report_text(
    findings: Sequence[Finding],
    subject: str,
    facts: Sequence[tuple[str, str]] = (),
    influence: InfluenceMap | None = None,
    plain: bool | None = None,
) -> str:
    """Write an audit.

    Args:
        findings: Of all checks.
        subject: "model" or "data".
        facts: How the verdicts were reached, each with what it is.
        influence: Shown below what was found about steps.
        plain: Whether to use ASCII alone; by default where standard output can show nothing else.
    """
    plain = not _shows_signs() if plain is None else plain
    failed = failed_findings(findings)
    parts = [[*_wrapped(f"{headline(findings, subject)}.", "", ""), *_wrapped(counts(findings), "", "")]]
    if not failed:
        parts[0] += [
            line for name, words in worth_knowing(findings) for line in _wrapped(f"- {name}: {words}", "", "  ")
        ]
    picture = influence.text(plain, "    ") if influence is not None else []
    for finding in failed:
        is_first_of_steps = finding is next((one for one in failed if one.name in OF_STEPS), None)
        parts.append([*_failure(finding, plain), *(["", *picture] if is_first_of_steps and picture else [])])
    width = max((len(finding.name) for finding in findings), default=0)
    parts.append([line for finding in findings for line in _line(finding, width, plain)])
    parts.append([line for term, words in facts for line in _told(term, words, "")])
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return _only_ascii(text) if plain else text


def _shows_signs() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "✗✓–·".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _only_ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _sign(finding: Finding, plain: bool) -> str:
    sign = SYMBOLS[finding.status]
    return _PLAIN[sign] if plain else sign


def _failure(finding: Finding, plain: bool) -> list[str]:
    heading = f"{_sign(finding, plain)} {finding.name}: {advice_for(finding.name).verdict}"
    pairs = [("seen", seen(finding)), *finding.evidence]
    return [heading, *(line for term, words in pairs for line in _told(_SHORT.get(term, term), words, "    "))]


def _line(finding: Finding, width: int, plain: bool) -> list[str]:
    start = f"{_sign(finding, plain)} {finding.name:<{width}}  "
    words = [finding.reason, *(f"remark: {remark}" for remark in finding.remarks if finding.status != "failed")]
    lines = [line for part in words for line in _wrapped(part, " " * len(start), " " * len(start))]
    return [start + lines[0].lstrip(), *lines[1:]]


def _told(term: str, words: str, indent: str) -> list[str]:
    start = f"{indent}{term:<{_TERM}} "
    return _wrapped(words, start, " " * len(start))


def _wrapped(words: str, first: str, later: str) -> list[str]:
    harmless = "".join(letter if letter.isprintable() else " " for letter in words)
    lines = textwrap.wrap(harmless, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return lines or [first.rstrip()]
