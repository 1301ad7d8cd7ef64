"""What recording costs: nothing while nobody records, and how long a recorded LSTM takes.

    python benchmarks/recording.py

First, a training step as it is (off), and the same step where the layers' look for a listener is replaced by a stub
that is always silent. The two take turns; shown are the median milliseconds, the median over repeats of off / stub,
which a busy machine moves least, and in the last column how far it moves it: the step as it is / itself. Then an LSTM
of 8 rows, 256 steps and width 64, forward and backward, plain and recorded with its verification and with a sensitivity
read: under a second is claimed.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import torch
from torch.nn.functional import cross_entropy

import clew
from clew.layers import LSTMLayer
from clew.ledger import recording
from clew.models import build

REPEATS, STEPS = 40, 3
PRESETS = ("rnn", "gru", "lstm", "transformer")


class Silent:
    """Stands in for `clew.ledger.recording` in the layers: nobody can record."""

    @staticmethod
    def is_on() -> bool:
        return False


@contextmanager
def silenced() -> Iterator[None]:
    """Let all layers look at the stub."""
    looking = [module for name, module in sys.modules.items() if name.startswith(("clew.layers", "clew.models"))]
    looking = [module for module in looking if getattr(module, "recording", None) is recording]
    for module in looking:
        module.recording = Silent  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        for module in looking:
            module.recording = recording  # pyright: ignore[reportAttributeAccessIssue]


def training_step(preset: str) -> Callable[[], None]:
    """Make a function that takes one training step of a small model: 64 rows of 36 tokens, width 16."""
    model = build(preset, vocab=7, outputs=7, hidden=16)
    tokens = torch.randint(0, 7, (64, 37), generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def run() -> None:
        optimizer.zero_grad()
        logits = model(tokens[:, :-1]).logits
        cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    return run


def milliseconds(run: Callable[[], None]) -> float:
    """Time a step, the mean of a few; the first one, after an exchange of modules, is slower and is left out."""
    run()
    started = time.perf_counter()
    for _ in range(STEPS):
        run()
    return 1000 * (time.perf_counter() - started) / STEPS


def compare(preset: str) -> tuple[float, float, float, float]:
    """Median milliseconds off and with the stub; median ratios of off to the stub and to itself."""
    run, rows = training_step(preset), []
    for repeat in range(REPEATS):
        times = {}
        for turn in range(3):
            which = ("off", "stub", "again")[(repeat + turn) % 3]
            if which == "stub":
                with silenced():
                    times[which] = milliseconds(run)
            else:
                times[which] = milliseconds(run)
        rows.append(times)
    off, stub = (median(row[which] for row in rows) for which in ("off", "stub"))
    ratio, control = (median(row["off"] / row[which] for row in rows) for which in ("stub", "again"))
    return off, stub, ratio, control


def recorded_lstm() -> tuple[float, float]:
    """Median seconds of a forward and a backward pass, plain and recorded."""
    layer = LSTMLayer(64, 64)
    inputs = torch.randn(8, 256, 64, generator=torch.Generator().manual_seed(0))

    def plain() -> None:
        layer(inputs)[0].square().mean().backward()

    def recorded() -> None:
        with clew.record(layer) as ledger:
            plain()
        _ = ledger.quantity("forget_gate").sensitivity

    found = []
    for run in (plain, recorded):
        run()
        times = []
        for _ in range(7):
            started = time.perf_counter()
            run()
            times.append(time.perf_counter() - started)
        found.append(median(times))
    return found[0], found[1]


def main() -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, float32, CPU, one thread")
    print(f"{'model':12s} {'off ms':>8} {'stub ms':>8} {'off / stub':>10} {'control':>8}")
    for preset in PRESETS:
        off, stub, ratio, control = compare(preset)
        print(f"{preset:12s} {off:8.2f} {stub:8.2f} {ratio:10.3f} {control:8.3f}", flush=True)
    plain, recorded = recorded_lstm()
    print(f"LSTM, batch 8, time 256, width 64, forward and backward: {plain:.3f} s, recorded {recorded:.3f} s")


if __name__ == "__main__":
    main()
