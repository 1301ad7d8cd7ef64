"""Made-up results of `clew recall` in the schema that the report reads: 3 delays x 3 recipes x 3 seeds, one failed."""

import math
import random
import zlib
from typing import Any

import pytest

DELAYS, RECIPES, SEEDS = (8, 16, 32), ("rnn", "gru", "transformer"), (6206, 6207, 6208)
SPLITS = ("train", "validation", "test")
TEST_COUNT = 1024
FAILED = ("gru", 16, 6208)
REASON = "MemoryError: could not get 3 < 4 GiB & gave up at 'epoch 7'"
CORRECT = {
    ("rnn", 8): (1024, 1023, 1024),
    ("rnn", 16): (401, 455, 506),
    ("rnn", 32): (263, 251, 270),
    ("gru", 8): (1024, 1024, 1024),
    ("gru", 16): (1024, 476, 0),
    ("gru", 32): (329, 301, 360),
    ("transformer", 8): (1024, 1024, 1024),
    ("transformer", 16): (1024, 1024, 1024),
    ("transformer", 32): (1024, 1024, 1024),
}
PUBLISHED = {
    ("rnn", 8): (1.0, 0.0), ("rnn", 16): (0.44, 0.0511), ("rnn", 32): (0.257, 0.0128),
    ("gru", 8): (1.0, 0.0), ("gru", 16): (0.814, 0.322), ("gru", 32): (0.322, 0.0393),
    ("transformer", 8): (1.0, 0.0), ("transformer", 16): (1.0, 0.0), ("transformer", 32): (1.0, 0.0),
}  # fmt: skip
VERDICTS = {
    ("rnn", 16): "above chance on 3/3 seeds, solved 0/3",
    ("rnn", 32): "not distinguishable from chance",
    ("gru", 16): "solved 1/3, 1 above chance; 1 of 3 runs failed",
    ("gru", 32): "above chance on 3/3 seeds, solved 0/3",
}
PARAMETERS = {"rnn": 1943, "gru": 2023, "transformer": 1915}
REFERENCES = {
    "chance": ("a uniform guess among the four moves", 0.25, math.log(4)),
    "oracle": ("remembers the cue", 1.0, 0.0),
    "uniform_movement": ("gives each move probability 1/4 wherever a move stands", 0.25, math.log(4)),
    "constant": ("always answers the first move", 0.25, None),
    "most_common_move": ("answers the commonest move of the episode", 0.31, None),
}
INTERVENTIONS = {
    "swap_cue": "followed near 1 and accuracy near 0: the answer is the new cue",
    "blank_cue": "accuracy near 1/4: the cue is out of reach",
    "resample_distractors": "accuracy unmoved and followed near 1",
    "reset_state_before_step_{half}": "accuracy near 1/4: the cue is out of reach",
    "hide_cue": "accuracy near 1/4: the cue is out of reach",
    "run_at_delay_{half}": "no promise: the model was trained at delay {delay} only",
    "run_at_delay_{twice}": "no promise: the model was trained at delay {delay} only",
}


def fake_run_id(recipe: str, delay: int, seed: int) -> str:
    return f"{recipe}-d{delay}-s{seed}-{zlib.crc32(f'{recipe}{delay}{seed}'.encode()) % 16**6:06x}"


