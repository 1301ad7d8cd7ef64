"""What the report shows: to a terminal, as a page, as JSON, as an error."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
import torch

from checks.models import Recurrent, TinyLeak
from clew.checks import CHECKS, DATA_CHECKS, Counterexample, Finding, Place, Report, audit
from clew.checks.advice import ADVICE
from clew.checks.finding import failed, not_applicable, passed
from clew.checks.influence_map import InfluenceMap
from clew.checks.report import AuditReport, Power
from clew.errors import AuditError, RunError

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
CAUSAL = numpy.tri(4, dtype=bool)
HOSTILE = '<script>alert("1")</script>&\x1b[31m'


@pytest.fixture(scope="module")
def leaking() -> AuditReport:
    return audit(TinyLeak(), VALUES)


def future_finding(module: str = "blocks.1.attention", **details: Any) -> Finding:
    given = {
        "movement": 0.25,
        "floor": 1e-12,
        "counterexample": Counterexample(1, 2, 0, 0.5, 0.75, 13, 19),
        "place": Place(module, "Attention", 2, 3, module),
    }
    return failed("future", "output 0 reads a later step, 2", **(given | details))


def report_of(
    *findings: Finding, movement: numpy.ndarray | None = None, allowed: numpy.ndarray = CAUSAL, step: int = 1
) -> AuditReport:
    """Make a report by hand: causal, and one forbidden cell moved."""
    if movement is None:
        movement = numpy.where(CAUSAL, 1e-3, 0.0)
        movement[0, 2] = 0.25
    power = Power(1e-4, True, "a leak was seen")
    return AuditReport(findings, power, movement, step, allowed, 1e-12, "float64", 1.5)


class Reader(HTMLParser):
    """Collects the tags, classes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._in_style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._in_style else f"{data} "


def test_there_is_one_finding_a_check(leaking: AuditReport) -> None:
    assert tuple(finding.name for finding in leaking.findings) == CHECKS


def test_every_check_has_its_words() -> None:
    assert set(ADVICE) == {*CHECKS, *DATA_CHECKS}
    assert all(all(vars(advice).values()) for advice in ADVICE.values())


def test_a_check_that_knows_the_cause_better_is_believed() -> None:
    general, own = failed("future", "seen"), failed("future", "seen. Usual cause: this one.")
    assert general.causes == ADVICE["future"].causes and own.causes == "this one"
    assert own.reason == "seen" and own.remedy == ADVICE["future"].remedy


def test_the_error_says_what_leaks_from_where_to_where_and_in_which_module(leaking: AuditReport) -> None:
    with pytest.raises(AuditError) as told:
        leaking.raise_if_failed()
    text = str(told.value)
    for part in (
        "audit: every check must pass, got 1 failed: future.",
        "moved output",
        "first submodule that moved: recurrent (GRU)",
        "arises before it, in the code of: the model itself",
        f"usual causes: {ADVICE['future'].causes}",
        "remedy: ",
    ):
        assert part in text


def test_a_model_that_passes_raises_nothing() -> None:
    report = audit(Recurrent(), VALUES)
    report.raise_if_failed()
    assert report.passed and report.table().startswith("This model passes the audit.")


def test_a_report_in_which_nothing_applied_does_not_read_as_passed() -> None:
    report = report_of(not_applicable("future", "nothing moves"))
    assert report.verdict == "Nothing could be checked on this model"


def test_the_verdict_names_the_most_telling_faults_in_plain_words() -> None:
    two = report_of(failed("padding_content", "padding is read"), future_finding())
    assert two.verdict == "This model reads the future and reads its padding"
    three = report_of(*(failed(name, "seen") for name in ("gradients", "modes", "future")))
    assert three.verdict == "This model reads the future; 2 more faults were found"
    assert Report((failed("duplicate_rows", "seen"),)).verdict.startswith("This data has the same rows")


def test_the_table_tells_the_verdict_then_failures_then_every_check(leaking: AuditReport) -> None:
    table = leaking.table(plain=False)
    lines = table.splitlines()
    assert lines[:2] == ["This model reads the future.", "Of 19 checks, 1 failed, 8 passed and 10 do not apply."]
    assert all(name in table for name in CHECKS)
    assert "a leak of 0.0001" in table and "seen" in table and "are no rounding" in table
    assert table.index("✗ future: reads the future") < table.index("✓ determinism")
    assert max(map(len, lines)) <= 100


