"""The spectral norm of matrices that may hold anything: what overflowed or is no number has NaN and raises nothing.

Start with `spectral_norms`.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def spectral_norms(matrices: Float[Tensor, "*many rows columns"]) -> Float[Tensor, "*many"]:
    """Give the largest singular value of each matrix: how far it can stretch a vector.

    Each matrix is divided by its largest entry before it is decomposed, since the decomposition of entries near the
    largest number of their precision overflows, or does not converge. A norm that is itself too large is infinite.

    >>> spectral_norms(torch.tensor([[[3.0, 0.0], [4.0, 0.0]], [[torch.nan, 0.0], [0.0, 0.0]]]))
    tensor([5., nan])

    Args:
        matrices: Of any number, in single or double precision.

    Returns:
        A norm for each matrix; NaN where the matrix has an entry that is not finite.
    """
    largest = matrices.abs().amax(dim=(-2, -1), keepdim=True)
    is_finite = largest.isfinite()
    scale = torch.where(is_finite & (largest > 0), largest, 1.0)
    norms = torch.linalg.matrix_norm(torch.where(is_finite, matrices, 0.0) / scale, ord=2)
    return torch.where(is_finite.squeeze((-2, -1)), norms * scale.squeeze((-2, -1)), torch.nan)
