"""Recorded recurrent layers against torch.nn with the same weights: states, input sensitivities, weight gradients."""

import pytest
import torch
from torch import nn

from clew.ledger import record
from clew.models.interchange import recurrent_from_torch

FEATURES, HIDDEN, BATCH, TIME = 3, 4, 2, 5
KINDS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def close(first: torch.Tensor, second: torch.Tensor) -> None:
    torch.testing.assert_close(first, second, atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_recorded_encoder_is_torchs(kind, bidirectional, layers):
    generator = torch.Generator().manual_seed(4)
    module = KINDS[kind](FEATURES, HIDDEN, layers, batch_first=True, bidirectional=bidirectional).double()
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    inputs = torch.randn(BATCH, TIME, FEATURES, generator=generator, dtype=torch.float64)
    direct = torch.randn(BATCH, TIME, HIDDEN * (1 + bidirectional), generator=generator, dtype=torch.float64)

    at_torch = inputs.clone().requires_grad_()
    expected, _ = module(at_torch)
    (expected * direct).sum().backward()

    encoder = recurrent_from_torch(module)
    at_clew = inputs.clone().requires_grad_()
    with record(encoder) as ledger:
        rows = encoder(at_clew).rows
        (rows * direct).sum().backward()

    last = f"recurrent.{layers - 1}"
    close(ledger.quantity(f"{last}.output" if bidirectional else f"{last}.state").value, expected.detach())
    close(at_clew.grad, at_torch.grad)
    for layer in range(layers):
        for suffix, direction in (("", "forward_layer"), ("_reverse", "backward_layer"))[: 1 + bidirectional]:
            path = f"recurrent.{layer}" + (f".{direction}" if bidirectional else "")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                total = ledger.contributions(f"{path}.{name}").value.sum(0)
                close(total, getattr(module, f"{name}_l{layer}{suffix}").grad)
