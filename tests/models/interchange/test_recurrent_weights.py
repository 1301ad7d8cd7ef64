"""Recurrent weights from safetensors files: each cell under both ways of naming, and what is refused."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from clew.errors import ClewError
from clew.models.interchange import recurrent_layer_from_file
from reference.weights import draw, randomized

CELLS = {"rnn": nn.RNNCell(3, 4), "gru": nn.GRUCell(3, 4), "lstm": nn.LSTMCell(3, 4)}


def write(folder: Path, cell: str, prefix: str = "", ending: str = "") -> tuple[Path, nn.Module]:
    """Write the weights of a torch cell beside a tensor of something else."""
    module = randomized(CELLS[cell]).float()
    named = {f"{prefix}{name}{ending}": value.detach().clone() for name, value in module.named_parameters()}
    path = folder / "some.safetensors"
    save_file(named | {"head.weight": torch.zeros(2, 4)}, path)
    return path, module.double()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("prefix", "ending"), [("", ""), ("decoder.rnn.", ""), ("lstm.", "_l0")])
def test_states_are_those_of_torchs_cell(tmp_path: Path, cell: str, prefix: str, ending: str) -> None:
    path, module = write(tmp_path, cell, prefix, ending)
    layer = recurrent_layer_from_file(path, cell, prefix)
    assert not layer.training
    layer = layer.double()
    inputs, initial = draw(2, 5, 3), tuple(draw(2, 4, seed=seed) for seed in range(len(layer.state_parts)))
    rows, final = layer(inputs, initial=initial)
    states = initial
    for step, inputs_now in enumerate(inputs.unbind(1)):
        found = module(inputs_now, states if cell == "lstm" else states[0])
        states = found if cell == "lstm" else (found,)
        torch.testing.assert_close(rows[:, step], states[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(final, states, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"cell": "lstn"}, "cell must be known, got 'lstn'. Did you mean 'lstm'?"),
        ({"prefix": "rnn"}, "behind the prefix 'rnn', got other names or shapes. Prefixes there: 'decoder.'."),
        ({"cell": "gru"}, "decoder.weight_ih must be of shape (15, 3) for a cell 'gru', got (16, 3)."),
        ({"path": "absent.safetensors"}, "weights must be a safetensors file, got no such file."),
        (
            {"path": "voice.jit"},
            "must be a safetensors file such as model.safetensors, got voice.jit. Reading a pickle can",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, arguments: dict, said: str) -> None:
    path, _ = write(tmp_path, "lstm", "decoder.")
    arguments = {"cell": "lstm", "prefix": "decoder."} | arguments
    with pytest.raises(ClewError) as caught:
        recurrent_layer_from_file(tmp_path / arguments.pop("path", path.name), **arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_recurrent_weights_is_refused(tmp_path: Path) -> None:
    save_file({"head.weight": torch.zeros(2, 4)}, tmp_path / "head.safetensors")
    with pytest.raises(ClewError, match=r"got other names or shapes\. It has no recurrent weights\."):
        recurrent_layer_from_file(tmp_path / "head.safetensors")
