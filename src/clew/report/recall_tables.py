"""The tables of the recall report: results, every run, losses, costs, reference predictors, contrasts, run folders.

Each function takes the results of `clew recall` and gives a `Table`; a failed run is a row that says why. Interventions
have a file of their own. Start with `accuracy_table`.
"""

from collections.abc import Sequence

from clew.rendering.numbers import (
    NOT_COMPUTED,
    finite,
    format_count,
    format_fraction,
    format_interval,
    format_number,
    format_probability,
    format_seconds,
    format_signed,
    format_spread,
)
from clew.rendering.tables import Cell, Column, Group, Row, Table
from clew.report.recall_words import (
    PUBLISHED_NOTE,
    QUICK_NOTE,
    Json,
    at_delay,
    delays_of,
    recipe_name,
    time_words,
)

_SEPARATOR = " · "


def accuracy_table(results: Json) -> Table:
    """Show accuracy at the scored query by delay and recipe: every seed, mean, spread, verdict, chance and oracle."""
    seeds = ", ".join(str(seed) for seed in results["protocol"]["seeds"])
    published = any(cell["published_accuracy"] is not None for cell in results["cells"])
    columns = [
        Column("Recipe", "left"),
        Column("Mean ± sd", note="sample standard deviation over seeds; none for one seed"),
        Column("Solved", note="seeds with an accuracy of at least 0.99; a failed run counts as not solved"),
        Column("Each seed", "left", f"seeds {seeds}, in this order"),
        Column("Verdict", "left", wraps=True),
        Column("Published mean"),
    ]
    note = PUBLISHED_NOTE.format(batch_size=results["protocol"].get("batch_size", "not recorded"))
    notes = [f"{note} {QUICK_NOTE}" if results["quick"] else note] if published else []
    groups = [
        Group(
            [*(_accuracy_row(cell, results) for cell in at_delay(results["cells"], delay)), *_bounds(results, delay)],
            f"Delay {delay}",
        )
        for delay in delays_of(results["cells"])
    ]
    caption = "Test accuracy of the move after RECALL (fraction of episodes)"
    return Table(caption, columns, groups, notes)


def _accuracy_row(cell: Json, results: Json) -> Row:
    published = cell["published_accuracy"]
    return [
        recipe_name(cell["recipe"]),
        Cell((format_spread(cell["mean_accuracy"], cell["sd_accuracy"], cell["finished"]),), "strong"),
        f"{cell['solved']}/{cell['runs']}",
        seed_list([accuracy_words(row) for row in runs_of(results, cell)]),
        cell["verdict"],
        "" if published is None else format_spread(published, cell["published_sd"], 2),
    ]


def _bounds(results: Json, delay: int) -> list[Row]:
    references = {reference["name"]: reference for reference in at_delay(results["references"], delay)}
    return [
        [_muted(name.capitalize()), _muted(format_fraction(item["accuracy"])), "", "", _muted(item["words"]), ""]
        for name, item in ((name, references[name]) for name in ("chance", "oracle") if name in references)
    ]


def _muted(words: str) -> Cell:
    return Cell((words,), "muted")


def runs_of(results: Json, cell: Json) -> list[Json]:
    """Keep the runs of one recipe at one delay, in the order of the seeds."""
    rows = [row for row in at_delay(results["rows"], cell["delay"]) if row["recipe"] == cell["recipe"]]
    return sorted(rows, key=lambda row: row["seed"])


def accuracy_words(row: Json) -> str:
    """Write a run's test accuracy, or that it failed."""
    return format_fraction(row["test_accuracy"]) if row["status"] == "finished" else "failed"


def seed_list(words: Sequence[str]) -> str:
    """Write what each seed gave, in order."""
    return _SEPARATOR.join(words)


def runs_table(results: Json) -> Table:
    """Show every run: accuracy with its interval, losses and the selected epoch, or the reason of a failure."""
    columns = [
        Column("Recipe, seed", "left"),
        Column("Accuracy"),
        Column("Correct"),
        Column("Interval", "left", "95 %, Wilson, for the proportion of test episodes of this one trained model"),
        Column("Cue loss (nats)", note="at the query after RECALL"),
        Column("Validation cue loss (nats)", note="at the selected epoch; what selection minimizes"),
        Column("All-token loss (nats)"),
        Column("Selected epoch"),
    ]
    rows = results["rows"]
    groups = [
        Group([_run_row(row, len(columns)) for row in at_delay(rows, delay)], f"Delay {delay}")
        for delay in delays_of(rows)
    ]
    return Table("Every run on the sealed test episodes", columns, groups)


def _run_row(row: Json, columns: int) -> Row:
    name = f"{recipe_name(row['recipe'])}, {row['seed']}"
    if row["status"] != "finished":
        return [name, Cell((f"{row['status']}: {row['reason'] or 'no reason kept'}",), "bad", columns - 1)]
    return [
        name,
        format_fraction(row["test_accuracy"]),
        f"{format_count(row['test_correct'])} / {format_count(row['test_count'])}",
        format_interval(row["test_interval"]),
        format_number(row["test_cue_loss_nats"]),
        format_number(row["validation_cue_loss_nats"]),
        format_number(row["test_all_loss_nats"]),
        format_count(row["selected_epoch"]),
    ]


def loss_table(results: Json) -> Table:
    """Show the loss of the one query that needs memory beside the loss of all tokens, each with what it can reach."""
    columns = [
        Column("Recipe", "left"),
        Column("Cue loss (nats)", note="mean over seeds, at the query after RECALL"),
        Column("All-token loss (nats)", note="mean over seeds and all next-token targets; what training minimizes"),
        Column("Above its floor (nats)", note="all-token loss minus the oracle's, which is the floor"),
    ]
    groups = [Group(_loss_rows(results, delay), f"Delay {delay}") for delay in delays_of(results["cells"])]
    return Table("How the average hides memory: test loss of the cue and of all tokens", columns, groups)


