"""The small GRU against torch.nn, the published mixture, and what the state carries."""

import pytest
import torch
from torch import nn

from clew.layers import gru
from clew.walkthrough import gru_by_hand, pytorch_example
from clew.walkthrough.rounding import round_to_three
from walkthrough import recurrent_published as published
from walkthrough.reading import states_of, twin_of


def test_the_mixture_is_the_published_one() -> None:
    gate, old, candidate, new = published.GRU_MIXTURE
    row = next(row for row in gru_by_hand.gru_mixture().rows if row[0] == f"u = {gate:g}")
    assert row[1:4] == pytest.approx([gate, old, candidate], abs=1e-14)
    assert row[4] == pytest.approx(new, abs=1e-14)


def test_a_swapped_mixture_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with the other convention for the gate the published number does not come out."""
    step = gru.gru_step

    def swapped(*arguments: torch.Tensor) -> gru.GRUQuantities:
        taken = step(*arguments)
        state = (1 - taken.update_gate) * arguments[1] + taken.update_gate * taken.candidate
        return taken._replace(state=state)

    monkeypatch.setattr(gru, "gru_step", swapped)
    row = next(row for row in gru_by_hand.gru_mixture().rows if row[0] == "u = 0.9")
    assert isinstance(row[4], float)
    assert round_to_three(row[4]) == -0.31


def test_the_small_gru_is_torchs() -> None:
    twin = twin_of(
        nn.GRU(2, 2, batch_first=True),
        weight_ih_l0=gru_by_hand.INPUT_WEIGHTS,
        weight_hh_l0=gru_by_hand.RECURRENT_WEIGHTS,
        bias_ih_l0=gru_by_hand.INPUT_BIASES,
        bias_hh_l0=gru_by_hand.RECURRENT_BIASES,
    )
    first = torch.tensor([[gru_by_hand.FIRST_STATE]], dtype=torch.float64)
    states, _ = twin(torch.tensor([pytorch_example.OBSERVATIONS], dtype=torch.float64), first)
    for found, expected in zip(states_of(gru_by_hand.gru_by_hand()), states[0].tolist(), strict=True):
        assert found == pytest.approx(expected, abs=1e-12)


def test_the_layers_reset_acts_after_the_product() -> None:
    rows = {row[0]: row[1:] for row in gru_by_hand.reset_after_or_before().rows}
    for step in range(3):
        assert rows[f"step {step}: reset after"] == pytest.approx(rows[f"step {step}: layer's candidate"], abs=1e-14)
        assert rows[f"step {step}: reset before"] != pytest.approx(rows[f"step {step}: layer's candidate"], abs=1e-2)


def test_carry_and_the_rest_make_up_the_full_jacobian() -> None:
    rows = {
        str(row[0]): [value for value in row[1:5] if isinstance(value, float)] for row in gru_by_hand.gru_carry().rows
    }
    places = [name.removesuffix(": direct carry") for name in rows if name.endswith("direct carry")]
    assert len(places) >= 3
    for place in places:
        parts = zip(rows[f"{place}: direct carry"], rows[f"{place}: through gates and candidate"], strict=True)
        assert [direct + rest for direct, rest in parts] == pytest.approx(rows[f"{place}: full"], abs=1e-14)
        assert rows[f"{place}: direct carry"][1:3] == [0.0, 0.0]
