"""The recall report holds every number, says what failed, needs nothing from outside and escapes what it is given."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clew.errors import RunError
from clew.report.recall import recall_report, write_recall_report
from clew.report.recall_charts import learning_figure

Json = dict[str, Any]
ODD_NAME = "<b>\"mine\"</b> & 'co' [bold]"


class PageParser(HTMLParser):
    """Collect tables as lists of rows of cell texts under their captions, headings, and all attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.headings: list[tuple[int, str]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: list[str] = []
        self._rows: list[list[str]] = []
        self._text: list[str] = []
        self.feed(page)
        self.text = page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("th", "td", "caption", "h1", "h2", "h3"):
            self._text = []

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        words = "".join(self._text)
        if tag in ("th", "td"):
            self._rows[-1].append(words)
        if tag == "caption":
            self.tables[words] = self._rows
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), words))

    def table(self, start: str) -> list[list[str]]:
        return next(rows for caption, rows in self.tables.items() if caption.startswith(start))

    def row(self, start: str, delay: int, name: str) -> list[str]:
        """Give the row of a table that is grouped by delay."""
        rows = self.table(start)
        first = rows.index([f"Delay {delay}"])
        return next(row for row in rows[first:] if row[0] == name)


@pytest.fixture(scope="module")
def page(report_page: str) -> PageParser:
    return PageParser(report_page)


EMPTY = {"delay": 8, "tokens": [], "attention": None, "gates": []}
NAMES = {"rnn": "RNN", "gru": "GRU", "transformer": "Transformer"}


def number(value: float) -> float:
    return float(f"{value:.2e}")


def test_every_finished_run_is_a_row_with_its_numbers(results: Json, page: PageParser) -> None:
    finished = [row for row in results["rows"] if row["status"] == "finished"]
    assert len(finished) == 26
    for row in finished:
        shown = page.row("Every run", row["delay"], f"{NAMES[row['recipe']]}, {row['seed']}")
        losses = [row[f"{part}_loss_nats"] for part in ("test_cue", "validation_cue", "test_all")]
        assert float(shown[1]) == number(row["test_accuracy"])
        assert shown[2] == f"{row['test_correct']:,} / 1,024"
        assert [float(bound) for bound in shown[3].strip("[]").split(", ")] == [*map(number, row["test_interval"])]
        assert [float(loss) for loss in shown[4:7]] == [*map(number, losses)]
        assert shown[7] == str(row["selected_epoch"])


def test_a_failed_run_is_a_row_with_its_reason_and_a_warning_at_the_top(results: Json, page: PageParser) -> None:
    reason = next(row["reason"] for row in results["rows"] if row["status"] == "failed")
    assert page.row("Every run", 16, "GRU, 6208") == ["GRU, 6208", f"failed: {reason}"]
    assert page.row("Test accuracy", 16, "GRU")[3] == "1 · 0.465 · failed"
    assert page.text.index("1 of 27 runs failed") < page.text.index('<nav aria-label="Contents">')


def test_each_cell_shows_mean_spread_solved_seeds_verdict_and_published_value(results: Json, page: PageParser) -> None:
    shown = page.row("Test accuracy", 16, "RNN")
    assert shown[:4] == ["RNN", "0.443 ± 0.051", "0/3", "0.392 · 0.444 · 0.494"]
    assert shown[4:] == ["above chance on 3/3 seeds, solved 0/3", "0.440 ± 0.051"]
    assert page.row("Test accuracy", 8, "RNN")[1] == "0.9997 ± 0.0006", "not quite 1 must not read 1"
    for cell in results["cells"]:
        shown = page.row("Test accuracy", cell["delay"], NAMES[cell["recipe"]])
        assert shown[2] == f"{cell['solved']}/{cell['runs']}"
        assert shown[4] == cell["verdict"]
    assert page.row("Test accuracy", 32, "Chance")[1] == "0.250"
    assert page.row("Test accuracy", 32, "Oracle")[1] == "1"


