"""What callers may say about padding and visibility, and the full text of every refusal."""

import pytest
import torch

from clew.errors import ShapeError
from clew.shapes import resolve_valid, resolve_visible, valid_from_lengths


def test_lengths_mark_the_first_steps() -> None:
    valid = valid_from_lengths(torch.tensor([1, 3, 2]), 3)
    assert valid.tolist() == [[True, False, False], [True, True, True], [True, True, False]]


def test_without_a_description_there_is_no_valid() -> None:
    assert resolve_valid("Model", 2, 3) is None


def test_valid_passes_as_it_is_and_a_row_may_be_empty() -> None:
    valid = torch.tensor([[False, True, True], [False, False, False]])
    assert resolve_valid("Model", 2, 3, valid=valid) is valid


def test_lengths_and_valid_describe_the_same_rows() -> None:
    valid = resolve_valid("Model", 2, 3, lengths=[3, 1])
    assert valid is not None
    assert torch.equal(valid, torch.tensor([[True, True, True], [True, False, False]]))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"lengths": [3, 1], "valid": torch.ones(2, 3, dtype=torch.bool)},
            "Model: padding must be given by at most one of lengths= and valid=, got both.",
        ),
        (
            {"lengths": [3, 5]},
            "Model: lengths must be in [1, time=3], got 5 at row 1. Pad the inputs to 5 or clip the lengths.",
        ),
        ({"lengths": [3, 0]}, "Model: lengths must be in [1, time=3], got 0 at row 1. Drop the empty row."),
        ({"lengths": [-1, 0]}, "Model: lengths must be in [1, time=3], got -1 at row 0. Drop the empty row."),
        ({"lengths": [3]}, "Model: lengths must be one for each of batch=2 rows, got 1 lengths."),
        (
            {"lengths": torch.tensor([1.0, 2.0])},
            "Model: lengths must be whole numbers of shape (batch,), got (2,) of float32.",
        ),
        (
            {"lengths": torch.tensor([[1], [2]])},
            "Model: lengths must be whole numbers of shape (batch,), got (2, 1) of int64.",
        ),
        (
            {"valid": torch.ones(2, 3)},
            "Model: valid must be bool, got (2, 3) of float32. True marks a real step; "
            "clew.visibility.from_attention_mask reads 0/1 masks.",
        ),
        (
            {"valid": torch.ones(3, 2, dtype=torch.bool)},
            "Model: valid must be of shape (batch=2, time=3), got (3, 2).",
        ),
    ],
)
def test_a_wrong_description_is_refused(arguments: dict, text: str) -> None:
    with pytest.raises(ShapeError) as refusal:
        resolve_valid("Model", 2, 3, **arguments)
    assert str(refusal.value) == text


def test_visible_has_two_or_three_axes() -> None:
    assert resolve_visible("Model", None, 2, 3) is None
    for shape in ((3, 3), (2, 3, 3)):
        visible = torch.ones(shape, dtype=torch.bool)
        assert resolve_visible("Model", visible, 2, 3) is visible


@pytest.mark.parametrize(
    ("visible", "text"),
    [
        (
            torch.zeros(3, 3),
            "Model: visible must be bool, got (3, 3) of float32. True means may read; "
            "clew.visibility.from_additive and its neighbours read other conventions.",
        ),
        (
            torch.ones(3, 4, dtype=torch.bool),
            "Model: visible must be of shape (query=3, source=3) or (batch=2, query=3, source=3), got (3, 4).",
        ),
        (
            torch.ones(4, 3, 3, dtype=torch.bool),
            "Model: visible must be of shape (query=3, source=3) or (batch=2, query=3, source=3), got (4, 3, 3).",
        ),
    ],
)
def test_wrong_visibility_is_refused(visible: torch.Tensor, text: str) -> None:
    with pytest.raises(ShapeError) as refusal:
        resolve_visible("Model", visible, 2, 3)
    assert str(refusal.value) == text
