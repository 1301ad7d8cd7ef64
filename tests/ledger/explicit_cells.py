"""Recurrent cells one row and one step at a time in plain torch, every intermediate kept with its gradient.

Each step has copies of the weights of its own, so that their gradients are the step's contributions. Nothing is shared
with the package; the order of gates is torch.nn's.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

Named = dict[str, Tensor]


def rnn(x: Tensor, h: Tensor, _c: Tensor, weights: Mapping[str, Tensor]) -> Named:
    z = weights["weight_ih"] @ x + weights["bias_ih"] + weights["weight_hh"] @ h + weights["bias_hh"]
    z = kept(z)
    return {"preactivation": z, "state": kept(torch.tanh(z))}


def gru(x: Tensor, h: Tensor, _c: Tensor, weights: Mapping[str, Tensor]) -> Named:
    a_r, a_u, a_n = (weights["weight_ih"] @ x + weights["bias_ih"]).chunk(3)
    s_r, s_u, s_n = (weights["weight_hh"] @ h + weights["bias_hh"]).chunk(3)
    r, u = kept(torch.sigmoid(a_r + s_r)), kept(torch.sigmoid(a_u + s_u))
    n = kept(torch.tanh(a_n + r * s_n))
    return {"reset_gate": r, "update_gate": u, "candidate": n, "state": kept(u * h + (1 - u) * n)}


def lstm(x: Tensor, h: Tensor, c: Tensor, weights: Mapping[str, Tensor]) -> Named:
    z = weights["weight_ih"] @ x + weights["bias_ih"] + weights["weight_hh"] @ h + weights["bias_hh"]
    z_i, z_f, z_g, z_o = z.chunk(4)
    i, f = kept(torch.sigmoid(z_i)), kept(torch.sigmoid(z_f))
    g, o = kept(torch.tanh(z_g)), kept(torch.sigmoid(z_o))
    cell = kept(f * c + i * g)
    named = {"input_gate": i, "forget_gate": f, "cell_candidate": g, "output_gate": o}
    return {**named, "cell": cell, "state": kept(o * torch.tanh(cell))}


CELLS = {"rnn": rnn, "gru": gru, "lstm": lstm}


class Unrolled:
    """A layer over padded rows.

    Attributes:
        rows: The states, zero at padding.
        final: State and cell after each row's last step.
        grid: Intermediates by row and step.
        copies: The weights of each row and step.
    """

    def __init__(
        self, cell: str, inputs: Tensor, valid: Tensor, initial: tuple[Tensor, ...], weights: Named, reverse: bool
    ) -> None:
        batch, time, _ = inputs.shape
        hidden = weights["weight_hh"].shape[1]
        self.grid: dict[tuple[int, int], Named] = {}
        self.copies: dict[tuple[int, int], Named] = {}
        finals = []
        for row in range(batch):
            h, c = initial[0][row], initial[-1][row]
            for step in sorted((t for t in range(time) if valid[row, t]), reverse=reverse):
                copies = {name: kept(weight.detach().clone().requires_grad_()) for name, weight in weights.items()}
                named = CELLS[cell](inputs[row, step], h, c, copies)
                self.grid[row, step], self.copies[row, step] = named, copies
                h, c = named["state"], named.get("cell", named["state"])
            finals.append((h, c))
        self.final = tuple(torch.stack(part) for part in zip(*finals, strict=True))
        zeros = inputs.new_zeros(hidden)
        self.rows = torch.stack(
            [
                torch.stack([self.grid[b, t]["state"] if (b, t) in self.grid else zeros for t in range(time)])
                for b in range(batch)
            ]
        )

    def names(self) -> list[str]:
        return list(next(iter(self.grid.values())))

    def values(self, name: str) -> Tensor:
        return self._array({place: named[name] for place, named in self.grid.items()})

    def gradients(self, name: str) -> Tensor:
        return self._array({place: gradient(named[name]) for place, named in self.grid.items()})

    def contributions(self, name: str) -> Tensor:
        """What each row and step adds to a weight's gradient, (batch, time, *shape)."""
        return self._array({place: gradient(copies[name]) for place, copies in self.copies.items()})

    def _array(self, parts: dict[tuple[int, int], Tensor]) -> Tensor:
        first = next(iter(parts.values()))
        array = torch.zeros(*self.rows.shape[:2], *first.shape, dtype=first.dtype)
        for (row, step), part in parts.items():
            array[row, step] = part.detach()
        return array


def kept(tensor: Tensor) -> Tensor:
    tensor.retain_grad()
    return tensor


def gradient(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
