"""Whether a model uses the order of the steps: its accuracy on the test sequences as they are, and with steps shuffled.

A model that answers as well after the real steps of each sequence were shuffled has not used their order, however good
it is. Perfect order use drops to what the unordered values allow; a model blind to order does not move at all.
"""

from dataclasses import dataclass
from math import comb

import torch
from torch import nn

from clew.data.batch import Batch
from clew.errors import DataError, ShapeError, complain
from clew.tasks.sequences import Sequences, real_steps, whole
from clew.tasks.task import Task

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class OrderControl:
    """What shuffling did.

    Attributes:
        accuracy: Of the sequences as they are.
        shuffled_accuracy: Of the same sequences with their real steps shuffled.
        lost: Sequences that were right and became wrong.
        gained: Sequences that were wrong and became right.
        p: Two-sided exact sign test of `lost` against `gained`.
        order_used: Whether more were lost than gained and p is below 0.05.
    """

    accuracy: float
    shuffled_accuracy: float
    lost: int
    gained: int
    p: float
    order_used: bool

    @property
    def words(self) -> str:
        """Say what was shown, and no more."""
        seen = f"accuracy {self.accuracy:.3f} in order, {self.shuffled_accuracy:.3f} with steps shuffled"
        verdict = "order was used" if self.order_used else "no use of order was shown"
        return f"{verdict}: {seen}, {self.lost} lost and {self.gained} gained, p = {self.p:.3g}"


def shuffled_order(data: Sequences, generator: torch.Generator) -> Batch:
    """Shuffle the real steps within each sequence; padding, targets and everything else stay.

    Raises:
        ShapeError: If the data are images.
    """
    batch = whole(data)
    if batch.inputs.ndim == 4:
        rule = "sequences of steps, (batch, time, ...)"
        raise ShapeError(complain("shuffled_order", "inputs", rule, tuple(batch.inputs.shape), "Cut images to rows."))
    valid = real_steps(batch).cpu()
    # Sorting random keys within the real steps alone: their places in order, and a random order of them.
    keys = torch.rand(valid.shape, generator=generator, dtype=torch.float64)
    places = torch.argsort((~valid).to(torch.int8), dim=1, stable=True)
    shuffled = torch.argsort(keys + 2.0 * ~valid, dim=1)
    source = torch.empty_like(places).scatter_(1, places, torch.where(valid.gather(1, places), shuffled, places))
    index = source.to(batch.inputs.device)
    inputs = batch.inputs.gather(1, index.reshape(*index.shape, *[1] * (batch.inputs.ndim - 2)).expand_as(batch.inputs))
    return Batch(inputs, batch.valid, batch.targets, batch.documents)


def order_control(
    task: Task, model: nn.Module, data: Sequences, generator: torch.Generator, chunk: int = 512
) -> OrderControl:
    """Compare a model's answers in order with those to shuffled steps.

    Raises:
        DataError: If the task has no answer that is right or wrong, or there is no sequence.
    """
    plain, shuffled = task.correct(model, data, chunk), task.correct(model, shuffled_order(data, generator), chunk)
    if plain is None or shuffled is None or len(plain) == 0:
        raise DataError(complain("order_control", "answers", "right or wrong for at least 1 sequence", "none"))
    lost, gained = int((plain & ~shuffled).sum()), int((~plain & shuffled).sum())
    p = sign_test(lost, gained)
    return OrderControl(
        plain.double().mean().item(),
        shuffled.double().mean().item(),
        lost,
        gained,
        p,
        lost > gained and p < SIGNIFICANT,
    )


def sign_test(first: int, second: int) -> float:
    """Two-sided exact test of two counts that would be equal by chance.

    >>> sign_test(5, 0)
    0.0625
    """
    count = first + second
    tail = sum(comb(count, fewer) for fewer in range(min(first, second) + 1))
    return min(1.0, 2 * tail / 2**count)