def test_losses_costs_references_and_contrasts_are_shown(results: Json, page: PageParser) -> None:
    for cell in results["cells"]:
        name, delay = NAMES[cell["recipe"]], cell["delay"]
        losses = page.row("How the average hides", delay, name)
        assert float(losses[1]) == number(cell["mean_cue_loss_nats"])
        assert float(losses[2]) == pytest.approx(cell["mean_all_loss_nats"], rel=5e-4)
        cost = page.row("What each recipe costs", delay, name)
        counts = [cell[key] for key in ("parameters", "state_size", "multiply_adds", "tokens_seen")]
        assert cost[1:5] == [f"{count:,}" for count in counts]
        assert cost[5] == f"{cell['seconds']:.3g} s"
    for reference in results["references"]:
        shown = page.row("Reference", reference["delay"], reference["name"].replace("_", " ").capitalize())
        assert shown[1] == reference["words"] and float(shown[2]) == number(reference["accuracy"])
        assert shown[3] == ("–" if reference["cue_loss_nats"] is None else f"{reference['cue_loss_nats']:.3g}")
    contrast = page.row("Differences", 16, "Transformer minus GRU")
    assert contrast[1:] == ["+0.370", "[+0.340, +0.400]", "< 0.001", "0.10", "higher on every seed"]
    assert "Delay 16: transformer higher on every seed than gru (p = 0.10 over seeds)" in page.text


def test_interventions_show_every_seed_and_why_one_does_not_apply(page: PageParser) -> None:
    rows = page.table("What the selected models do")
    swap = rows.index(["Swap cue. Expected: followed near 1 and accuracy near 0: the answer is the new cue"])
    assert rows[swap + 1] == ["RNN, 8", "0.9997", "0.250 · 0.250 · 0.250", "1 · 0.999 · 1"]
    assert ["RNN", "not applicable: a recurrent model has no attention"] in rows
    assert ["Transformer", "not applicable: attention carries no state"] in rows
    delay = rows.index(["Run at delay. Expected: no promise: the model was trained at one delay only"])
    assert rows[delay + 1] == ["RNN, 8 (delay 4)", "0.9997", "1 · 0.999 · 1", "–"]
    reason = "not applicable: delay 64 has 67 input steps, the position table 36 rows"
    assert ["Transformer, 32 (delay 64)", reason] in rows[delay:]


def test_the_protocol_says_when_the_test_was_scored_and_names_every_run(results: Json, page: PageParser) -> None:
    assert "between 2025-03-01 12:00:00 UTC and 2025-03-01 12:25:00 UTC" in page.text
    assert {row[0] for row in page.table("Run folders")[1:]} == {row["run"] for row in results["rows"]}
    never = [row for row in page.table("Run folders") if row[0].startswith("gru-d16-s6208")]
    assert never[0][2:] == ["not computed", "never"]


def test_the_answer_quotes_the_verdicts_and_claims_no_more(page: PageParser) -> None:
    assert "At delay 8: RNN, GRU and Transformer solved 3/3." in page.text
    assert "At delay 32: RNN not distinguishable from chance. GRU above chance on 3/3 seeds, solved 0/3." in page.text
    assert "they rank nothing beyond them" in page.text


def test_charts_hold_every_seed(page: PageParser) -> None:
    accuracy = page.text.split('id="accuracy"')[1].split("</section>")[0]
    assert len(re.findall(r"<title>\w+, \d+, seed \d+: ", accuracy)) == 26
    learning = page.text.split('id="learning"')[1].split("</section>")[0]
    assert len(set(re.findall(r"<title>(\w+, seed \d+)</title>", learning))) == 9
    assert learning.count("</path>") == 27 + 3, "27 curves and 3 samples in the legend"
    assert learning.count(": selected") == 26
    memory = page.text.split('id="memory"')[1].split("</section>")[0]
    assert memory.count('class="background"') == 27 + 1 and memory.count("whole shared gradient</title>") == 27


