"""How many threads torch computes on: set for a while, put back afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Run torch on `count` threads, and on as many as before afterwards, also after an error."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
