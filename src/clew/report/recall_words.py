"""What the recall report says in sentences: the answer, the warnings, the protocol and the limits.

Every sentence is put together from the results: verdicts are quoted from the cells, which a tested rule of `clew.lab`
wrote, and nothing is claimed beyond them. Start with `answer`.
"""

from collections.abc import Sequence
from datetime import datetime
from math import comb
from typing import Any

from clew.rendering.numbers import Value, format_count, format_number, join_words

# Parsed JSON, whose values are of any JSON type; the schema is the one that `clew.lab` writes.
Json = dict[str, Any]

_RECIPE_NAMES = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM", "transformer": "Transformer"}
SCOPE = (
    "These words hold for this task, these episodes, this training budget and this selection rule; "
    "they rank nothing beyond them."
)
PUBLISHED_NOTE = (
    "Published mean: accuracy over three seeds as published for this experiment. The text does not state its batch "
    "size; here it is {batch_size}. For that reason, and because a seed draws other weights here, the uncertain cells "
    "in the middle differ: those in which some seeds find the cue and others do not."
)
QUICK_NOTE = "This quick run had less training on fewer episodes, and is not to be compared with it."


def recipe_name(recipe: str) -> str:
    """Write a recipe's name as readers know it; other names stay as they are."""
    return _RECIPE_NAMES.get(recipe, recipe)


def delays_of(records: Sequence[Json]) -> list[int]:
    """List the delays that occur, in ascending order."""
    return sorted({record["delay"] for record in records})


def at_delay(records: Sequence[Json], delay: int) -> list[Json]:
    """Keep the records of one delay, in their order."""
    return [record for record in records if record["delay"] == delay]


def failed_rows(results: Json) -> list[Json]:
    """Keep the runs that did not finish."""
    return [row for row in results["rows"] if row["status"] != "finished"]


def answer(results: Json) -> list[str]:
    """Answer the experiment's question in sentences: the verdicts by delay, and how far they reach."""
    question = "Which recipes give back a cue after d random moves?"
    sentences = [answer_at(delay, at_delay(results["cells"], delay)) for delay in delays_of(results["cells"])]
    return [" ".join([question, *sentences]), SCOPE]


def answer_at(delay: int, cells: Sequence[Json]) -> str:
    """Quote the verdicts at one delay, recipes of equal verdict together."""
    by_verdict: dict[str, list[str]] = {}
    for cell in cells:
        by_verdict.setdefault(cell["verdict"], []).append(recipe_name(cell["recipe"]))
    verdicts = [f"{join_words(names)} {words}." for words, names in by_verdict.items()]
    return f"At delay {delay}: {' '.join(verdicts)}"


def quick_words(results: Json) -> str:
    """Say what a quick run is too small for."""
    protocol = results["protocol"]
    episodes = protocol.get("episodes", {}).get("train")
    return (
        f"Too small to conclude from. This is a quick look: {_counted(len(protocol['seeds']), 'seed')}, "
        f"{_counted(protocol['epochs'], 'epoch')}, {format_count(episodes)} training episodes."
    )


def _counted(number: int, noun: str) -> str:
    return f"{format_count(number)} {noun}" + ("" if number == 1 else "s")


def warnings_of(results: Json) -> list[str]:
    """List what a reader must know before any number: the warnings of the protocol, then each failed run."""
    return [*results["warnings"], *map(_failure_words, failed_rows(results))]


def _failure_words(row: Json) -> str:
    place = f"{recipe_name(row['recipe'])}, delay {row['delay']}, seed {row['seed']}"
    return f"{place} failed: {row['reason'] or 'no reason kept'}"


def warnings_title(results: Json) -> str:
    """Head the list of warnings."""
    failed, runs = len(failed_rows(results)), len(results["rows"])
    if not failed:
        return "Read these first."
    if failed == runs:
        return "No run finished; there are no results."
    return f"{failed} of {runs} runs failed; the numbers are of the others."


