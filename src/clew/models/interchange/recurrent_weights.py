"""Published recurrent weights in a safetensors file to one of clew's recurrent layers.

The names are those of torch.nn's cells (`weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`) or of the first layer of its
modules (`weight_ih_l0`, ...), behind any prefix. Modules in memory are converted by `recurrent_from_torch`.
"""

from pathlib import Path

import torch
from torch import Tensor

from clew.errors import ConfigError, RunError, complain, did_you_mean
from clew.layers.gru import GRULayer
from clew.layers.lstm import LSTMLayer
from clew.layers.recurrent import RecurrentLayer
from clew.layers.rnn import RNNLayer
from clew.models.interchange.checkpoint_files import read_weights

LAYERS: dict[str, type[RecurrentLayer]] = {"rnn": RNNLayer, "gru": GRULayer, "lstm": LSTMLayer}
PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
ENDINGS = ("", "_l0")


def recurrent_layer_from_file(path: Path | str, cell: str = "lstm", prefix: str = "") -> RecurrentLayer:
    """Make the layer whose weights are in a safetensors file; in evaluation mode, in float32.

    Args:
        path: The file; it may hold other tensors too, which are left alone.
        cell: "rnn" (with tanh), "gru" (gates r, u, n, reset after the product) or "lstm" (gates i, f, g, o).
        prefix: What stands before the names of the parameters, such as "lstm_cell.".

    Raises:
        ConfigError: If the cell is unknown.
        RunError: If the file is missing, damaged or a pickle, has no such parameters, or their shapes are not those of
            the cell.
    """
    if cell not in LAYERS:
        raise ConfigError(
            complain("recurrent_layer_from_file", "cell", "known", f"'{cell}'", did_you_mean(cell, LAYERS))
        )
    path = Path(path)
    published = _parameters(read_weights(path), prefix, str(path))
    rows, features = published["weight_ih"].shape
    hidden = rows // LAYERS[cell].gates
    layer = LAYERS[cell](features, hidden)
    with torch.no_grad():
        for name, target in layer.named_parameters():
            if target.shape != published[name].shape:
                rule = f"of shape {tuple(target.shape)} for a cell '{cell}'"
                raise RunError(complain(str(path), prefix + name, rule, tuple(published[name].shape)))
            target.copy_(published[name])
    return layer.eval()


def _parameters(published: dict[str, Tensor], prefix: str, where: str) -> dict[str, Tensor]:
    """Give the four parameters by clew's names."""
    for ending in ENDINGS:
        found = {name: published.get(prefix + name + ending) for name in PARAMETERS}
        if all(value is not None and value.ndim == 2 - name.startswith("bias") for name, value in found.items()):
            return {name: value for name, value in found.items() if value is not None}
    tails = tuple(f"weight_ih{ending}" for ending in ENDINGS)
    known = sorted({name[: name.rindex("weight_ih")] for name in published if name.endswith(tails)})
    remedy = f"Prefixes there: {', '.join(map(repr, known))}." if known else "It has no recurrent weights."
    rule = f"{', '.join(PARAMETERS)} behind the prefix '{prefix}'"
    raise RunError(complain(where, "weights", rule, "other names or shapes", remedy))
