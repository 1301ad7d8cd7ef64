"""The small LSTM against torch.nn, and what the storage carries."""

import pytest
import torch
from torch import nn

from clew.walkthrough import lstm_by_hand, pytorch_example
from walkthrough.reading import numbers, rows_by_label, states_of, twin_of


def test_the_small_lstm_is_torchs() -> None:
    twin = twin_of(
        nn.LSTM(2, 2, batch_first=True),
        weight_ih_l0=lstm_by_hand.INPUT_WEIGHTS,
        weight_hh_l0=lstm_by_hand.RECURRENT_WEIGHTS,
        bias_ih_l0=lstm_by_hand.BIASES,
    )
    states, (_, cell) = twin(torch.tensor([pytorch_example.OBSERVATIONS], dtype=torch.float64))
    item = lstm_by_hand.lstm_by_hand()
    for found, expected in zip(states_of(item), states[0].tolist(), strict=True):
        assert found == pytest.approx(expected, abs=1e-12)
    last_cell = next(row for row in item.rows if row[0] == "step 2: cell")
    assert numbers(last_cell) == pytest.approx(cell[0, 0].tolist(), abs=1e-12)


def test_carry_and_the_rest_make_up_the_full_jacobian() -> None:
    rows = {
        str(row[0]): [value for value in row[1:5] if isinstance(value, float)] for row in lstm_by_hand.lstm_carry().rows
    }
    places = [name.removesuffix(": forget gates") for name in rows if name.endswith("forget gates")]
    assert len(places) >= 3
    for place in places:
        parts = zip(rows[f"{place}: forget gates"], rows[f"{place}: through the state"], strict=True)
        assert [direct + rest for direct, rest in parts] == pytest.approx(rows[f"{place}: full"], abs=1e-14)
        assert rows[f"{place}: forget gates"][1:3] == [0.0, 0.0]


def test_over_one_step_an_lstm_carries_by_its_forget_gate_alone() -> None:
    rows = rows_by_label(lstm_by_hand.lstm_carry())
    assert rows["dc_0/dc_-1: through the state"] == [0.0] * 5
    assert max(map(abs, rows["dc_1/dc_-1: through the state"])) > 0.01


def test_cells_differ_in_what_they_carry() -> None:
    assert [row[3] for row in lstm_by_hand.recurrent_cells().rows] == [2, 2, 4]
    assert [row[4] for row in lstm_by_hand.recurrent_cells().rows] == [12, 36, 48]
