"""One recurrent layer of each kind, forward and backward, against torch.nn with the same weights.

    python benchmarks/recurrent_layers.py

For each size, kind and number of threads: the median milliseconds of torch.nn and of clew's default kernel over repeats
that alternate between the two, and the median of the ratios of neighbours, which a busy machine moves least. At the
first two sizes a ratio of at most 1.05 is claimed; the others are those of the recall experiment, where the number of
calls a step decides the time.
"""

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn

from clew.layers.gru import GRULayer
from clew.layers.lstm import LSTMLayer
from clew.layers.recurrent import RecurrentLayer
from clew.layers.rnn import RNNLayer

Kind = tuple[type[nn.RNN] | type[nn.GRU] | type[nn.LSTM], type[RecurrentLayer]]
KINDS: list[Kind] = [(nn.RNN, RNNLayer), (nn.GRU, GRULayer), (nn.LSTM, LSTMLayer)]
# batch, time, features, hidden, repeats
SIZES = [(32, 128, 128, 128, 30), (8, 1024, 64, 64, 20), (64, 36, 16, 17, 100), (64, 12, 16, 17, 100)]
WARM_UP = 3


def passes(layer: nn.Module, inputs: torch.Tensor) -> Callable[[], None]:
    """Make a function that runs forward and backward once, with the sum of all rows as loss."""

    def run() -> None:
        layer.zero_grad()
        inputs.grad = None
        layer(inputs)[0].sum().backward()

    return run


def alternate(first: Callable[[], None], second: Callable[[], None], repeats: int) -> list[tuple[float, float]]:
    """Time two functions side by side, each going first every other time: the milliseconds of both, repeat by repeat."""
    times = []
    for repeat in range(WARM_UP + repeats):
        elapsed = [0.0, 0.0]
        for which in (0, 1) if repeat % 2 else (1, 0):
            started = time.perf_counter()
            (first, second)[which]()
            elapsed[which] = 1000 * (time.perf_counter() - started)
        if repeat >= WARM_UP:
            times.append((elapsed[0], elapsed[1]))
    return times


def compare(kind: Kind, size: tuple[int, ...]) -> tuple[float, float, float]:
    """Median milliseconds of torch.nn and of clew, and the median of their ratios."""
    batch, steps, features, hidden, repeats = size
    theirs = kind[0](features, hidden, batch_first=True)
    ours = kind[1](features, hidden)
    ours.load_state_dict({name.removesuffix("_l0"): value for name, value in theirs.state_dict().items()})
    inputs = torch.randn(batch, steps, features, generator=torch.Generator().manual_seed(0)).requires_grad_()
    difference = (theirs(inputs)[0] - ours(inputs)[0]).abs().max().item()
    assert difference < 1e-4, f"the layers compute different things: {difference}"
    times = alternate(passes(theirs, inputs), passes(ours, inputs), repeats)
    return median(a for a, _ in times), median(b for _, b in times), median(b / a for a, b in times)


def main() -> None:
    default_threads = torch.get_num_threads()
    print(f"torch {torch.__version__}, forward and backward, float32, CPU")
    shape = f"{'threads':>7} {'batch':>5} {'time':>5} {'features':>8} {'hidden':>6}"
    print(f"{shape}  kind {'torch.nn ms':>12} {'clew ms':>9} ratio")
    for threads in sorted({default_threads, 1}, reverse=True):
        torch.set_num_threads(threads)
        for size in SIZES:
            for kind in KINDS:
                theirs, ours, ratio = compare(kind, size)
                batch, steps, features, hidden, _ = size
                shape = f"{threads:7d} {batch:5d} {steps:5d} {features:8d} {hidden:6d}"
                print(f"{shape}  {kind[0].__name__:4s} {theirs:12.2f} {ours:9.2f} {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    main()
