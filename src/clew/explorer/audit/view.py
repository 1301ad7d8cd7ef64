"""The view "The audit": what information the model on show uses, on what it reads, against what its task declares.

A quick audit is made at once; the whole one at a link, for as long as a page may take. Edits belong to the model under
audit, so that a mask which lets a prediction read its answer is found, and the submodule in which it does.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.checks import CHECKS, AuditReport, Counterexample
from clew.checks.runner import QUICK as QUICK_CHECKS
from clew.explorer.audit.running import MOST_SECONDS, QUICK, WHOLE, Audited, audited, deadline
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.explorer.view import View
from clew.rendering.markup import element, joined
from clew.rendering.numbers import format_seconds
from clew.rendering.page import Section, banner, fragments, paragraph

BOUNDARIES = {
    "causal": "a prediction may read its own step and earlier ones",
    "full": "a prediction may read every step",
}

MADE = "Every number was computed by the model in Python, for this input and for others made from it"
MOST_NAMED = 24
"""Steps whose words are listed below the verdict."""


def _missing(scene: Scene) -> str:
    if scene.has_backward:
        return ""
    return f"With one {scene.subject.unit} there is nothing to predict, and nothing to audit; read more than one."


def _sections(scene: Scene, studio: Studio) -> Sequence[Section]:
    is_whole = scene.address.shown.get("audit") == WHOLE
    with studio.lock:
        # The quick one comes first, so that it stands there when the time of both is over.
        end = deadline()
        found = audited(scene, QUICK, end)
        whole = audited(scene, WHOLE, end) if is_whole and found.report is not None else None
    if whole is None or whole.report is None:
        return sections_of(scene, found, False, "" if whole is None else whole.failure)
    return sections_of(scene, whole, True)


def sections_of(scene: Scene, found: Audited, is_whole: bool, stopped: str = "") -> list[Section]:
    """Show an audit.

    Args:
        scene: Whose model was audited.
        found: What came of it.
        is_whole: Whether all checks were tried.
        stopped: Why the whole audit came to no end, where a quick one stands in its place.
    """
    if found.report is None:
        words = [paragraph(found.failure), *map(paragraph, found.notes)]
        return [Section("The audit could not be made", "audit", fragments(*words))]
    parts = found.report.parts()
    notice = banner(stopped, [f"The quick audit stands below. {_elsewhere(scene)}"], "Stopped") if stopped else ""
    told = fragments(
        notice,
        parts.top,
        *map(paragraph, in_words(scene, found.report)),
        _what(scene, found, is_whole),
        _other(scene, is_whole, bool(stopped)),
    )
    return [Section(parts.headline, "audit", told), *parts.sections]


def in_words(scene: Scene, report: AuditReport) -> list[str]:
    """Name the steps of the map by their words, and say the counterexamples of token models with them."""
    labels, words = scene.tokens, scene.subject.vocabulary
    if not words or len(scene.subject.words) > 1:
        return []
    failed = [finding.counterexample for finding in report.findings if finding.status == "failed"]
    told = [_example(example, labels, words) for example in failed if example is not None and example.row == 0]
    told = [one for one in told if one]
    if len(labels) <= MOST_NAMED:
        told.append(f"Steps of the map: {', '.join(f'{step} {label}' for step, label in enumerate(labels))}.")
    return told


def _example(example: Counterexample, labels: Sequence[str], words: Sequence[str]) -> str:
    """Say a counterexample with words for steps and ids; "" where it is about something else."""
    step, before, after, moved = example.changed, example.before_input, example.after_input, example.moved
    if not isinstance(step, int) or not isinstance(before, int) or not isinstance(after, int) or moved is None:
        return ""
    if max(step, moved) >= len(labels) or max(before, after) >= len(words):
        return ""
    return (
        f"In words: with “{words[after]}” in the place of “{words[before]}” at step {step}, what is predicted after "
        f"“{labels[moved]}” at step {moved} moves."
    )


def _what(scene: Scene, found: Audited, is_whole: bool) -> Markup:
    """Say what was audited, against what, and what that cost."""
    assert found.report is not None
    boundary = scene.subject.task.boundary
    tried = len(CHECKS) if is_whole else len(QUICK_CHECKS)
    cost = f"{tried} of {len(CHECKS)} checks in {format_seconds(found.report.elapsed_seconds)}"
    sentences = [
        f"The task declares the boundary {boundary}: {BOUNDARIES[boundary]}.",
        "The model was run again and again with other content in its steps, and whatever moved was compared.",
        *(["The edits belong to the model under audit."] if scene.address.edits else []),
        f"This {'whole' if is_whole else 'quick'} audit tried {cost}.",
        *found.notes,
    ]
    return paragraph(" ".join(sentences))


def _other(scene: Scene, is_whole: bool, is_stopped: bool) -> Markup:
    """Offer the audit that is not shown."""
    address = scene.address
    if is_whole:
        return paragraph(_button(address.link(audit=None), "audit-quick", "Show the quick audit"))
    if is_stopped:
        return paragraph(_button(address.link(audit=None), "audit-quick", "Leave it at the quick audit"))
    words = f" All {len(CHECKS)} checks; takes a few times as long, and is stopped after {MOST_SECONDS:.0f} s."
    return paragraph(joined([_button(address.link(audit=WHOLE), "audit-whole", "Run the whole audit"), words]))


def _button(href: str, identifier: str, words: str) -> Markup:
    return element("a", {"href": href, "id": identifier, "class": "as-button"}, words)


def _elsewhere(scene: Scene) -> str:
    folder = scene.source.folder
    return "" if folder is None else "The command `clew audit RUN` has no such limit."


AUDIT = View(
    "audit",
    "The audit",
    "What information the model uses: an influence map against the declared boundary, counterexamples, the submodule.",
    _missing,
    _sections,
    made=MADE,
)
