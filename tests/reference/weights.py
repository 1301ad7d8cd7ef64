"""Weights for comparisons: double precision, and random everywhere, so that no one or zero hides an error."""

from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def randomized(module: Module, seed: int = 1) -> Module:
    """Make a module double and draw all its parameters anew, scales and shifts too."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.6)
    return module


def draw(*shape: int, seed: int = 2) -> torch.Tensor:
    """Draw double-precision values."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def arrays(module: nn.Module) -> dict[str, NDArray[np.float64]]:
    """Give the weights of a module by name, as numpy arrays."""
    return {name: value.detach().numpy() for name, value in module.state_dict().items()}
