"""An audit as one HTML page: what leaks and where first, then who reads whom, every check, and how it was judged.

Start with `report_page`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from clew.checks.advice import advice_for
from clew.checks.finding import Counterexample, Finding, movement_words, values_words
from clew.checks.influence_map import InfluenceMap
from clew.checks.verdict import OF_STEPS, SYMBOLS, counts, failed_findings, headline, seen, where, worth_knowing
from clew.rendering.markup import element, joined
from clew.rendering.page import (
    Section,
    banner,
    bullets,
    definitions,
    figure,
    fragments,
    paragraph,
    render_page,
)
from clew.rendering.tables import Cell, Column, Group, Table, Tone, table_html

_TONES: dict[str, Tone] = {"failed": "bad", "passed": "plain", "not applicable": "muted"}


@dataclass(frozen=True)
class Parts:
    """What an audit says, in the order of a page: the verdict, the answer below it, and the sections."""

    headline: str
    top: Markup
    sections: Sequence[Section]


def report_page(
    findings: Sequence[Finding],
    subject: str,
    facts: Sequence[tuple[str, str]] = (),
    influence: InfluenceMap | None = None,
    assurance: str = "",
    warning: str = "",
) -> str:
    """Render the page; see `report_parts`."""
    parts = report_parts(findings, subject, facts, influence, assurance, warning)
    return render_page(parts.headline, parts.top, parts.sections)


def report_parts(
    findings: Sequence[Finding],
    subject: str,
    facts: Sequence[tuple[str, str]] = (),
    influence: InfluenceMap | None = None,
    assurance: str = "",
    warning: str = "",
) -> Parts:
    """Render what a page is made of.

    Args:
        findings: Of all checks.
        subject: "model" or "data".
        facts: How the verdicts were reached, each with what it is.
        influence: The map of a model.
        assurance: What makes the verdict sure.
        warning: What limits the verdict.
    """
    failed = failed_findings(findings)
    beside = next((one.name for one in failed if one.name in OF_STEPS and not one.setting), "")
    sections = [_failure(one, influence if one.name == beside else None) for one in failed]
    if influence is not None and not beside:
        sections.append(Section("Influence map", "map", _map(influence, failed)))
    sections.append(Section("All checks", "checks", checks_html(findings)))
    if facts:
        sections.append(Section("How far to trust this", "trust", definitions(facts)))
    return Parts(headline(findings, subject), _top(findings, failed, assurance, warning), sections)


def _top(findings: Sequence[Finding], failed: Sequence[Finding], assurance: str, warning: str) -> Markup:
    """Answer at the top: what leaks, where, and how sure that is."""
    lead = [_sentences(failed[0])] if failed else [counts(findings), assurance]
    others = [_named(finding.name, _sentences(finding)) for finding in failed[1:]]
    remarks = [] if failed else [_named(name, words) for name, words in worth_knowing(findings)]
    told = [paragraph(" ".join(words for words in lead if words)), *([bullets(others)] if others else [])]
    return fragments(
        element("div", {"class": "lead"}, *told),
        banner("Worth knowing, and no fault:", remarks, "Remarks") if remarks else "",
        banner(warning, [], "Limits of this verdict") if warning else "",
        element("p", {"class": "made"}, f"{counts(findings)} {assurance}") if failed else "",
    )


def _named(name: str, words: str) -> Markup:
    return joined([element("strong", None, name), f": {words}"])


def _sentences(finding: Finding) -> str:
    return " ".join(words for words in (seen(finding), where(finding)) if words)


def _failure(finding: Finding, influence: InfluenceMap | None) -> Section:
    """Tell one fault, with the map at its side if the map shows it."""
    example = finding.counterexample
    told = fragments(
        definitions(_evidence(finding)),
        "" if example is None else element("div", {"class": "folding"}, table_html(_example_table(example))),
        "" if not finding.remarks else bullets([f"Remark: {remark}" for remark in finding.remarks]),
    )
    if influence is not None:
        sides = [element("div", None, told), element("div", None, _map(influence, [finding]))]
        told = element("div", {"class": "beside"}, *sides)
    return Section(_capital(advice_for(finding.name).verdict), f"failed-{finding.name}", told)


def _evidence(finding: Finding) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = [
        ("Check", joined([element("code", None, finding.name), f". {advice_for(finding.name).question}"])),
        ("Seen", seen(finding)),
        ("Changed", "" if finding.counterexample or finding.changed == "nothing" else finding.changed),
        ("Moved", "" if finding.counterexample or finding.moved == "nothing" else finding.moved),
        ("By how much", movement_words(finding)),
        ("Found in", finding.setting),
    ]
    if finding.place is not None:
        place = finding.place
        again = f", call {place.call} of {place.calls}" if place.calls > 1 else ""
        name = element("code", None, place.module) if place.module else "the model itself"
        pairs.append(("Where", joined([name, f" ({place.kind}{again}), the first submodule whose output moves"])))
        if place.origin:
            code = element("code", None, place.arises_in) if place.arises_in else "the model itself"
            words = joined(["the code of ", code, ": what it hands on to that submodule has moved already"])
            pairs.append(("Arises in", words))
    pairs += [("Usual causes", finding.causes), ("Remedy", finding.remedy)]
    return [(term, words) for term, words in pairs if words]


def _example_table(example: Counterexample) -> Table:
    columns = [Column("", "left", wraps=True), Column("before"), Column("after")]
    rows: list[list[str | Cell]] = []
    caption = "Smallest counterexample"
    if example.before_input is None:
        caption += f": {example.source} was changed"
    else:
        several = ", first values" if isinstance(example.before_input, list | tuple) else ""
        before, after = _lines(example.before_input, example.after_input)
        rows.append([f"Input at {example.source} of row {example.row}{several}", Cell(before), Cell(after)])
    before, after = values_words(example.before, example.after)
    rows.append([_capital(example.target), before, Cell((after,), "strong")])
    note = "Output: the coordinate that moved most, in the model's own number type."
    return Table(caption, columns, [Group(rows)], [note])


def _lines(first: Any, second: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write two values, or two lists with a line for each entry."""
    if not isinstance(first, list | tuple) or not isinstance(second, list | tuple) or len(first) != len(second):
        before, after = values_words(first, second)
        return (before,), (after,)
    pairs = [values_words(*pair) for pair in zip(first, second, strict=True)]
    return tuple(before for before, _ in pairs), tuple(after for _, after in pairs)