def test_the_table_draws_who_reads_whom() -> None:
    table = report_of(future_finding()).table(plain=False)
    assert [line.strip() for line in table.splitlines() if "|" in line] == [
        "0 |o   ✗  |", "1 |o o    |", "2 |o o o  |", "3 |o o o o|",
    ]  # fmt: skip
    assert "✗ moved though forbidden, o moved as permitted" in table


def test_a_plain_table_is_ascii_even_with_strange_names() -> None:
    table = report_of(future_finding("schön\x1b[31m"), passed("modes", "ok")).table(plain=True)
    assert table.isascii() and "\x1b" not in table
    assert "x future: reads the future" in table and "+ modes" in table


def test_a_terminal_without_these_signs_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrow:
        encoding = "cp1252"

    monkeypatch.setattr("sys.stdout", Narrow())
    assert report_of(future_finding()).table().isascii()


def test_no_word_is_cut_off() -> None:
    reason = "word " * 60 + "end"
    table = report_of(passed("modes", reason)).table()
    assert "end" in table and "..." not in table and max(map(len, table.splitlines())) <= 100


def test_remarks_of_a_model_that_passes_stand_at_the_top() -> None:
    report = report_of(passed("future", "fine", remarks=("in training it moves",)))
    assert report.verdict == "This model passes the audit, with remarks"
    assert report.table().splitlines()[2] == "- future: in training it moves"
    page = report.to_html()
    assert page.index("in training it moves") < page.index("<nav")


def test_the_page_says_what_leaks_from_where_to_where_and_where() -> None:
    read = Reader(report_of(future_finding(), passed("modes", "all the same")).to_html())
    for part in (
        "This model reads the future",
        "Output 0 is moved by step 2, which comes later.",
        "blocks.1.attention",
        "(Attention, call 2 of 3)",
        "0.250, 2.5e11 times the rounding floor",
        "Input at step 2 of row 1",
        ADVICE["future"].causes,
        "all the same",
        "smallest example: source 2, output 0",
        "a leak was seen",
    ):
        assert part in read.text


def test_the_page_names_code_in_which_a_fault_arises_before_any_submodule() -> None:
    place = Place("blocks.0.feed", "Linear", 1, 1, "blocks.0")
    text = Reader(report_of(future_finding(place=place)).to_html()).text
    assert "It arises in the code of blocks.0, before blocks.0.feed (Linear)" in text


def test_the_page_needs_and_allows_nothing_from_outside() -> None:
    page = report_of(future_finding()).to_html()
    tags = Reader(page).tags
    assert "default-src 'none'" in page and not any(tag in ("script", "img", "link", "iframe") for tag, _ in tags)
    assert not any(name in ("style", "src") or name.startswith("on") for _, given in tags for name in given)
    assert all((given["href"] or "").startswith("#") for tag, given in tags if tag == "a")


@pytest.mark.parametrize("show", ["to_html", "_repr_html_", "picture"])
def test_hostile_names_stay_text(show: str) -> None:
    hostile = future_finding(HOSTILE, setting=HOSTILE, remarks=(HOSTILE,))
    shown = getattr(report_of(replace(hostile, reason=HOSTILE), passed(HOSTILE, HOSTILE)), show)()
    assert "<script" not in shown and "\x1b" not in shown


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_no_numbers_are_shown_and_are_strict_json(value: float) -> None:
    example = Counterexample(0, 2, 0, 0.5, value, [0.0, value], [1.0, value])
    movement = numpy.array([[1.0, value], [1.0, 1.0]])
    finding = future_finding(movement=float("inf"), counterexample=example)
    report = report_of(finding, movement=movement, allowed=numpy.tri(2, dtype=bool))
    assert "no finite amount" in report.table() and "no finite amount" in report.to_html()
    read = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert read["findings"][0]["movement"] == "Infinity"
    assert repr(float(read["findings"][0]["counterexample"]["after"])) == repr(value)
    ElementTree.fromstring(report.picture())


