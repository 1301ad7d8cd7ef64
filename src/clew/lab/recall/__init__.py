"""The memory experiment: recurrent and attention models asked for a cue after a delay. Start with `run_recall`."""

from clew.lab.recall.config import RecallConfig
from clew.lab.recall.experiment import RecallOutcome, run_recall
from clew.lab.recall.recipes import DEFAULT_RECIPES, MODELS, PUBLISHED, recall_recipe

__all__ = ["DEFAULT_RECIPES", "MODELS", "PUBLISHED", "RecallConfig", "RecallOutcome", "recall_recipe", "run_recall"]
