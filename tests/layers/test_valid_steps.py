"""The moves around a recurrence: valid steps to the front in reading order, and back."""

import pytest
import torch

from clew.layers.valid_steps import ValidSteps

VALID = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]).bool()
ROWS = torch.arange(15.0).view(3, 5, 1) + 1


def test_valid_steps_come_first_in_reading_order() -> None:
    steps = ValidSteps(VALID)
    assert steps.lengths.tolist() == [3, 1, 0]
    assert steps.longest == 3
    assert steps.gather(ROWS).squeeze(-1).tolist() == [[2, 4, 5], [6, 0, 0], [0, 0, 0]]
    assert ValidSteps(VALID, reverse=True).gather(ROWS).squeeze(-1).tolist() == [[5, 4, 2], [6, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("reverse", [False, True])
def test_scattering_undoes_gathering_and_zeroes_padding(reverse: bool) -> None:
    steps = ValidSteps(VALID, reverse)
    assert torch.equal(steps.scatter(steps.gather(ROWS)), torch.where(VALID.unsqueeze(-1), ROWS, 0.0))
    nothing_but_padding = torch.where(steps.filled, 0.0, torch.full((3, 3, 1), torch.nan))
    assert torch.equal(steps.scatter(nothing_but_padding), torch.zeros(3, 5, 1))


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_stay_with_their_steps(reverse: bool) -> None:
    rows = torch.where(VALID.unsqueeze(-1), ROWS, torch.nan).requires_grad_()
    steps = ValidSteps(VALID, reverse)
    (steps.scatter(steps.gather(rows)) * ROWS).sum().backward()
    assert torch.equal(rows.grad, torch.where(VALID.unsqueeze(-1), ROWS, 0.0))


def test_the_last_value_of_an_empty_row_is_its_initial_one() -> None:
    steps = ValidSteps(VALID)
    initial = torch.tensor([[-1.0], [-2.0], [-3.0]])
    assert steps.last(steps.gather(ROWS), initial).squeeze(-1).tolist() == [5, 6, -3]
