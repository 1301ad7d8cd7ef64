"""Outputs and inputs of unusual shape: horizons, matrices for each row, empty rows, one row, one step, lost rows."""

import pytest
import torch
from torch import Tensor, nn

from checks.models import Recurrent
from clew.checks import audit

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
CAUSAL = torch.ones(6, 6, dtype=torch.bool).tril()


class Horizon(Recurrent):
    """Two outputs a row: the states after steps 3 and 5."""

    def forward(self, values: Tensor) -> Tensor:
        return super().forward(values)[:, [3, 5]]


def test_outputs_of_their_own_axis_are_held_against_their_matrix() -> None:
    assert audit(Horizon(), VALUES, boundary=CAUSAL[[3, 5]]).failures == []
    narrow = CAUSAL[[3, 5]].clone()
    narrow[0, 3] = False
    report = audit(Horizon(), VALUES, boundary=narrow)
    assert report.failures == ["boundary"]
    example = report["boundary"].counterexample
    assert example is not None and (example.changed, example.moved) == (3, 0)


def test_a_matrix_for_each_row_is_read() -> None:
    assert audit(Recurrent(), VALUES, boundary=CAUSAL.expand(3, 6, 6)).failures == []


def test_one_row_and_one_step_are_enough() -> None:
    assert audit(Recurrent(), VALUES[:1]).failures == []
    assert audit(Recurrent(), VALUES[:, :1]).failures == []


def test_rows_without_real_steps_are_left_out_of_the_sample() -> None:
    def call(model: nn.Module, values: Tensor, lengths: list[int]) -> Tensor:
        padding = torch.arange(values.shape[1]) >= torch.tensor(lengths).unsqueeze(1)
        return model(values.masked_fill(padding.unsqueeze(2), 0))

    report = audit(Recurrent(), VALUES, lengths=[6, 0, 3], call=call)
    assert report.failures == [] and report["empty_row"].status == "passed"


def test_a_model_of_fixed_length_is_judged_at_that_length() -> None:
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(24, 24)

        def forward(self, values: Tensor) -> Tensor:
            return self.linear(values.flatten(1)).view_as(values)

    assert audit(Fixed(), VALUES, "full").failures == []
    assert audit(Fixed(), VALUES, "causal").failures == ["future"]


class Attended(nn.Module):
    """Causal attention, written out, with -inf for what is hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, values: Tensor, valid: Tensor) -> Tensor:
        rows = self.linear(values.masked_fill(~valid.unsqueeze(2), 0))
        visible = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool).tril() & valid.unsqueeze(1)
        for _ in range(2):
            rows = rows + (rows @ rows.mT).masked_fill(~visible, -torch.inf).softmax(dim=-1) @ rows
        return rows


def test_a_query_with_nothing_to_read_is_an_empty_row_and_told_once() -> None:
    valid = torch.arange(6) >= torch.tensor([0, 2, 1]).unsqueeze(1)
    assert audit(Attended(), VALUES, valid=valid).failures == ["empty_row"]


def test_a_stateful_model_may_say_so() -> None:
    class Carrying(Recurrent):
        state = None

        def forward(self, values: Tensor) -> Tensor:
            fits = self.state is not None and self.state.shape[1] == len(values)
            out, state = self.recurrent(self.first(values), self.state if fits else None)
            self.state = state.detach()
            return out

    assert audit(Carrying(), VALUES).failures == ["state_carry"]
    assert audit(Carrying(), VALUES, stateful=True).failures == []


def test_a_bag_of_steps_may_say_so() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    bag = lambda model, values, _: model(values).mean(dim=1)  # noqa: E731
    assert audit(model, VALUES, "full", call=bag).failures == ["position"]
    assert audit(model, VALUES, "full", call=bag, ordered=False).failures == []


def test_the_self_test_counts() -> None:
    from clew.checks.planted import PLANTED, run_self_test, self_test_table

    table = self_test_table(list(run_self_test(PLANTED[:1])))
    assert table.splitlines()[1].split() == ["future", "1", "1", "0", "0"]
