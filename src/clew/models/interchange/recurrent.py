"""Recurrent encoders to and from torch.nn.RNN, GRU and LSTM, weights copied, nothing shared.

The results compute the same to rounding. torch.nn's modules may take rows time-first, which the weights do not know:
here rows are always (batch, time, features), and what is given back is batch-first. What cannot be said in the other
module is an error, never left out.
"""

import torch
from torch import Tensor, nn

from clew.errors import ConfigError, complain
from clew.layers.bidirectional import BidirectionalLayer
from clew.layers.recurrent import RecurrentLayer
from clew.layers.rnn import FUSED_KERNELS, RNNLayer
from clew.models.recurrent_encoder import RecurrentEncoder

MODULES: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def recurrent_from_torch(module: nn.RNNBase) -> RecurrentEncoder:
    """Make the encoder that computes what a torch.nn.RNN, GRU or LSTM does.

    A module without biases gives zero biases that are not trained. Dropout between layers is drawn from another
    generator.

    Raises:
        ConfigError: If it is another module, or an LSTM with a projection.
    """
    cells = [cell for cell, kind in MODULES.items() if isinstance(module, kind)]
    if not cells:
        rule = "a torch.nn.RNN, GRU or LSTM"
        raise ConfigError(complain("recurrent_from_torch", "module", rule, type(module).__name__))
    if module.proj_size:
        raise ConfigError(complain("recurrent_from_torch", "proj_size", "0", module.proj_size))
    encoder = RecurrentEncoder(
        cells[0],
        module.input_size,
        module.hidden_size,
        layers=module.num_layers,
        bidirectional=module.bidirectional,
        dropout=module.dropout,
        activation=str(module.nonlinearity) if isinstance(module, nn.RNN) else "tanh",
    )
    weight = module.get_parameter("weight_ih_l0")
    encoder = encoder.to(weight.device, weight.dtype).train(module.training)
    for layer, suffix in _directions(encoder):
        for name, parameter in zip(PARAMETERS, layer.weights, strict=True):
            _copy(getattr(module, name + suffix, None), parameter)
    return encoder


def recurrent_to_torch(encoder: RecurrentEncoder) -> nn.RNNBase:
    """Make the torch.nn.RNN, GRU or LSTM, batch-first, that computes what an encoder does.

    Raises:
        ConfigError: If its cell is a simple RNN with an activation that torch.nn.RNN does not have.
    """
    directions = _directions(encoder)
    first, _ = directions[0]
    options = {}
    if isinstance(first, RNNLayer):
        options["nonlinearity"] = first.activation.name
        if first.activation.name not in FUSED_KERNELS:
            rule = " or ".join(f"'{name}'" for name in FUSED_KERNELS)
            raise ConfigError(complain("recurrent_to_torch", "activation", rule, f"'{first.activation.name}'"))
    module = MODULES[encoder.cell](
        encoder.features,
        encoder.hidden,
        num_layers=len(encoder.recurrent),
        batch_first=True,
        dropout=encoder.dropout.fraction if len(encoder.recurrent) > 1 else 0.0,
        bidirectional=encoder.bidirectional,
        **options,
    )
    module = module.to(first.weight_ih.device, first.weight_ih.dtype).train(encoder.training)
    for layer, suffix in directions:
        for name, parameter in zip(PARAMETERS, layer.weights, strict=True):
            _copy(parameter, getattr(module, name + suffix))
    return module


def _directions(encoder: RecurrentEncoder) -> list[tuple[RecurrentLayer, str]]:
    """Give each layer in each direction, with the ending that torch.nn gives to the names of its parameters."""
    found = []
    for index, layer in enumerate(encoder.recurrent):
        if isinstance(layer, BidirectionalLayer):
            found += [(layer.forward_layer, f"_l{index}"), (layer.backward_layer, f"_l{index}_reverse")]
        else:
            found.append((layer, f"_l{index}"))
    return found


@torch.no_grad()
def _copy(source: Tensor | None, target: Tensor) -> None:
    if source is None:
        target.zero_().requires_grad_(False)
    else:
        target.copy_(source).requires_grad_(source.requires_grad)
