"""What a task asks of data: sequences that can be counted and taken by number, in memory or on disk.

`Batch` is one kind; anything else with `len`, `select` and `lengths` will do. Scores are always put together again in
the order of the data, so that the size of the chunks and the sorting by length change no result.
"""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.errors import ConfigError, ShapeError, complain


@runtime_checkable
class Sequences(Protocol):
    """Some sequences, from which a few can be taken as a `Batch`."""

    def __len__(self) -> int:
        """Number of sequences."""
        ...

    @property
    def lengths(self) -> Tensor:
        """Real steps of each sequence, (n,)."""
        ...

    def select(self, index: Tensor) -> Batch:
        """Take the sequences with these numbers, in this order."""
        ...


def chunks(data: Sequences, size: int, device: torch.device | None = None) -> Iterator[tuple[Tensor, Batch]]:
    """Cut sequences into batches of at most `size`, each with the numbers of its sequences.

    Data other than a `Batch` are taken sorted by length, so that little is padded; a `Batch` is padded already.

    Raises:
        ConfigError: If `size` is below 1.
    """
    if size < 1:
        raise ConfigError(complain("evaluate", "chunk", "at least 1", size))
    order = torch.arange(len(data))
    if not isinstance(data, Batch):
        order = torch.argsort(data.lengths, stable=True)
    for index in order.split(size):
        batch = data.select(index)
        yield index, batch if device is None else batch.to(device)


def put_together(parts: list[tuple[Tensor, Tensor]], fill: float | int | bool) -> Shaped[Tensor, "batch *rest"]:
    """Put rows that were computed in chunks back in the order of the data; shorter ones are filled up on the right.

    Args:
        parts: Numbers of the sequences, and a row for each of them.
        fill: What stands where a row has ended.
    """
    shape = [max(sizes) for sizes in zip(*(rows.shape[1:] for _, rows in parts), strict=True)]
    whole = parts[0][1].new_full((sum(len(index) for index, _ in parts), *shape), fill)
    for index, rows in parts:
        place = (index.to(whole.device), *(slice(size) for size in rows.shape[1:]))
        whole[place] = rows
    return whole


def whole(data: Sequences) -> Batch:
    """Take all sequences as one batch."""
    return data if isinstance(data, Batch) else data.select(torch.arange(len(data)))


def device_of(model: nn.Module) -> torch.device | None:
    """Name the place of a model's weights; None for one without weights, which takes data where they are."""
    weight = next(model.parameters(), None)
    return None if weight is None else weight.device


def real_steps(batch: Batch) -> Bool[Tensor, "batch time"]:
    """Say which steps are real."""
    if batch.valid is not None:
        return batch.valid
    return torch.ones(batch.inputs.shape[:2], dtype=torch.bool, device=batch.inputs.device)


def rank_from_end(marked: Bool[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Number the marked steps of each row from its end, from 1; what is not marked has the number of the next one.

    >>> rank_from_end(torch.tensor([[True, True, False, True]])).tolist()
    [[3, 2, 1, 1]]
    """
    return marked.flip(1).cumsum(dim=1).flip(1)


def model_logits(
    where: str, model: nn.Module, inputs: Tensor, valid: Tensor | None, expected: tuple[int, ...]
) -> Tensor:
    """Ask a model for its logits, and see that they are of the expected shape.

    Raises:
        ShapeError: If they are not.
    """
    logits = model(inputs).logits if valid is None else model(inputs, valid=valid).logits
    if tuple(logits.shape) != expected:
        heads = "head='rows'" if len(expected) == 3 else "head='last', 'mean' or 'class_token'"
        remedy = f"Build the model with outputs={expected[-1]} and {heads}."
        raise ShapeError(complain(where, "logits", f"of shape {expected}", tuple(logits.shape), remedy))
    return logits
