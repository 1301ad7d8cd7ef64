"""Recording is quick enough to be used, and a layer that nobody records looks at one empty list."""

import time

import torch

import clew
from clew.layers import LSTMLayer
from clew.ledger import recording

BATCH, TIME, WIDTH = 8, 256, 64


def test_a_recorded_lstm_of_256_steps_takes_under_a_second() -> None:
    layer = LSTMLayer(WIDTH, WIDTH)
    inputs = torch.randn(BATCH, TIME, WIDTH, generator=torch.Generator().manual_seed(0))

    def run() -> float:
        started = time.process_time()
        with clew.record(layer) as ledger:
            layer(inputs)[0].square().mean().backward()
        _ = ledger.quantity("forget_gate").sensitivity
        return time.process_time() - started

    run()
    # CPU seconds, which other work on the machine moves least; checked shapes make the suite slower than it is in use.
    assert min(run() for _ in range(3)) < 1.5


def test_nobody_listens_outside_of_a_record() -> None:
    assert recording.count() == 0
    assert not recording.is_on()
    layer = LSTMLayer(2, 3)
    rows, _ = layer(torch.zeros(1, 2, 2))
    assert not rows._backward_hooks
    assert not layer.weight_hh._backward_hooks
