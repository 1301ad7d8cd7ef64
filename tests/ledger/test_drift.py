"""An explanation that is not what ran is an error: planted drifts of equations, masks, normalizations and gradients."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import clew
from clew.errors import LedgerError
from clew.layers import attention, gru, lstm, normalization
from clew.layers.gru import GRULayer, GRUQuantities
from clew.layers.linear import Linear
from clew.layers.lstm import LSTMQuantities
from clew.ledger import recurrence
from clew.models import build
from clew.visibility import causal
from reference.weights import randomized


def reset_before(projected: Tensor, state: Tensor, weight_hh: Tensor, bias_hh: Tensor) -> GRUQuantities:
    """The other GRU: the state is reset before the recurrent product."""
    x_r, x_u, x_n = projected.chunk(3, dim=-1)
    w_r, w_u, w_n = weight_hh.chunk(3)
    b_r, b_u, b_n = bias_hh.chunk(3)
    r = torch.sigmoid(x_r + functional.linear(state, w_r, b_r))
    u = torch.sigmoid(x_u + functional.linear(state, w_u, b_u))
    n = torch.tanh(x_n + functional.linear(r * state, w_n, b_n))
    return GRUQuantities(r, u, n, u * state + (1 - u) * n)


def record_once(model: nn.Module, backward: bool = True) -> None:
    ids = torch.randint(0, 7, (3, 6), generator=torch.Generator().manual_seed(0))
    valid = torch.ones(3, 6, dtype=torch.bool)
    valid[0, :2] = False
    with clew.record(model):
        loss = model(ids, valid=valid).logits.square().sum()
        if backward:
            loss.backward()


def small(preset: str, **options: Any) -> nn.Module:
    return randomized(build(preset, vocab=7, outputs=7, hidden=6, **options))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_another_gate_equation_is_caught(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    model = small("gru").to(dtype)
    record_once(model)
    monkeypatch.setattr(gru, "gru_step", reset_before)
    with pytest.raises(LedgerError, match=r"explained value of encoder\.recurrent\.0\.state must be what really ran"):
        record_once(model, backward=False)


def test_a_swap_of_two_gates_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = lstm.lstm_step

    def swapped(projected: Tensor, state: Tensor, cell: Tensor, weight_hh: Tensor, bias_hh: Tensor) -> LSTMQuantities:
        step = right(projected, state, cell, weight_hh, bias_hh)
        new = step.input_gate * cell + step.forget_gate * step.cell_candidate
        return step._replace(cell=new, state=step.output_gate * torch.tanh(new))

    monkeypatch.setattr(lstm, "lstm_step", swapped)
    with pytest.raises(LedgerError, match=r"encoder\.recurrent\.0\.state"):
        record_once(small("lstm"))


def test_a_wrong_mask_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = attention.MultiHeadAttention.named

    def unmasked(self: Any, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        if not part:
            time = inputs["mapped"].shape[1]
            facts = {**facts, "visible": facts["visible"] | ~causal(time)}
        return right(self, part, inputs, facts)

    record_once(small("transformer", heads=2, causal=True))
    monkeypatch.setattr(attention.MultiHeadAttention, "named", unmasked)
    with pytest.raises(LedgerError, match=r"the explained value of encoder\.blocks\.0\.attention\.joined"):
        record_once(small("transformer", heads=2, causal=True))


def test_another_epsilon_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = normalization.layer_norm_step
    monkeypatch.setattr(normalization, "layer_norm_step", lambda x, gamma, beta, _: right(x, gamma, beta, 1e-6))
    with pytest.raises(LedgerError, match=r"attention_norm\.output"):
        record_once(small("transformer", heads=2), backward=False)


def test_a_sensitivity_that_is_carried_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(_layer: GRULayer, direct: tuple[Tensor, ...], *_: object) -> tuple[Tensor, ...]:
        return direct  # as if no later step sent anything back

    monkeypatch.setattr(GRULayer, "carry_back", forgetful)
    record_once(small("gru"), backward=False)
    with pytest.raises(LedgerError, match=r"the explained (sensitivity|gradient) of encoder\.recurrent\.0"):
        record_once(small("gru"))


def test_a_cell_that_is_followed_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = lstm.LSTMLayer.states_before

    def shifted(self: Any, *given: Any) -> tuple[Tensor, ...]:
        states, cells = right(self, *given)
        return states, cells * 1.001

    monkeypatch.setattr(lstm.LSTMLayer, "states_before", shifted)
    with pytest.raises(LedgerError, match=r"encoder\.recurrent\.0"):
        record_once(small("lstm"), backward=False)


def test_a_kernel_whose_backward_is_wrong_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ran may be at fault as well: the forward pass agrees, the gradient of the bias does not."""

    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, bias: Tensor) -> Tensor:
            return bias.clone()

        @staticmethod
        def backward(ctx: Any, *arrived: Tensor) -> Tensor:
            return arrived[0] / 2

    def forward(self: Any, rows: Tensor) -> Tensor:
        output = functional.linear(rows, self.weight, Halved.apply(self.bias))
        clew.ledger.recording.report(self, "", {"rows": rows}, {"output": output})
        return output

    monkeypatch.setattr(Linear, "forward", forward)
    with pytest.raises(LedgerError, match=r"the explained gradient of head\.linear\.bias"):
        record_once(small("rnn"))


def test_the_distance_of_a_right_explanation_is_rounding() -> None:
    model = small("lstm", layers=2)
    ids = torch.randint(0, 7, (3, 6), generator=torch.Generator().manual_seed(0))
    with clew.record(model) as ledger:
        model(ids).logits.sum().backward()
    assert recurrence.is_recurrence(model.get_submodule("encoder.recurrent.0"))
    assert len(ledger.distances) > 20
    assert max(distance.relative for distance in ledger.distances) < 1e-13
    assert {distance.bound for distance in ledger.distances} == {4096 * torch.finfo(torch.float64).eps}
