"""Logistic regression for the references: linear in the features, penalised, fitted to the end without randomness."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

PENALTY = 1.0
MOST_ITERATIONS = 300


def fit_linear_classifier(
    features: Float[Tensor, "batch columns"], targets: Int[Tensor, " batch"], classes: int, penalty: float = PENALTY
) -> Float[Tensor, "columns_and_one classes"]:
    """Minimise the cross-entropy of a linear model plus a penalty on its weights, not on its biases.

        sum_i -log p_i[y_i] + penalty / 2 * sum(weights^2)

    Found by L-BFGS in float64 from zeros; equal data give equal weights.

    Args:
        features: Rows of numbers, best standardized.
        targets: A class a row.
        classes: Number of classes.
        penalty: Strength of the penalty; 1 is scikit-learn's default, C=1.

    Returns:
        Weights, with the biases in the last row.
    """
    with torch.enable_grad():
        weights = torch.zeros(features.shape[1] + 1, classes, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS(
            [weights],
            max_iter=MOST_ITERATIONS,
            tolerance_grad=1e-7,
            tolerance_change=1e-12,
            history_size=20,
            line_search_fn="strong_wolfe",
        )

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = cross_entropy(linear_logits(weights, features), targets.long(), reduction="sum")
            loss = (loss + penalty / 2 * weights[:-1].square().sum()) / len(features)
            loss.backward()
            return loss

        optimizer.step(closure)  # pyright: ignore[reportArgumentType]
    return weights.detach()


def linear_logits(
    weights: Float[Tensor, "columns_and_one classes"], features: Float[Tensor, "batch columns"]
) -> Float[Tensor, "batch classes"]:
    """Apply fitted weights."""
    return features @ weights[:-1] + weights[-1]
