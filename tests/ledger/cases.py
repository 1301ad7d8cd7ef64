"""Padding of all kinds, and a comparison at float64's rounding."""

import torch
from torch import Tensor

PADDINGS = ("none", "right", "left", "gaps", "empty row")


def valid_steps(padding: str, batch: int, time: int) -> Tensor:
    """Say which steps are real; at least two rows and five steps."""
    valid = torch.ones(batch, time, dtype=torch.bool)
    if padding == "right":
        valid[0, 2:] = False
    elif padding == "left":
        valid[0, :2] = False
    elif padding == "gaps":
        valid[0, 1], valid[1, 0], valid[1, 3] = False, False, False
    elif padding == "empty row":
        valid[0] = False
    return valid


def assert_equal(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
