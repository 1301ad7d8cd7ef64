"""Numbers that are none, or explode: every view shows them as such, and none fails."""

import pytest

from clew.explorer.address import Address
from clew.explorer.recurrence.view import RECURRENCE
from clew.explorer.studio import Studio
from clew.explorer.views import VIEWS
from explorer.recurrence_page import PageReader

HH = "weight:encoder.recurrent.0.weight_hh.0.0"
EMBEDDING = "weight:inputs.embedding.weight.0.0"
EDITS = [
    ("rnn", (f"{HH}=NaN",)),
    ("rnn", ("activation=relu", f"{HH}=1e38")),
    ("gru", (f"{HH}=NaN",)),
    ("lstm", (f"{HH}=NaN",)),
    ("lstm", (f"{HH}=-inf",)),
    ("scalar", ("value:0.0=NaN",)),
    ("scalar", ("activation=relu", f"{HH}=1e200")),
    ("scalar", ("weight:head.linear.weight.0.0=1e-310",)),
    ("transformer", (f"{EMBEDDING}=NaN",)),
    ("worked", (f"{EMBEDDING}=NaN",)),
    ("worked", (f"{EMBEDDING}=1e308",)),
]


@pytest.mark.parametrize(("model", "edits"), EDITS)
def test_every_view_shows_what_is_no_number(studio: Studio, model: str, edits: tuple[str, ...]) -> None:
    shown = 0
    for view in VIEWS:
        scene = studio.scene(Address(view.name, model, None, 0, edits))
        if view.missing(scene):
            continue
        page = "".join(section.content for section in view.sections(scene, studio))
        shown += 1
        assert ">nan<" not in page and ">inf<" not in page
    assert shown >= 4


def text_of(studio: Studio, model: str, *edits: str) -> PageReader:
    made = studio.scene(Address("recurrence", model, None, 0, edits))
    return PageReader("".join(section.content for section in RECURRENCE.sections(made, studio)))


def test_norms_of_what_is_no_number_are_nan(studio: Studio) -> None:
    read = text_of(studio, "lstm", f"{HH}=NaN")
    assert {row[1] for row in read.table("Factors along the path").rows} == {"NaN"}
    norms = read.table("Norms, a line a step")
    assert {row[norms.columns.index("path")] for row in norms.rows} == {"NaN", "-"}
    assert "differ by at most NaN" in read.text
    assert "The gradient's norm is NaN, and so is the factor" in read.text


def test_an_exploding_weight_has_its_norm(studio: Studio) -> None:
    read = text_of(studio, "rnn", "activation=relu", f"{HH}=1e38")
    factors = {row[1] for row in read.table("Factors along the path").rows}
    assert "NaN" not in factors and any(words.endswith("e38") for words in factors)
    assert "∞" in read.text
