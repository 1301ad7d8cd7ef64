"""What is to be run: one plan a recipe and seed, complete enough that its hash names the run.

Workers, output folder and everything that belongs to display stay outside a plan, and so outside the hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clew.errors import ConfigError, complain
from clew.lab.recipe import Recipe
from clew.lab.splits import Splits
from clew.runs import run_identity, source_fingerprint
from clew.tasks import Task, task_from_config


@dataclass(frozen=True)
class RunPlan:
    """One run.

    Attributes:
        recipe: Model and training.
        task: Name and configuration of the task.
        seed: Draws the initial weights and the dropout masks.
        order_seed: Draws the order of the batches; the same for every recipe and seed.
        data: Fingerprints of the splits.
        device: Where it runs.
    """

    recipe: Recipe
    task: dict[str, Any]
    seed: int
    order_seed: int
    data: dict[str, str]
    device: str = "cpu"

    def config(self) -> dict[str, Any]:
        """The resolved configuration, as `config.json` holds it."""
        import torch

        return {
            "task": self.task,
            "recipe": self.recipe.name,
            "model": self.recipe.build(self.seed).config,
            "training": self.recipe.training.to_mapping(),
            "seeds": {"initialization": self.seed, "order": self.order_seed, "dropout": self.seed},
            "data": self.data,
            "sources": source_fingerprint(),
            "torch": torch.__version__,
            "device": self.device,
            "threads": 1,
        }

    @cached_property
    def identity(self) -> str:
        """The run's name: the hash of its configuration."""
        return run_identity(self.config())

    @cached_property
    def label(self) -> str:
        """How tables and displays call the run."""
        return ", ".join(part for part in (self.recipe.name, self.make_task().label, f"seed {self.seed}") if part)

    def make_task(self) -> Task:
        """Build the task."""
        return task_from_config(self.task["name"], self.task["config"])

    def to_mapping(self) -> dict[str, Any]:
        """Give plain values, for a worker process."""
        plain = {"task": self.task, "seed": self.seed, "order_seed": self.order_seed, "data": self.data}
        return plain | {"recipe": self.recipe.to_mapping(), "device": self.device}

    @classmethod
    def from_mapping(cls, values: dict[str, Any]) -> "RunPlan":
        """Build again from plain values."""
        others = {name: value for name, value in values.items() if name != "recipe"}
        return cls(Recipe.from_mapping(values["recipe"]), **others)


def plan_runs(
    recipes: Sequence[Recipe], task: Task, splits: Splits, seeds: Sequence[int], order_seed: int = 0
) -> list[RunPlan]:
    """Plan every recipe with every seed on the same data in the same order.

    Raises:
        ConfigError: If there is no recipe or seed, or a name or seed stands twice.
    """
    names = [recipe.name for recipe in recipes]
    for what, items in (("recipes", names), ("seeds", list(seeds))):
        if not items:
            raise ConfigError(complain("compare", what, "at least one", "none"))
        if len(set(items)) < len(items):
            raise ConfigError(complain("compare", what, "all different", items))
    described = {"name": task.name, "config": task.config()}
    data = splits.fingerprints()
    return [RunPlan(recipe, described, seed, order_seed, data) for recipe in recipes for seed in seeds]
