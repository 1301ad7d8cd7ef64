"""The whole experiment at its smallest: what the results hold, and that they say what was run."""

import json

import pytest

from clew.data.recall_episodes import RecallSizes
from clew.files import dump_json
from clew.lab.recall import RecallConfig, run_recall

CONFIG = RecallConfig(
    delays=(4, 5),
    seeds=(1, 2),
    recipes=("gru", "lstm", "transformer"),
    epochs=2,
    sizes=RecallSizes(train=64, validation=16, test=32),
)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run_recall(CONFIG, tmp_path_factory.mktemp("recall") / "out", workers=0)


def test_every_recipe_delay_and_seed_is_a_row(outcome):
    rows = outcome.results["rows"]
    assert [(row["delay"], row["recipe"], row["seed"]) for row in rows] == [
        (delay, recipe, seed) for delay in (4, 5) for recipe in ("gru", "lstm", "transformer") for seed in (1, 2)
    ]
    assert all(row["tokens_seen"] == 2 * 64 * (row["delay"] + 4) for row in rows)


def test_chance_and_oracle_stand_beside_every_delay(outcome):
    for delay in (4, 5):
        named = {row["name"]: row for row in outcome.results["references"] if row["delay"] == delay}
        assert named["chance"]["accuracy"] == 0.25
        assert named["oracle"]["accuracy"] == 1.0
        assert named["constant"]["accuracy"] == 0.25
        assert {"uniform_movement", "most_common_move"} <= set(named)


def test_every_selected_model_is_intervened_on(outcome):
    done = {(record["recipe"], record["intervention"]) for record in outcome.results["interventions"]}
    for recipe in CONFIG.recipes:
        assert {(recipe, "swap_cue"), (recipe, "blank_cue"), (recipe, "hide_cue")} <= done
    refused = [record for record in outcome.results["interventions"] if not record["applicable"]]
    assert refused
    assert all(record["reason"] for record in refused)


def test_curves_hold_the_memory_signal_of_every_epoch(outcome):
    assert len(outcome.curves) == 12
    for lines in outcome.curves.values():
        assert [line["epoch"] for line in lines] == [1, 2]
        assert all({"cue_signal", "shared_gradient_norm"} == set(line["diagnose"]) for line in lines)


def test_the_view_shows_gates_and_attention_of_one_episode(outcome):
    assert outcome.view["delay"] == 5
    assert {gates["recipe"] for gates in outcome.view["gates"]} == {"gru", "lstm"}
    weights = outcome.view["attention"]["weights"]
    assert len(weights) == 2
    assert len(weights[0]) == len(outcome.view["tokens"]) == 9


def test_results_are_strict_json_and_stand_on_disk(outcome):
    text = dump_json(outcome.results)
    assert json.loads(text)["protocol"]["seeds"] == [1, 2]
    assert "NaN" not in text


def test_a_second_call_runs_nothing_and_gives_the_same_rows(tmp_path):
    small = RecallConfig(delays=(4,), seeds=(1,), recipes=("gru",), epochs=1, sizes=RecallSizes(32, 8, 8))
    first = run_recall(small, tmp_path / "out", workers=0)
    again = run_recall(small, tmp_path / "out", workers=0)
    assert again.results["rows"] == first.results["rows"]
    assert again.results["timings"]["test_scored_at"] == first.results["timings"]["test_scored_at"]