def test_json_holds_what_the_page_shows(leaking: AuditReport) -> None:
    read = json.loads(leaking.to_json(), parse_constant=pytest.fail)
    assert read["failures"] == ["future"] and read["passed"] is False
    assert read["verdict"] == "This model reads the future"
    assert len(read["findings"]) == len(CHECKS)
    assert numpy.array_equal(numpy.array(read["influence"]), leaking.influence)
    told = next(finding for finding in read["findings"] if finding["name"] == "future")
    assert told["causes"] and told["remedy"] and told["place"]["module"] == "recurrent"


def test_the_picture_has_a_cell_for_every_pair_and_hatches_what_moved_though_forbidden() -> None:
    movement = numpy.where(CAUSAL, 1e-3, 0.0)
    movement[0, 2], movement[3, 0], movement[:, 1] = 0.25, 0.0, numpy.nan
    svg = str(InfluenceMap(movement, CAUSAL, 1, 1e-12).picture())
    cells = dict(_named_cells(svg))
    assert len(cells) == 16
    assert cells["0", "2"] == "moved though forbidden, by 0.250"
    assert cells["3", "0"] == "may be read, and did not move, by 0"
    assert cells["0", "3"] == "forbidden, and did not move, by 0"
    assert cells["2", "1"] == "not varied"
    assert cells["2", "2"] == "moved as permitted, by 0.00100"
    cell_part = svg.split('class="frame"')[0]
    assert cell_part.count('class="hatch"') == 1 and cell_part.count('class="dash"') == 4


def _named_cells(svg: str) -> list[tuple[tuple[str, str], str]]:
    return [((row, column), words) for row, column, words in re.findall(r"output (\d), source (\d): ([^<]*)<", svg)]


def test_a_block_counts_as_forbidden_only_where_all_of_it_is() -> None:
    allowed = numpy.tri(8, dtype=bool)
    movement = numpy.full((8, 8), 1.0)
    movement[0, 4:] = 0.0
    found = InfluenceMap(movement, allowed, 4, 1e-9).cells(64)
    assert found.columns == [0, 4, 8] and found.rows == list(range(9))
    assert [row[1].kind for row in found.cells] == ["still", *["forbidden"] * 3, *["permitted"] * 4]
    assert {row[0].kind for row in found.cells} == {"permitted"}


def test_long_sequences_make_a_picture_of_bounded_size() -> None:
    time = 600
    allowed = numpy.tri(time, dtype=bool)
    report = report_of(future_finding(), movement=allowed * 1e-3, allowed=allowed, step=24)
    picture = report.picture()
    size = ElementTree.fromstring(picture).attrib
    assert int(size["width"]) <= 480 and int(size["height"]) <= 620
    assert len(picture) < 400_000
    drawn = [line for line in report.table().splitlines() if "|" in line]
    assert 1 < len(drawn) <= 16


def test_a_ragged_boundary_is_drawn_between_cells() -> None:
    allowed = numpy.random.default_rng(0).random((200, 200)) < 0.5
    assert len(InfluenceMap(allowed.astype(numpy.float64), allowed, 1, 1e-9).picture()) < 900_000


def test_what_was_found_elsewhere_is_not_ringed_in_the_map() -> None:
    page = report_of(future_finding(setting="training")).to_html()
    assert "smallest example: source" not in page
    assert "what was found in training is not in it" in page


def test_an_audit_that_could_miss_small_leaks_says_so_at_the_top() -> None:
    report = replace(report_of(passed("future", "fine")), power=Power(1e-4, False, "a leak was NOT seen"))
    page = report.to_html()
    assert page.index("Small leaks could be missed: a leak was NOT seen.") < page.index("<nav")


def test_a_report_on_data_has_a_page_without_a_map() -> None:
    page = Report((failed("duplicate_rows", "row 0 of test equals row 1 of train"),)).to_html()
    assert "<svg" not in page and "Row 0 of test equals row 1 of train." in page
    assert Report(()).table()


def test_a_notebook_shows_the_page_in_a_frame_with_its_own_style() -> None:
    shown = report_of(future_finding())._repr_html_()
    assert shown.startswith("<iframe ") and "<style" not in shown and "reads the future" in shown


def test_the_page_is_written_to_a_file(tmp_path: Path) -> None:
    report = report_of(future_finding())
    page = report.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    with pytest.raises(RunError):
        report.to_html(tmp_path / "page.html" / "below.html")


def test_an_unknown_check_is_a_key_error(leaking: AuditReport) -> None:
    with pytest.raises(KeyError):
        _ = leaking["futures"]
