"""The record of one item: its JSON, its identifier, and what it refuses."""

import json

import pytest
import torch

from clew.walkthrough.items import Item, id_of, labelled_rows
from clew.walkthrough.rounding import round_to_three, three_digits


def small_item(**changes: object) -> Item:
    fields = {"id": "an-item", "title": "Title", "chapter": "Table 1", "columns": ["Name", "Value"]}
    return Item(**(fields | {"rows": [["a", 0.1 + 0.2]]} | changes))  # pyright: ignore[reportArgumentType]


def test_json_holds_exactly_the_promised_fields_with_all_digits() -> None:
    written = json.loads(json.dumps(small_item().to_json()))
    assert written == {
        "id": "an-item",
        "title": "Title",
        "chapter": "Table 1",
        "columns": ["Name", "Value"],
        "rows": [["a", 0.30000000000000004]],
    }
    assert small_item(notes=["seen"]).to_json()["notes"] == ["seen"]


@pytest.mark.parametrize("changes", [{"rows": [["a"]]}, {"rows": []}, {"id": "An item"}])
def test_an_item_that_does_not_hold_together_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        small_item(**changes)


def test_rows_carry_their_labels_first() -> None:
    assert labelled_rows(["p", 1], torch.tensor([[0.5, 2.0], [1.0, 3.0]])) == [["p", 0.5, 2.0], [1, 1.0, 3.0]]


def test_the_identifier_is_the_name_of_the_function() -> None:
    def two_words() -> Item: ...

    assert id_of(two_words) == "two-words"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.4100000001, "0.41"),
        (-0.09541, "-0.0954"),
        (0.00189, "0.00189"),
        (1.0, "1"),
        (1, "1"),
        (-0.0, "0"),
        (-0.32768, "-0.328"),
        (9100.4, "9,100"),
        (1.1258999e15, "1.13e15"),
        (4.16e-7, "4.16e-7"),
        (float("nan"), "NaN"),
        (float("-inf"), "-∞"),
        (None, "not computed"),
        ("hidden", "hidden"),
    ],
)
def test_cells_are_shown_with_three_digits_as_the_text_shows_them(value: float | str | None, written: str) -> None:
    assert three_digits(value) == written


def test_rounding_keeps_three_significant_digits() -> None:
    assert [round_to_three(value) for value in (0.0092951, -0.32768, 1234.5)] == [0.0093, -0.328, 1230.0]
