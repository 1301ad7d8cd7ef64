"""What the report shows beyond the results: learning curves of every run, and one test episode seen from inside."""

from collections.abc import Sequence
from typing import Any

from clew.lab.recall.episode_view import view_episode
from clew.lab.results import RunResult
from clew.lab.splits import Splits
from clew.models.saving import build_from_config
from clew.tasks import CueRecall
from clew.training import load_weights


def gather_curves(results: Sequence[RunResult]) -> dict[str, list[dict[str, Any]]]:
    """The lines of each run's `metrics.jsonl`, by run identity; those of a failed run as far as it came."""
    return {result.identity: result.folder.metrics() for result in results}


def gather_view(results: Sequence[RunResult], splits: Splits, task: CueRecall) -> dict[str, Any]:
    """Look inside the first finished run of each recipe of one delay, on the first test episode.

    Returns:
        Plain values: `delay`, `tokens`, `query`, `target`, `attention` (recipe, seed, answer, weights (heads, query,
        source); None without a Transformer) and `gates` (a list of recipe, seed, answer, quantities name -> (time,
        hidden)). Only `delay` if no run is finished.
    """
    view: dict[str, Any] = {"delay": task.delay, "tokens": [], "attention": None, "gates": []}
    seen = set()
    for result in results:
        if result.test is None or result.plan.recipe.name in seen:
            continue
        seen.add(result.plan.recipe.name)
        model = build_from_config(result.plan.config()["model"])
        load_weights(model, result.folder.best)
        episode = view_episode(model, task, splits.test.open_after(result.folder.best))
        view |= {name: episode[name] for name in ("tokens", "query", "target")}
        named = {"recipe": result.plan.recipe.name, "seed": result.plan.seed, "answer": episode["answer"]}
        if "attention" in episode:
            view["attention"] = named | {"weights": episode["attention"]}
        else:
            view["gates"].append(named | {"quantities": episode["quantities"]})
    return view
