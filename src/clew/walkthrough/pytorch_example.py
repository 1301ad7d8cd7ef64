"""The text's PyTorch example on this library's own layer: torch.nn's seeded weights, the same printed numbers.

The weights are drawn from torch's global generator, which is put back as it was. The text used torch 2.8 on a CPU.
"""

import torch
from torch import nn

from clew.layers import Linear, RNNLayer
from clew.models.interchange import recurrent_from_torch
from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.unrolled import half_squared_error, head_with, rows_of

SEED = 6
OBSERVATIONS = ((0.2, -0.1), (0.0, 0.3), (0.4, 0.1))
TARGET = 0.5


def seeded_layers() -> tuple[RNNLayer, Linear]:
    """Draw a torch.nn.RNN and a torch.nn.Linear as the text does, and move their weights into this library's layers."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(SEED)
        drawn = nn.RNN(2, 2, nonlinearity="tanh", bias=False, batch_first=True)
        drawn_head = nn.Linear(2, 1, bias=False)
    layer = recurrent_from_torch(drawn.double()).recurrent[0]
    assert isinstance(layer, RNNLayer)
    return layer, head_with(drawn_head.weight.tolist())


def pytorch_example() -> Item:
    """Compute the five printed lines."""
    layer, head = seeded_layers()
    states, (final,) = layer(rows_of(OBSERVATIONS))
    prediction = head(final)
    scalars = {"prediction": prediction, "loss": half_squared_error(prediction, rows_of([TARGET]))}
    rows: list[list[Cell]] = [
        [f"h_{step}", first, second, f"h_{step} = [{first:#.3g}, {second:#.3g}]"]
        for step, (first, second) in enumerate(states[0].tolist())
    ]
    rows += [[name, value.item(), "", f"{name} = {value.item():.3g}"] for name, value in scalars.items()]
    notes = [
        "The weights are those that torch.nn.RNN and torch.nn.Linear draw after torch.manual_seed(6), widened to "
        "float64; the layer and the head that compute are this library's.",
        "Seeded and untrained: a calculation, not a forecast.",
    ]
    title = "A recurrent layer and a separate head"
    columns = ["Quantity", "coordinate 0", "coordinate 1", "Printed line"]
    return Item(id_of(pytorch_example), title, "Formula: PyTorch example", columns, rows, notes)


def readout_shapes() -> Item:
    """List the shapes of the example: all states, the final one, and a head read once or everywhere."""
    layer, head = seeded_layers()
    states, (final,) = layer(rows_of(OBSERVATIONS))
    shapes = [
        ("states", "(B, T, H)", states),
        ("final state", "(B, H)", final),
        ("head on the final state", "(B, C)", head(final)),
        ("head on all states", "(B, T, C)", head(states)),
    ]
    rows: list[list[Cell]] = [[words, letters, str(tuple(value.shape))] for words, letters, value in shapes]
    notes = [
        "The final state is the last row of the states. A head on all states predicts at every position and needs as "
        "many targets. torch.nn.RNN puts one more axis, layers times directions, before its final state.",
    ]
    title = "What the layer gives and what the head reads"
    columns = ["Tensor", "Axes", "Shape here"]
    return Item(id_of(readout_shapes), title, "Formula: PyTorch example, shapes", columns, rows, notes)


def example_gradients() -> Item:
    """List the gradients that the example's backward pass gives."""
    layer, head = seeded_layers()
    states, _ = layer(rows_of(OBSERVATIONS))
    half_squared_error(head(states[:, -1]), rows_of([TARGET])).backward()
    named = {"W_x": layer.weight_ih, "W_h": layer.weight_hh, "W_o": head.weight}
    rows: list[list[Cell]] = []
    for name, weight in named.items():
        assert weight.grad is not None
        for place, (values, slopes) in enumerate(zip(weight.tolist(), weight.grad.tolist(), strict=True)):
            rows.append([f"{name}, row {place}", *values, *slopes])
    columns = ["Weight", "value 0", "value 1", "gradient 0", "gradient 1"]
    title = "Weights and gradients of the example"
    return Item(id_of(example_gradients), title, "Formula: PyTorch example, gradients", columns, rows)


ITEMS: tuple[Builder, ...] = (pytorch_example, readout_shapes, example_gradients)
