"""The spectral norm against numpy's, and on matrices that overflow or are no numbers."""

import math

import numpy as np
import pytest
import torch

from clew.ledger.spectral import spectral_norms


def test_norms_are_those_of_numpy_whatever_the_scale() -> None:
    matrices = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for scale in (1.0, 1e-300, 1e300):
        expected = np.linalg.norm(matrices.numpy(), ord=2, axis=(-2, -1)) * scale
        np.testing.assert_allclose(spectral_norms(matrices * scale).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 40])
def test_entries_near_the_largest_number_do_not_stop_the_decomposition(size: int) -> None:
    matrix = torch.full((size, size), 1e38)
    assert spectral_norms(matrix).item() == pytest.approx(size * 1e38 if size < 4 else math.inf, rel=1e-5)


def test_a_matrix_that_is_not_finite_is_nan_and_its_neighbours_are_not() -> None:
    matrices = torch.eye(2).repeat(4, 1, 1)
    matrices[0, 0, 1], matrices[2, 1, 0], matrices[3] = torch.nan, -torch.inf, 0.0
    found = spectral_norms(matrices)
    assert found.isnan().tolist() == [True, False, True, False]
    assert found[[1, 3]].tolist() == [1.0, 0.0]
