"""What recording costs: nothing while nobody records, and how long a recorded LSTM takes.

    python benchmarks/recording.py

First, a training step with the layers' look for a listener, and the same step with that look replaced by a constant
that is resolved as cheaply as Python can. The two take turns; the median over repeats of their ratio is what a busy
machine moves least, and the control column, the same step against itself, says how far it moves it. Then the look
itself, in nanoseconds, and its share of a step. Last, an LSTM of 8 rows, 256 steps and width 64, forward and backward,
recorded with its verification: under a second is claimed.
"""

import time
from collections.abc import Callable
from statistics import median
from timeit import timeit
from unittest.mock import patch

import torch
from torch import nn

import clew
from clew.ledger import recording
from clew.models import build

REPEATS = 40
STEPS = 5
PRESETS = ("rnn", "gru", "lstm", "transformer")


class Silent:
    """Stands in for `clew.ledger.recording` in the layers: nobody can record."""

    @staticmethod
    def is_on() -> bool:
        return False


def training_step(preset: str) -> Callable[[], None]:
    """Make a function that runs one training step of a small model: 32 rows of 24 tokens, width 32."""
    model = build(preset, vocab=7, outputs=7, hidden=32)
    inputs = torch.randint(0, 7, (32, 24), generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def run() -> None:
        optimizer.zero_grad()
        logits = model(inputs).logits
        nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), inputs[:, 1:].flatten()).backward()
        optimizer.step()

    return run


def silent(run: Callable[[], None]) -> Callable[[], None]:
    """Let a function run with layers that cannot be recorded."""
    names = [
        f"clew.layers.{name}.recording"
        for name in ("attention", "embedding", "feedforward", "linear", "normalization", "positions", "recurrent")
    ]
    names += [f"clew.models.{name}.recording" for name in ("blocks", "heads", "inputs", "transformer_encoder")]

    def run_silently() -> None:
        patches = [patch(name, Silent) for name in names]
        for one in patches:
            one.start()
        started = time.perf_counter()
        for _ in range(STEPS):
            run()
        run_silently.seconds = time.perf_counter() - started
        for one in patches:
            one.stop()

    return run_silently


def seconds(run: Callable[[], None]) -> float:
    """Time some steps; of a silent function only the steps, not the exchange of modules."""
    started = time.perf_counter()
    for _ in range(1 if hasattr(run, "__wrapped_steps__") else STEPS):
        run()
    return time.perf_counter() - started


def main() -> None:
    raise NotImplementedError


if __name__ == "__main__":
    main()