def test_attention_and_gates_show_the_values_of_the_episode(results: Json, views: Json) -> None:
    page = PageParser(recall_report(results, {}, views))
    attention = page.text.split('id="attention"')[1].split("</section>")[0]
    weight = views["attention"]["weights"][0][10][1]
    assert f"<title>RECALL 10, up 1: {weight:.3f}</title>" in attention
    assert "hidden by the mask" in attention and attention.count("heat-hidden") == 2 * (12 * 11 // 2 + 1)
    assert page.table("What the scored query reads")[1] == ["1", "up, position 1", f"{weight:.3f}", f"{weight:.3f}"]
    assert "which it answered with “left” where “up” was right" in page.text
    gates = page.text.split('id="gates"')[1].split("</section>")[0]
    assert gates.count("<title>") == 12 * (2 * 32 + 4 * 17)
    state = views["gates"][1]["quantities"]["state"][3][16]
    assert f"<title>16 16, {views['tokens'][3]} 3: {state:.3f}</title>" in gates


def test_the_page_needs_nothing_from_outside(page: PageParser) -> None:
    assert "http:" not in page.text and "https:" not in page.text and "url(" not in page.text
    assert not {"link", "script", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert [value for _, name, value in page.attributes if name == "href" and not value.startswith("#")] == []
    assert {name for _, name, _ in page.attributes} & {"style", "src", "srcset", "onload", "onclick"} == set()
    assert "default-src 'none'" in page.text and page.tags.count("style") == 1


def test_headings_descend_one_level_at_a_time_and_every_link_has_a_target(page: PageParser) -> None:
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    identifiers = [value for _, name, value in page.attributes if name == "id"]
    assert len(identifiers) == len(set(identifiers))
    assert {value[1:] for _, name, value in page.attributes if name == "href"} <= set(identifiers)


def test_tables_and_pictures_have_names_and_headers(page: PageParser) -> None:
    headers = page.tags.count("th")
    assert page.tags.count("table") == page.tags.count("caption") == len(page.tables)
    assert sum(tag == "th" and name == "scope" for tag, name, _ in page.attributes) == headers
    pictures = [svg for svg in page.text.split("<svg ")[1:] if 'role="img"' in svg[:200]]
    assert len(pictures) == 1 + 3 + 9 + 2 + 6
    assert all('aria-label="' in svg[:300] for svg in pictures)


def test_every_picture_is_valid_xml(page: PageParser) -> None:
    pictures = re.findall(r"<svg .*?</svg>", page.text, re.DOTALL)
    assert len(pictures) > 20
    for picture in pictures:
        ElementTree.fromstring(picture)


def test_odd_names_and_reasons_are_escaped(quick_page: str) -> None:
    page = PageParser(quick_page)
    assert not {"b", "i"} & set(page.tags)
    assert page.row("Test accuracy", 8, ODD_NAME)[0] == ODD_NAME
    for picture in re.findall(r"<svg .*?</svg>", page.text, re.DOTALL):
        ElementTree.fromstring(picture)


def test_one_seed_shows_no_spread(quick_page: str) -> None:
    page = PageParser(quick_page)
    assert page.row("Test accuracy", 16, "RNN")[1] == "0.392"
    cells = [cell for rows in page.tables.values() for row in rows[1:] for cell in row]
    assert not any("±" in cell for cell in cells)
    assert "One seed: there is no spread" in page.text


def test_a_quick_run_and_its_warnings_are_told_before_any_table(quick_page: str) -> None:
    raw = quick_page
    assert "is not to be compared with it" not in raw, "nothing published to compare with"
    assert raw.index("Too small to conclude from") < raw.index("beat the oracle") < raw.index("<table")
    assert "1 seed, 8 epochs, 4,096 training episodes" in raw


def test_null_nan_and_infinity_stay_apart(quick_page: str) -> None:
    page = PageParser(quick_page)
    odd_run = page.row("Every run", 32, f"{ODD_NAME}, 6206")
    assert odd_run[4:7] == ["NaN", "not computed", "∞"]
    assert page.row("How the average hides", 8, "RNN")[2:] == ["not computed", "not computed"]


def test_a_loss_that_is_no_number_leaves_a_gap_in_its_curve(results: Json) -> None:
    row = results["rows"][0]
    losses = [1.0, 0.9, "NaN", None, 0.5, 0.4, "Infinity"]
    lines = [{"epoch": e, "validation": {"cue_loss_nats": loss}} for e, loss in enumerate(losses, start=1)]
    results["rows"], results["cells"] = [row], results["cells"][:1]
    picture = str(learning_figure(results, {row["run"]: lines}))
    path = re.findall(r'<path d="([^"]+)" class="curve"><title>RNN, seed 6206', picture)
    assert len(path) == 1
    assert [segment.count("L") for segment in path[0].split("M")[1:]] == [1, 1]
    assert "nan" not in picture.lower() and "inf" not in picture.lower()


def test_missing_curves_and_views_leave_a_sentence_in_their_place(results: Json) -> None:
    results["contrasts"], results["interventions"] = [], []
    raw = recall_report(results, {}, EMPTY)
    for words in ("No attention map", "No gates", "Nothing to compare", "No interventions"):
        assert words in raw


def test_the_file_is_small_and_replaced_as_a_whole(results: Json, report_page: str, tmp_path: Path) -> None:
    assert len(report_page.encode()) < 3_000_000
    path = tmp_path / "report.html"
    path.write_text("old")
    write_recall_report(results, {}, EMPTY, path)
    assert path.read_text(encoding="utf-8") == recall_report(results, {}, EMPTY)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_named(results: Json, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "report.html"
    with pytest.raises(RunError, match=re.escape(f"report: {path} must be a place that can be written")):
        write_recall_report(results, {}, EMPTY, path)
