"""Which sequences make up each step of an epoch: shuffled, those of similar length together.

An order follows from the data, the seed and the batch size alone, so that it is the same for every architecture. Where
all sequences have the same length it is a plain shuffle.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from clew.tasks.sequences import Sequences
from clew.training.config import TrainConfig

BATCHES_OF_A_BUCKET = 50


def draw_batches(train: Sequences, config: TrainConfig, generator: torch.Generator) -> tuple[Int[Tensor, " _"], ...]:
    """Draw the batches of an epoch, as numbers of sequences; every sequence is in one of them.

    Sequences are shuffled, cut into buckets of many batches, sorted by length within each, and the batches are
    shuffled: neighbours of a sequence in a batch change from epoch to epoch, and little is padded.

    >>> from clew.data.batch import Batch
    >>> batch = Batch(torch.zeros(5, 3))
    >>> sorted(torch.cat(draw_batches(batch, TrainConfig(batch_size=2), torch.Generator())).tolist())
    [0, 1, 2, 3, 4]
    """
    order = torch.randperm(len(train), generator=generator)
    lengths = train.lengths.cpu() if config.group_by_length else order.new_zeros(len(train))
    if not config.group_by_length or int(lengths.min()) == int(lengths.max()):
        return order.split(config.batch_size)
    buckets = order.split(BATCHES_OF_A_BUCKET * config.batch_size)
    sorted_buckets = [bucket[torch.argsort(lengths[bucket], stable=True)] for bucket in buckets]
    batches = [batch for bucket in sorted_buckets for batch in bucket.split(config.batch_size)]
    return tuple(batches[place] for place in torch.randperm(len(batches), generator=generator).tolist())


def steps_of_an_epoch(train: Sequences, config: TrainConfig) -> int:
    """Count the optimizer steps of an epoch.

    >>> from clew.data.batch import Batch
    >>> steps_of_an_epoch(Batch(torch.zeros(5, 3)), TrainConfig(batch_size=2))
    3
    """
    return -(-len(train) // config.batch_size)