def _map(influence: InfluenceMap, failed: Sequence[Finding]) -> Markup:
    words = [f"{influence.description()}."]
    if influence.step > 1:
        words.append("A block counts as forbidden to an output if all of it is.")
    elsewhere = sorted({one.setting for one in failed if one.name in OF_STEPS and one.setting})
    if elsewhere:
        words.append(f"The map shows evaluation; what was found in {', '.join(elsewhere)} is not in it.")
    words.append("The stronger the colour, the farther above the rounding floor, on a logarithmic scale.")
    return figure(influence.picture(), " ".join(words))


def checks_html(findings: Sequence[Finding]) -> Markup:
    """Render the table of all checks."""
    columns = [Column("check", "left"), Column("what was seen", "left", wraps=True)]
    groups = [
        Group([_check_row(finding) for finding in findings if finding.status == status], title)
        for status, title in (("failed", "Failed"), ("passed", "Passed"), ("not applicable", "Not applicable"))
    ]
    table = table_html(Table(counts(findings), columns, [group for group in groups if group.rows]))
    return element("div", {"class": "folding"}, table)


def _check_row(finding: Finding) -> list[str | Cell]:
    name = f"{SYMBOLS[finding.status]}\N{NO-BREAK SPACE}{finding.name}"
    lines = [finding.reason, *(f"Remark: {remark}" for remark in finding.remarks)]
    return [Cell((name,), _TONES[finding.status]), Cell(tuple(lines))]


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
