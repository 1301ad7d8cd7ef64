"""Recurrent encoders to torch.nn and back: the same function, nothing shared, nothing left out."""

import pytest
import torch
from torch import nn

from clew.errors import ConfigError
from clew.models.interchange.recurrent import recurrent_from_torch, recurrent_to_torch
from clew.models.recurrent_encoder import RecurrentEncoder
from reference.weights import draw, randomized

MODULES = [
    nn.RNN(3, 4, num_layers=2, nonlinearity="relu"),
    nn.RNN(3, 4, bidirectional=True, batch_first=True),
    nn.GRU(3, 4, num_layers=2, bidirectional=True, dropout=0.5),
    nn.GRU(3, 4, bias=False),
    nn.LSTM(3, 4, num_layers=2, bias=False, bidirectional=True),
]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_from_torch_computes_the_same_and_gets_the_same_gradients(module: nn.RNNBase) -> None:
    module = randomized(module).eval()
    encoder = recurrent_from_torch(module)
    assert not encoder.training
    assert encoder.dropout.fraction == module.dropout
    inputs = draw(5, 6, 3)
    rows, final = module(inputs if module.batch_first else inputs.transpose(0, 1))
    rows = rows if module.batch_first else rows.transpose(0, 1)
    encoded = encoder(inputs)
    torch.testing.assert_close(encoded.rows, rows, rtol=0, atol=1e-10)
    final = final if isinstance(final, tuple) else (final,)
    for part, expected in enumerate(final):
        joined = [torch.cat(list(layer), dim=-1) for layer in expected.split(1 + module.bidirectional)]
        found = [state[part] for state in encoded.final]
        torch.testing.assert_close(found, joined, rtol=0, atol=1e-10)
    rows.square().sum().backward()
    encoded.rows.square().sum().backward()
    gradients = [parameter.grad for parameter in encoder.parameters() if parameter.requires_grad]
    expected = [parameter.grad for parameter in module.parameters()]
    torch.testing.assert_close(gradients, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_there_and_back_keeps_every_weight_and_shares_none(module: nn.RNNBase) -> None:
    module = randomized(module)
    back = recurrent_to_torch(recurrent_from_torch(module))
    assert type(back) is type(module)
    assert back.batch_first
    for name, value in module.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)
        assert back.state_dict()[name].data_ptr() != value.data_ptr()
    inputs = draw(2, 5, 3)
    rows, _ = module.eval()(inputs if module.batch_first else inputs.transpose(0, 1))
    rows = rows if module.batch_first else rows.transpose(0, 1)
    torch.testing.assert_close(back.eval()(inputs)[0], rows, rtol=0, atol=1e-12)


def test_what_torch_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        recurrent_to_torch(RecurrentEncoder("rnn", 3, 4, activation="sigmoid"))
    assert str(caught.value) == "recurrent_to_torch: activation must be 'tanh' or 'relu', got 'sigmoid'."


def test_what_clew_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        recurrent_from_torch(nn.LSTM(3, 4, proj_size=2))
    assert str(caught.value) == "recurrent_from_torch: proj_size must be 0, got 2."
    with pytest.raises(ConfigError, match=r"must be a torch\.nn\.RNN, GRU or LSTM, got RNNBase"):
        recurrent_from_torch(nn.RNNBase("GRU", 3, 4))
