"""One recurrent layer of each kind, forward and backward, against torch.nn with the same weights.

    python benchmarks/recurrent_layers.py

For each size, kind and number of threads: the median milliseconds of torch.nn and of clew's default kernel over repeats
that take turns, and the median over repeats of clew / torch.nn, which a busy machine moves least. How far it moves it
is seen in the last column: a second torch.nn layer / the first. At the first two sizes a ratio of at most 1.05 is
claimed; the others are those of the recall experiment, where the number of calls a step decides the time.
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
SIZES = [(32, 128, 128, 128, 20), (8, 1024, 64, 64, 10), (64, 36, 16, 17, 60), (64, 12, 16, 17, 60)]
WARM_UP = 3


def passes(layer: nn.Module, inputs: torch.Tensor) -> Callable[[], None]:
    """Make a function that runs forward and backward once, with the sum of all rows as loss."""

    def run() -> None:
        layer.zero_grad()
        inputs.grad = None
        layer(inputs)[0].sum().backward()

    return run


def take_turns(runs: list[Callable[[], None]], repeats: int) -> list[list[float]]:
    """Time functions in turn, each going first as often as the others: their milliseconds, repeat by repeat."""
    times = []
    for repeat in range(WARM_UP + repeats):
        elapsed = [0.0] * len(runs)
        for turn in range(len(runs)):
            which = (repeat + turn) % len(runs)
            started = time.perf_counter()
            runs[which]()
            elapsed[which] = 1000 * (time.perf_counter() - started)
        times.append(elapsed)
    return times[WARM_UP:]


def compare(kind: Kind, size: tuple[int, ...]) -> tuple[float, float, float, float]:
    """Median milliseconds of torch.nn and of clew; median ratios of clew and of another torch.nn layer to the first."""
    batch, steps, features, hidden, repeats = size
    theirs, twin = (kind[0](features, hidden, batch_first=True) for _ in range(2))
    ours = kind[1](features, hidden)
    ours.load_state_dict({name.removesuffix("_l0"): value for name, value in theirs.state_dict().items()})
    inputs = torch.randn(batch, steps, features, generator=torch.Generator().manual_seed(0)).requires_grad_()
    difference = (theirs(inputs)[0] - ours(inputs)[0]).abs().max().item()
    assert difference < 1e-4, f"the layers compute different things: {difference}"
    times = take_turns([passes(layer, inputs) for layer in (theirs, ours, twin)], repeats)
    ratio, control = (median(row[other] / row[0] for row in times) for other in (1, 2))
    return median(row[0] for row in times), median(row[1] for row in times), ratio, control


def main() -> None:
    default_threads = torch.get_num_threads()
    print(f"torch {torch.__version__}, forward and backward, float32, CPU")
    shape = f"{'threads':>7} {'batch':>5} {'time':>5} {'features':>8} {'hidden':>6}"
    print(f"{shape}  kind {'torch.nn ms':>12} {'clew ms':>9} ratio control")
    for threads in sorted({default_threads, 1}, reverse=True):
        torch.set_num_threads(threads)
        for size in SIZES:
            for kind in KINDS:
                theirs, ours, ratio, control = compare(kind, size)
                batch, steps, features, hidden, _ = size
                shape = f"{threads:7d} {batch:5d} {steps:5d} {features:8d} {hidden:6d}"
                print(
                    f"{shape}  {kind[0].__name__:4s} {theirs:12.2f} {ours:9.2f} {ratio:5.2f} {control:7.2f}", flush=True
                )


if __name__ == "__main__":
    main()