def protocol_pairs(results: Json) -> list[tuple[str, str]]:
    """Describe the protocol as terms and words; what the results do not record is named as such."""
    protocol = results["protocol"]
    episodes = protocol.get("episodes", {})
    split = ", ".join(f"{format_count(episodes.get(name))} {name}" for name in ("train", "validation", "test"))
    return [
        ("Task", f"{_known(protocol, 'task')}, cue position {_known(protocol, 'cue_position')}"),
        ("Delays", join_words([str(delay) for delay in protocol["delays"]]) + ", each trained separately"),
        ("Recipes", join_words([recipe_name(recipe) for recipe in protocol["recipes"]])),
        ("Initialization seeds", join_words([str(seed) for seed in protocol["seeds"]]) + ", all of them shown"),
        ("Episodes a delay", f"{split}; from separate generators"),
        *[("Disjoint splits", words) for words in protocol.get("disjointness", [])],
        *[(f"Data at delay {delay}", _fingerprints(parts)) for delay, parts in protocol.get("data", {}).items()],
        ("Training", _training_words(protocol)),
        ("Selection rule", _known(protocol, "selection")),
        ("Sealed test", sealed_words(results)),
        ("Machine", f"device {_known(protocol, 'device')}, threads a run: {_known(protocol, 'threads')}"),
        ("Software", f"clew {_known(protocol, 'clew')}, torch {_known(protocol, 'torch')}"),
    ]


def _training_words(protocol: Json) -> str:
    return (
        f"{_known(protocol, 'epochs')} epochs, batches of {_known(protocol, 'batch_size')}, "
        f"{protocol.get('optimizer') or 'Adam'} at {_plain(protocol, 'learning_rate')}, "
        f"global gradient norm clipped at {_plain(protocol, 'clip_norm')}; "
        "loss: mean next-token cross-entropy over all positions"
    )


def _fingerprints(parts: Json) -> str:
    return "SHA-256 " + ", ".join(f"{name} {digest[:12]}" for name, digest in parts.items())


def _known(protocol: Json, key: str) -> str:
    value = protocol.get(key)
    return "not recorded" if value is None else str(value)


def _plain(protocol: Json, key: str) -> str:
    value: Value = protocol.get(key)
    return "not recorded" if value is None else f"{value:g}" if isinstance(value, float) else format_number(value)


def sealed_words(results: Json) -> str:
    """Say when the test episodes were scored."""
    scored = sorted(results["timings"].get("test_scored_at", {}).values())
    if not scored:
        return "not scored: no run finished"
    first, last = time_words(scored[0]), time_words(scored[-1])
    when = f"at {first}" if len(scored) == 1 else f"between {first} and {last}"
    return f"training and selection cannot read it; scored once for each run, after its selection, {when}"


def time_words(moment: str) -> str:
    """Write an ISO time to the second; what is no ISO time stays as it is.

    >>> time_words("2025-03-01T12:00:07.123+00:00")
    '2025-03-01 12:00:07 UTC'
    """
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{parsed:%Y-%m-%d %H:%M:%S} {parsed.tzname() or ''}".rstrip()


EQUAL = (
    "Equal for all recipes: the episodes and their order in training, epochs, batch size, optimizer, learning rate, "
    "clipping, the selection rule and the test episodes.",
    "Not equal: the work an episode takes, the size of the state and, to a few per cent, the number of parameters "
    "(see the costs above). A seed draws other weights for each architecture, so seeds are not paired; "
    "test episodes are.",
)


def limits(results: Json) -> list[str]:
    """List what the results do not show."""
    protocol = results["protocol"]
    seeds, recipes = len(protocol["seeds"]), len(protocol["recipes"])
    items = [
        "The spread is over initializations on one fixed set of episodes. It is not a confidence interval, "
        "and says nothing about other sets of episodes.",
        "An interval of a test proportion belongs to one trained model. It does not cover another initialization.",
        "Each delay is trained on its own. Nothing here shows that a model carries over to delays it was not "
        "trained on, except where an intervention tries it.",
        "One learning rate, one budget and one size were used for every recipe. "
        "With tuning, more training or other sizes the order may change.",
        "A recipe that fails here was not trained to remember by this budget; it is not shown to be unable to.",
        "Attention weights and gates show what was computed on one episode. The interventions say what a model uses.",
    ]
    if protocol.get("cue_position") == "fixed":
        items.insert(3, "The cue always stands at the same position, so attention can learn to read that position.")
    if recipes > 1 and seeds > 1:
        items.insert(2, _seed_floor(seeds))
    if seeds == 1:
        items.insert(0, "One seed: there is no spread over initializations at all.")
    return items


def _seed_floor(seeds: int) -> str:
    least = 2 / comb(2 * seeds, seeds)
    return (
        f"With {seeds} seeds a recipe, a two-sided permutation test over seeds cannot go below "
        f"p = {format_number(least, 2)}, however large the difference."
    )
