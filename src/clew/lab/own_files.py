"""Comparisons on files of one's own: a configuration becomes tasks, splits and recipes for `compare`.

    file = "train.csv"            what `clew train` takes, with its sections [columns] [data] [split] [task] [training]
    [compare]                     seeds, order_seed
    [recipes.NAME.model]          preset and options; over those of [model]
    [recipes.NAME.training]       over those of [training]
    [tasks.NAME]                  instead of one file: file, validation, test and sections of each, over the others

Every recipe sees the same sequences in the same order. The test part is sealed by `Splits`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.errors import ConfigError, complain
from clew.lab.recipe import Recipe
from clew.lab.splits import Splits
from clew.runs.model_options import complete_options
from clew.runs.planning import check_sections, plan_training, sections
from clew.runs.planning.defaults import usual_model, usual_training
from clew.tasks import Task
from clew.training import TrainConfig, check_keys, with_overrides

WHERE = "clew compare"
USUAL_SEEDS = (0, 1, 2)
FILES = ("file", "validation", "test")
OWN = ("compare", "recipes", "tasks", *FILES)


@dataclass(frozen=True, eq=False)
class OwnComparison:
    """What is compared on one file.

    Attributes:
        name: Of the task in the configuration; "" where there is one file only.
        task: What is predicted.
        splits: Parts of the file.
        recipes: Models and budgets.
        seeds: Draw the initial weights.
        order_seed: Draws the order of batches.
        notes: What was chosen, a sentence each.
    """

    name: str
    task: Task
    splits: Splits
    recipes: list[Recipe]
    seeds: tuple[int, ...]
    order_seed: int
    notes: list[str]


def plan_comparisons(values: Mapping[str, Any], overrides: Sequence[str] = ()) -> list[OwnComparison]:
    """Plan a comparison for each task of a configuration.

    Raises:
        ConfigError: If the configuration is wrong.
        DataError: If a file is.
    """
    check_sections(values, OWN)
    about = _section(values, "compare")
    check_keys(WHERE, about, ["seeds", "order_seed"])
    seeds, order_seed = about.get("seeds", list(USUAL_SEEDS)), about.get("order_seed", 0)
    is_fine = isinstance(seeds, list) and seeds and all(isinstance(seed, int) for seed in seeds)
    if not is_fine or not isinstance(order_seed, int):
        raise ConfigError(complain(WHERE, "compare.seeds and order_seed", "whole numbers", f"{seeds}, {order_seed}"))
    recipes = _section(values, "recipes")
    if len(recipes) < 1:
        remedy = "Write [recipes.gru.model] and below it preset = 'gru'."
        raise ConfigError(complain(WHERE, "recipes", "at least one", "none", remedy))
    tasks = _section(values, "tasks") or {"": {}}
    common = {name: part for name, part in values.items() if name not in ("compare", "recipes", "tasks")}
    return [
        _plan(name, _laid_over(common, part), recipes, tuple(seeds), order_seed, overrides)
        for name, part in tasks.items()
    ]


def _plan(
    name: str,
    values: Mapping[str, Any],
    recipes: Mapping[str, Any],
    seeds: tuple[int, ...],
    order_seed: int,
    overrides: Sequence[str],
) -> OwnComparison:
    if "file" not in values:
        remedy = f"Write file = 'train.csv' above the sections{f', or in [tasks.{name}]' if name else ''}."
        raise ConfigError(complain(WHERE, "file", "given", "none", remedy))
    options = check_sections({key: part for key, part in values.items() if key not in FILES})
    options = with_overrides(options, overrides, sections())
    known = {recipe: _recipe_sections(recipe, part, options) for recipe, part in recipes.items()}
    first = next(iter(known.values()))["model"].get("preset")
    validation, test = values.get("validation"), values.get("test")
    plan = plan_training(values["file"], model=first, validation=validation, test=test, options=options)
    if plan.test is None:
        remedy = "Name a file with test = 'test.csv', or give the test part a share with split.fractions."
        raise ConfigError(complain(WHERE, "test part", "there to compare on", "none", remedy))
    made = []
    for recipe, part in known.items():
        given = {key: value for key, value in part["model"].items() if key != "preset"}
        model = usual_model(plan.task, plan.preparation, part["model"].get("preset"), given)
        training = usual_training(plan.task, model["preset"], len(plan.train), part["training"])
        complete = complete_options(model, plan.task, plan.train, plan.validation, plan.preparation)
        made.append(Recipe(recipe, complete, TrainConfig.from_mapping(training)))
    splits = Splits(plan.train.whole(), plan.validation.whole(), plan.test.whole())
    notes = [note for note in plan.notes if not note.startswith("model ")]
    return OwnComparison(name, plan.task, splits, made, seeds, order_seed, notes)


def _recipe_sections(name: str, part: Any, common: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give model and training of a recipe, over those that all share."""
    if not isinstance(part, Mapping):
        remedy = f"Write [recipes.{name}.model] above its options."
        raise ConfigError(complain(WHERE, f"recipes.{name}", "a section", repr(part), remedy))
    check_keys(f"{WHERE}: recipes.{name}", part, ["model", "training"])
    own = check_sections(part)
    shared = check_sections({key: common[key] for key in ("model", "training") if key in common})
    return {key: {**shared.get(key, {}), **own.get(key, {})} for key in ("model", "training")}


def _section(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = values.get(name, {})
    if not isinstance(part, Mapping):
        raise ConfigError(complain(WHERE, name, "a section", repr(part), f"Write [{name}] above its values."))
    return dict(part)


def _laid_over(common: Mapping[str, Any], part: Any) -> dict[str, Any]:
    """Lay the sections of one task over those that all share."""
    if not isinstance(part, Mapping):
        raise ConfigError(complain(WHERE, "tasks", "sections, as [tasks.vowels]", repr(part)))
    both = dict(common)
    for name, value in part.items():
        is_section = isinstance(value, Mapping) and isinstance(both.get(name), Mapping)
        both[name] = {**both[name], **value} if is_section else value
    return both