def fake_row(recipe: str, delay: int, seed: int) -> dict[str, Any]:
    row: dict[str, Any] = {"recipe": recipe, "delay": delay, "seed": seed, "run": fake_run_id(recipe, delay, seed)}
    names = ("test_accuracy", "test_correct", "test_interval", "test_cue_loss_nats", "test_all_loss_nats")
    names += ("validation_cue_loss_nats", "selected_epoch")
    counts = {"test_count": TEST_COUNT, "parameters": PARAMETERS[recipe], "tokens_seen": 4096 * 60 * (delay + 4)}
    counts |= {"state_size": 12 * delay if recipe == "transformer" else 32, "multiply_adds": 1800 * (delay + 4)}
    if (recipe, delay, seed) == FAILED:
        return row | {"status": "failed", "reason": REASON} | dict.fromkeys(names) | counts
    correct = CORRECT[recipe, delay][SEEDS.index(seed)]
    fraction = correct / TEST_COUNT
    reach = 1.96 * math.sqrt(fraction * (1 - fraction) / TEST_COUNT) + 0.002
    loss = 0.00213 + 1.39 * (1 - fraction)
    values = (
        fraction,
        correct,
        [max(fraction - reach, 0.0), min(fraction + reach, 1.0)],
        loss,
        (math.log(4) * delay + loss) / (delay + 4) + 0.0007,
    )
    selected = 7 + (seed * delay) % 50
    return (
        row
        | {"status": "finished", "reason": None}
        | dict(zip(names, (*values, loss * 0.97, selected), strict=True))
        | counts
    )


