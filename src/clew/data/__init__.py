"""Data: batches of sequences, and generated tasks."""

from clew.data.batch import Batch
from clew.data.recall_episodes import (
    RecallSeeds,
    RecallSizes,
    RecallSplits,
    describe_disjointness,
    sample_episodes,
    sample_recall_splits,
)

__all__ = [
    "Batch",
    "RecallSeeds",
    "RecallSizes",
    "RecallSplits",
    "describe_disjointness",
    "sample_episodes",
    "sample_recall_splits",
]
