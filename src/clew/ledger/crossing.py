"""Where a layer's part of the autograd graph ends: the edges by which it sends derivatives back to what it read.

A tensor may be read by many layers, and by the caller's own loss; its derivative is the sum of what all of them send.
Listening at the edges of one border tells its own part from the others', exactly and without touching any number.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

Key = TypeVar("Key", bound=Hashable)
Edge = tuple[Node, int]


def edge_of(tensor: Tensor) -> Edge:
    """Give the place in the graph where a tensor's derivative arrives; it must require one."""
    edge = get_gradient_edge(tensor)
    return edge.node, edge.output_nr


def edges_into(
    outputs: Iterable[Tensor], targets: Mapping[Key, Tensor], beyond: Mapping[Edge, object]
) -> dict[Node, list[tuple[int, Key]]]:
    """Find every edge that leads from the computation of the outputs into a target.

    Args:
        outputs: Tensors that one border gave.
        targets: Tensors that it read, by key; those of equal place are found under the first key.
        beyond: Places where other borders begin; nothing is searched behind them.

    Returns:
        For each node with such an edge, the places of its results that go to a target, with the target's key.
    """
    wanted: dict[Edge, Key] = {}
    for key, tensor in targets.items():
        wanted.setdefault(edge_of(tensor), key)
    waiting = [edge_of(tensor)[0] for tensor in outputs if edge_of(tensor) not in wanted]
    seen = dict.fromkeys(waiting)
    found: dict[Node, list[tuple[int, Key]]] = {}
    while waiting:
        node = waiting.pop()
        for place, (earlier, number) in enumerate(node.next_functions):
            if earlier is None:
                continue
            if (earlier, number) in wanted:
                found.setdefault(node, []).append((place, wanted[earlier, number]))
            elif (earlier, number) not in beyond and earlier not in seen:
                seen[earlier] = None
                waiting.append(earlier)
    return found


def listen(edges: Mapping[Node, list[tuple[int, Key]]], sent: dict[Key, Tensor]) -> list[Any]:
    """Sum what passes each edge during backward passes into `sent`; returns the handles of the hooks."""
    return [node.register_hook(_Adder(places, sent)) for node, places in edges.items()]


class _Adder:
    """A hook that returns nothing, so that no bit of the pass changes."""

    def __init__(self, places: list[tuple[int, Any]], sent: dict[Any, Tensor]) -> None:
        self.places, self.sent = places, sent

    def __call__(self, results: tuple[Tensor | None, ...], _arrived: tuple[Tensor | None, ...]) -> None:
        for place, key in self.places:
            part = results[place]
            if part is not None:
                known = self.sent.get(key)
                self.sent[key] = part.detach().clone() if known is None else known + part.detach()