def fake_cell(recipe: str, delay: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    finished = [row for row in rows if row["status"] == "finished"]
    accuracies = [row["test_accuracy"] for row in finished]
    mean = sum(accuracies) / len(accuracies)
    spread = (
        math.sqrt(sum((a - mean) ** 2 for a in accuracies) / (len(accuracies) - 1)) if len(accuracies) > 1 else None
    )
    published = PUBLISHED.get((recipe, delay), (None, None))
    losses = {
        f"mean_{part}_loss_nats": sum(row[f"test_{part}_loss_nats"] for row in finished) / len(finished)
        for part in ("cue", "all")
    }
    solved = sum(accuracy >= 0.99 for accuracy in accuracies)
    return losses | {
        "recipe": recipe, "delay": delay, "runs": len(rows), "finished": len(finished), "mean_accuracy": mean,
        "sd_accuracy": spread, "solved": solved,
        "verdict": VERDICTS.get((recipe, delay), f"solved {solved}/{len(finished)}"),
        "published_accuracy": published[0], "published_sd": published[1], "parameters": rows[0]["parameters"],
        "state_size": rows[0]["state_size"], "multiply_adds": rows[0]["multiply_adds"],
        "tokens_seen": rows[0]["tokens_seen"], "seconds": 3.21 + delay / 10,
    }  # fmt: skip


def fake_interventions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for row in (row for row in rows if row["status"] == "finished"):
        numbers = {"half": row["delay"] // 2, "twice": 2 * row["delay"], "delay": row["delay"]}
        for place, (name, expected) in enumerate(INTERVENTIONS.items()):
            reason = None
            if name == "hide_cue" and row["recipe"] != "transformer":
                reason = "a recurrent model has no attention"
            if name.startswith("reset_state") and row["recipe"] == "transformer":
                reason = "attention carries no state"
            if name.endswith("{twice}") and row["recipe"] == "transformer" and row["delay"] == 32:
                reason = "delay 64 has 67 input steps, the position table 36 rows"
            accuracy = None if reason else round(row["test_accuracy"] * (0.25 if place in (0, 1, 3, 4) else 1.0), 4)
            followed = row["test_accuracy"] if place in (0, 2) and not reason else None
            records.append(
                {key: row[key] for key in ("recipe", "delay", "seed")}
                | {"intervention": name.format(**numbers), "applicable": reason is None, "reason": reason}
                | {"accuracy": accuracy, "followed": followed, "expected": expected.format(**numbers)}
            )
    return records


def fake_contrasts() -> list[dict[str, Any]]:
    pairs = [("rnn", "gru"), ("rnn", "transformer"), ("gru", "transformer")]
    return [fake_contrast(delay, *pair, number) for delay in DELAYS for number, pair in enumerate(pairs, start=1)]


def fake_contrast(delay: int, first: str, second: str, number: int) -> dict[str, Any]:
    record = {"delay": delay, "first": first, "second": second}
    if delay == 8:
        words = f"no difference shown between {first} and {second} (both solved on every seed)"
        numbers = {"difference": 0.0, "interval": [-0.0021, 0.0032], "p_episodes": 0.62, "p_seeds": 1.0}
        return record | numbers | {"label": "no difference shown", "words": words}
    size = -0.1234 * number
    words = f"{second} higher on every seed than {first} (p = 0.10 over seeds), for this task and split"
    numbers = {"difference": size, "interval": [size - 0.03, size + 0.03], "p_episodes": 0.0001, "p_seeds": 0.1}
    return record | numbers | {"label": "higher on every seed", "words": words}


def fake_protocol() -> dict[str, Any]:
    return {
        "task": "cue recall", "delays": list(DELAYS), "seeds": list(SEEDS), "recipes": list(RECIPES), "epochs": 60,
        "batch_size": 64, "learning_rate": 0.003, "clip_norm": 1.0,
        "selection": "the epoch with the lowest validation cue-recall cross-entropy",
        "episodes": {"train": 4096, "validation": 512, "test": TEST_COUNT}, "cue_position": "fixed", "device": "cpu",
        "torch": "2.13.0", "clew": "0.1.0", "threads": 1, "optimizer": "Adam",
        "disjointness": ["No episode occurs twice, neither within a split nor across splits."],
        "data": {str(delay): dict.fromkeys(SPLITS, f"{delay:08x}" * 8) for delay in DELAYS},
    }  # fmt: skip


def fake_results() -> dict[str, Any]:
    rows = [fake_row(recipe, delay, seed) for delay in DELAYS for recipe in RECIPES for seed in SEEDS]
    cells = [
        fake_cell(recipe, delay, [row for row in rows if (row["recipe"], row["delay"]) == (recipe, delay)])
        for delay in DELAYS
        for recipe in RECIPES
    ]
    references = [
        {"delay": delay, "name": name, "words": words, "accuracy": accuracy, "cue_loss_nats": loss,
         "all_loss_nats": (math.log(4) * delay + loss) / (delay + 4) if name[0] in "ou" else None}
        for delay in DELAYS
        for name, (words, accuracy, loss) in REFERENCES.items()
    ]  # fmt: skip
    finished = [row for row in rows if row["status"] == "finished"]
    timings = {
        "total_seconds": 118.4,
        "runs": {row["run"]: 2.5 + index / 8 for index, row in enumerate(finished)},
        "test_scored_at": {row["run"]: f"2025-03-01T12:{index:02d}:00Z" for index, row in enumerate(finished)},
    }
    return {
        "quick": False, "protocol": fake_protocol(), "rows": rows, "cells": cells, "references": references,
        "contrasts": fake_contrasts(), "interventions": fake_interventions(rows), "warnings": [], "timings": timings,
    }  # fmt: skip


def fake_curves(results: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {row["run"]: fake_curve(row) for row in results["rows"]}


def fake_curve(row: dict[str, Any]) -> list[dict[str, Any]]:
    noise = random.Random(row["run"].rpartition("-")[0])
    last = 7 if row["status"] == "failed" else 60
    final = row["test_cue_loss_nats"] if row["status"] == "finished" else 1.3
    turn, lines = noise.uniform(8, 25), []
    for epoch in range(1, last + 1):
        share = 1 / (1 + math.exp((epoch - turn) / 2.5))
        loss = share * math.log(4) + (1 - share) * final + noise.uniform(0, 0.02)
        signal = 10 ** (-1 - row["delay"] / 6 * (row["recipe"] == "rnn") + (1 - share) + noise.uniform(-0.2, 0.2))
        lines.append(
            {
                "epoch": epoch, "train_loss_nats": 1.2 + 0.3 * share, "clipped_fraction": 0.1,
                "validation": {"cue_loss_nats": loss, "cue_accuracy": 0.5, "all_loss_nats": 1.3, "move_accuracy": 0.25},
                "diagnose": {"cue_signal": signal, "shared_gradient_norm": noise.uniform(0.2, 0.9)},
                "tokens_seen": epoch * 4096 * 20,
            }
        )  # fmt: skip
    return lines


def fake_views(delay: int) -> dict[str, Any]:
    noise = random.Random(delay)
    moves = ["up", "down", "left", "right"]
    tokens = ["BOS", "up", *(noise.choice(moves) for _ in range(delay)), "RECALL", "up"]
    steps = len(tokens)
    heads = [[_attention_row(query, steps, head, noise) for query in range(steps)] for head in range(2)]
    gru = {
        name: [[_quantity(name, step, unit, noise) for unit in range(17)] for step in range(steps)]
        for name in ("reset_gate", "update_gate", "candidate", "state")
    }
    rnn = {
        name: [[_quantity(name, step, unit, noise) for unit in range(32)] for step in range(steps)]
        for name in ("preactivation", "state")
    }
    gates = [
        {"recipe": "rnn", "seed": 6206, "answer": "left", "quantities": rnn},
        {"recipe": "gru", "seed": 6206, "answer": "up", "quantities": gru},
    ]
    attention = {"recipe": "transformer", "seed": 6206, "answer": "up", "weights": heads}
    episode = {"delay": delay, "tokens": tokens, "query": delay + 2, "target": "up"}
    return episode | {"attention": attention, "gates": gates}


def _attention_row(query: int, steps: int, head: int, noise: random.Random) -> list[float]:
    raw = [noise.uniform(0.1, 1.0) + (25.0 if source == 1 and head == 0 else 0.0) for source in range(query + 1)]
    return [value / sum(raw) for value in raw] + [0.0] * (steps - query - 1)


def _quantity(name: str, step: int, unit: int, noise: random.Random) -> float:
    wave = math.sin(step / 3 + unit) + noise.uniform(-0.3, 0.3)
    return 1 / (1 + math.exp(-2 * wave)) if name.endswith("_gate") else math.tanh(wave) * (2 if "pre" in name else 1)


@pytest.fixture
def results() -> dict[str, Any]:
    return fake_results()


@pytest.fixture
def curves(results: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return fake_curves(results)


@pytest.fixture
def views() -> dict[str, Any]:
    return fake_views(8)


@pytest.fixture(scope="session")
def report_page() -> str:
    """The report of the made-up results with an episode of delay 16."""
    from clew.report.recall import recall_report

    results = fake_results()
    return recall_report(results, fake_curves(results), fake_views(16))


ODD_NAME = "<b>\"mine\"</b> & 'co' [bold]"


@pytest.fixture
def quick() -> dict[str, Any]:
    return fake_quick(fake_results())


@pytest.fixture(scope="session")
def quick_page() -> str:
    from clew.report.recall import recall_report

    results = fake_results()
    return recall_report(fake_quick(results), fake_curves(results), fake_views(4))


def fake_quick(results: dict[str, Any]) -> dict[str, Any]:
    """One seed of two recipes, one with a name that must be escaped, one run with losses that are no numbers."""
    rows = [dict(row) for row in results["rows"] if row["seed"] == 6206 and row["recipe"] in ("rnn", "gru")]
    cells = [dict(cell) for cell in results["cells"] if cell["recipe"] in ("rnn", "gru")]
    for record in (*rows, *cells):
        record["recipe"] = ODD_NAME if record["recipe"] == "gru" else "rnn"
    for cell in cells:
        own = [row for row in rows if (row["recipe"], row["delay"]) == (cell["recipe"], cell["delay"])]
        cell |= {"runs": 1, "finished": 1, "mean_accuracy": own[0]["test_accuracy"], "sd_accuracy": None}
        cell |= {"published_accuracy": None, "published_sd": None, "mean_all_loss_nats": None}
    rows[-1] |= {"test_cue_loss_nats": "NaN", "test_all_loss_nats": "Infinity", "validation_cue_loss_nats": None}
    protocol = results["protocol"] | {"seeds": [6206], "recipes": ["rnn", ODD_NAME], "epochs": 8}
    interventions = [record for record in results["interventions"] if record["recipe"] == "rnn"]
    warning = f"{ODD_NAME} beat the oracle at delay 8: the data leak <i>the cue</i>"
    return results | {
        "quick": True, "protocol": protocol, "rows": rows, "cells": cells, "contrasts": [], "warnings": [warning],
        "interventions": [record for record in interventions if record["seed"] == 6206],
    }  # fmt: skip