def _floor(results: Json, delay: int) -> float | None:
    oracle = [item for item in at_delay(results["references"], delay) if item["name"] == "oracle"]
    return oracle[0]["all_loss_nats"] if oracle else None


def _loss_rows(results: Json, delay: int) -> list[Row]:
    floor = _floor(results, delay)
    return [*(_loss_row(cell, floor) for cell in at_delay(results["cells"], delay)), *_loss_bounds(results, delay)]


def _loss_row(cell: Json, floor: float | None) -> Row:
    loss = cell["mean_all_loss_nats"]
    above = loss - floor if finite(loss) is not None and floor is not None else None
    return [
        recipe_name(cell["recipe"]),
        format_number(cell["mean_cue_loss_nats"]),
        format_number(loss, 4),
        NOT_COMPUTED if above is None else format_signed(above),
    ]


def _loss_bounds(results: Json, delay: int) -> list[Row]:
    return [
        [
            _muted("Oracle (the floor)" if item["name"] == "oracle" else "Uniform guess"),
            _muted(_or_dash(item["cue_loss_nats"], 3)),
            _muted(_or_dash(item["all_loss_nats"], 4)),
            "",
        ]
        for item in at_delay(results["references"], delay)
        if item["name"] in ("oracle", "uniform_movement")
    ]


def _or_dash(value: float | None, digits: int) -> str:
    return "–" if value is None else format_number(value, digits)


def cost_table(results: Json) -> Table:
    """Show what each recipe costs: parameters, state, work, tokens and time."""
    columns = [
        Column("Recipe", "left"),
        Column("Parameters"),
        Column("State size", note="numbers kept for one sequence to go on after its last step"),
        Column("Multiply-adds an episode", note="one episode, forward"),
        Column("Tokens seen", note="by one run in training"),
        Column("Time", note="of all seeds together, other runs at work beside them"),
    ]
    groups = [
        Group([_cost_row(cell) for cell in at_delay(results["cells"], delay)], f"Delay {delay}")
        for delay in delays_of(results["cells"])
    ]
    return Table("What each recipe costs", columns, groups)


def _cost_row(cell: Json) -> Row:
    counts = (cell[key] for key in ("parameters", "state_size", "multiply_adds", "tokens_seen"))
    seconds = cell["seconds"]
    return [
        recipe_name(cell["recipe"]),
        *map(format_count, counts),
        NOT_COMPUTED if seconds is None else format_seconds(float(seconds)),
    ]


def references_table(results: Json) -> Table:
    """Show what predictors without any training reach."""
    columns = [
        Column("Predictor", "left"),
        Column("What it does", "left", wraps=True),
        Column("Accuracy"),
        Column("Cue loss (nats)", note="– where the predictor gives no probabilities"),
        Column("All-token loss (nats)"),
    ]
    groups = [
        Group([_reference_row(item) for item in at_delay(results["references"], delay)], f"Delay {delay}")
        for delay in delays_of(results["references"])
    ]
    return Table("Reference predictors on the same test episodes", columns, groups)


def _reference_row(item: Json) -> Row:
    return [
        item["name"].replace("_", " ").capitalize(),
        item["words"],
        format_fraction(item["accuracy"]),
        _or_dash(item["cue_loss_nats"], 3),
        _or_dash(item["all_loss_nats"], 4),
    ]


def contrast_table(results: Json) -> Table:
    """Show each difference between two recipes in numbers."""
    columns = [
        Column("Recipes", "left"),
        Column("Difference", note="of the mean accuracies"),
        Column("Interval", "left", "95 %, bootstrap over test episodes, which are paired between the recipes"),
        Column("p, episodes", note="sign-flip test over test episodes: about these trained models"),
        Column("p, seeds", note="permutation test over seeds, which are not paired: about the recipes"),
        Column("Verdict", "left"),
    ]
    contrasts = results["contrasts"]
    groups = [
        Group([_contrast_row(item) for item in at_delay(contrasts, delay)], f"Delay {delay}")
        for delay in delays_of(contrasts)
    ]
    return Table("Differences in test accuracy", columns, groups)


def _contrast_row(item: Json) -> Row:
    """Count from the lower to the higher, so that the verdict is about the recipe that is named first."""
    first, second, difference, interval = item["first"], item["second"], item["difference"], item["interval"]
    if difference is not None and difference < 0:
        first, second, difference, interval = second, first, -difference, [-interval[1], -interval[0]]
    return [
        f"{recipe_name(first)} minus {recipe_name(second)}",
        format_signed(difference),
        format_interval(interval, format_signed),
        format_probability(item["p_episodes"]),
        format_probability(item["p_seeds"]),
        item["label"],
    ]


def folders_table(results: Json) -> Table:
    """Show where each run lies, how long it took and when its test was scored."""
    timings = results["timings"]
    columns = [Column("Run", "left"), Column("Recipe, delay, seed", "left"), Column("Seconds"), Column("Test scored")]
    rows = [_folder_row(row, timings) for row in results["rows"]]
    return Table("Run folders", columns, [Group(rows)])


def _folder_row(row: Json, timings: Json) -> Row:
    seconds = timings.get("runs", {}).get(row["run"])
    return [
        row["run"] or "none",
        f"{recipe_name(row['recipe'])}, {row['delay']}, {row['seed']}",
        NOT_COMPUTED if seconds is None else format_seconds(float(seconds)),
        time_words(timings.get("test_scored_at", {}).get(row["run"]) or "never"),
    ]
