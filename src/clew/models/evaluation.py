"""Evaluation for a while: no dropout, and every part of the model put back as it was found."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluation(model: nn.Module) -> Iterator[None]:
    """Set a model to evaluation while the block runs; parts that were training go on training behind it.

    >>> model = nn.Linear(2, 2)
    >>> with evaluation(model):
    ...     print(model.training)
    False
    >>> model.training
    True
    """
    found = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in found:
            module.training = training
