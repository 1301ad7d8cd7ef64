"""Paths of matrices: Jacobians of the transitions, their norms, the product along a path and its bound."""

import torch
from jaxtyping import Float
from torch import Tensor

from clew.walkthrough.items import Builder, Cell, Item, id_of
from clew.walkthrough.unrolled import Unrolled, derivative, rnn_with, unroll
from clew.walkthrough.vector_rnn import TWO_CHOSEN, two_coordinate_pass

SHEAR = ((0.8, 1.5), (0.0, 0.8))
LENGTHS = (1, 2, 3, 5, 10, 20, 50)

Matrix = Float[Tensor, "hidden hidden"]


def jacobian(of: Float[Tensor, "1 rows"], by: Float[Tensor, "1 columns"]) -> Float[Tensor, "rows columns"]:
    """Differentiate every coordinate of one row by every coordinate of another, through the layer."""
    return torch.stack([derivative(coordinate, by)[0] for coordinate in of[0]])


def transition(steps: Unrolled, step: int) -> Matrix:
    """Give the Jacobian of one step's state by the state that went into it."""
    return jacobian(steps.states[step], steps.before(step)[0])


def spectral_norm(matrix: Matrix) -> float:
    """Give the largest factor by which a matrix stretches a vector."""
    return torch.linalg.matrix_norm(matrix, 2).item()


def transition_jacobians() -> Item:
    """List each transition's Jacobian and the factorization into slopes and recurrent weights."""
    model = two_coordinate_pass()
    rows: list[list[Cell]] = []
    for step in range(len(model.steps.quantities)):
        slopes = model.slopes(step)[0]
        found = transition(model.steps, step)
        factored = torch.diag(slopes) @ model.layer.weight_hh
        distance = (found - factored).abs().max().item()
        rows.append([f"J_{step}", *slopes.tolist(), *found.flatten().tolist(), spectral_norm(found), distance])
    norm = spectral_norm(model.layer.weight_hh.detach())
    notes = [
        TWO_CHOSEN,
        f"W_h alone stretches by at most {norm:.3g}; the slopes at the actual preactivations only lower that.",
        "The last column is the largest difference between autograd's Jacobian and diag(φ'(z_t)) W_h.",
    ]
    entries = [f"J {i},{j}" for i in range(2) for j in range(2)]
    columns = ["Transition", "φ'(z_t,0)", "φ'(z_t,1)", *entries, "Spectral norm", "Difference"]
    title = "Jacobians of the transitions"
    return Item(id_of(transition_jacobians), title, "Formula: transition Jacobian", columns, rows, notes)


def jacobian_products() -> Item:
    """Multiply the Jacobians along a path, in the right order and in the wrong one, and bound the result."""
    model = two_coordinate_pass()
    steps = model.steps
    first, second = transition(steps, 1), transition(steps, 2)
    sent = model.sensitivity(steps.states[2])
    arrived = model.sensitivity(steps.states[0])
    bound = sent.norm().item() * spectral_norm(second) * spectral_norm(first)
    products = {"g^h_2 J_2 J_1": sent @ second @ first, "g^h_2 J_1 J_2, the wrong order": sent @ first @ second}
    rows: list[list[Cell]] = [
        ["g^h_2, where the path starts", *sent[0].tolist(), sent.norm().item()],
        ["g^h_0 by autograd", *arrived[0].tolist(), arrived.norm().item()],
        *([name, *value[0].tolist(), value.norm().item()] for name, value in products.items()),
        ["bound: |g^h_2| |J_2| |J_1|", "", "", bound],
    ]
    notes = [TWO_CHOSEN, "The bound would be reached only by a signal along the most stretched directions of both."]
    columns = ["Quantity", "coordinate 0", "coordinate 1", "Length"]
    title = "The product along a path, and its bound"
    return Item(id_of(jacobian_products), title, "Formula: product of Jacobians and its bound", columns, rows, notes)


def entry_above_one() -> Item:
    """Show a recurrent matrix with an entry above one whose products vanish all the same."""
    layer = rnn_with([[1.0], [1.0]], SHEAR, "identity")
    steps = unroll(layer, torch.zeros(1, max(LENGTHS) + 1, 1, dtype=torch.float64))
    single = spectral_norm(transition(steps, 1))
    rows: list[list[Cell]] = []
    for length in LENGTHS:
        product = jacobian(steps.states[length], steps.states[0])
        along = [(product[:, place] ** 2).sum().sqrt().item() for place in range(2)]
        rows.append([length, product[0, 1].item(), spectral_norm(product), single**length, *along])
    notes = [
        f"Identity layer with W_h = {SHEAR}: the entry 1.5 and the norm {single:.3g} are above one, both eigenvalues "
        "0.8.",
        "The product first grows and then vanishes; its bound only grows. Norms above one permit growth and promise "
        "none.",
    ]
    columns = ["Transitions", "Entry 0,1", "Norm of the product", "Product of norms", "|J e_0|", "|J e_1|"]
    title = "An entry above one is no sign of explosion"
    return Item(id_of(entry_above_one), title, "Formula: spectral norm of a product", columns, rows, notes)


ITEMS: tuple[Builder, ...] = (transition_jacobians, jacobian_products, entry_above_one)
