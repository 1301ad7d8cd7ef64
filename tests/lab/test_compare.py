"""The protocol: exact resume, nothing run twice, failures as rows, faults as one line, no orphans."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from clew.data.batch import Batch
from clew.data.recall_episodes import sample_recall_splits
from clew.errors import ConfigError, RunError
from clew.lab import Recipe, SilentProgress, Splits, compare
from clew.lab import comparison as comparison_room
from clew.lab import jobs as jobs_room
from clew.lab.plan import plan_runs
from clew.runs import RunFolder, lock_folder
from clew.runs import keeping as keeping_room
from clew.tasks import CueRecall, NextToken
from clew.training import TrainConfig

TRAINING = TrainConfig(epochs=4, batch_size=32)
MODELS = {
    "gru": {"preset": "gru", "vocab": 7, "outputs": 7, "hidden": 6, "embedding": 4},
    "transformer": {"preset": "transformer", "vocab": 7, "outputs": 7, "hidden": 8, "heads": 2, "causal": True},
}
RECIPES = [Recipe(name, model, TRAINING) for name, model in MODELS.items()]
TASK = CueRecall(4)


def splits(train_seed: int = 1) -> Splits:
    return Splits(*sample_recall_splits(4, (128, 32, 64), seeds=(train_seed, 2, 3)))


def run(out: Path, **changes):
    arguments = {"seeds": [1, 2], "out": out, "workers": 0} | changes
    return compare(arguments.pop("recipes", RECIPES), TASK, arguments.pop("splits", splits()), **arguments)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    return run(out), out


def test_rows_hold_every_seed_and_no_clock(undisturbed):
    comparison, _ = undisturbed
    assert [(row["recipe"], row["seed"]) for row in comparison.rows] == [
        ("gru", 1), ("gru", 2), ("transformer", 1), ("transformer", 2),
    ]  # fmt: skip
    for row in comparison.rows:
        assert row["status"] == "finished"
        assert row["test_count"] == 64
        assert row["test_accuracy"] == row["test_correct"] / 64
        assert row["test_interval"][0] <= row["test_accuracy"] <= row["test_interval"][1]
        assert 1 <= row["selected_epoch"] <= 4
        assert row["tokens_seen"] == 4 * 128 * 8
        assert not any("second" in name or "time" in name for name in row)


def test_cells_and_contrasts_follow_from_the_rows(undisturbed):
    comparison, _ = undisturbed
    for cell in comparison.cells:
        accuracies = [row["test_accuracy"] for row in comparison.rows if row["recipe"] == cell["recipe"]]
        assert cell["mean_accuracy"] == pytest.approx(sum(accuracies) / 2)
        assert cell["runs"] == cell["finished"] == 2
        assert cell["verdict"]
    assert [(contrast["first"], contrast["second"]) for contrast in comparison.contrasts] == [("gru", "transformer")]
    assert {reference["name"] for reference in comparison.references} >= {"chance", "oracle", "most_common_move"}


def test_selection_is_the_lowest_validation_loss(undisturbed):
    comparison, out = undisturbed
    for row in comparison.rows:
        losses = [line["validation"]["cue_loss_nats"] for line in RunFolder(out / "runs" / row["run"]).metrics()]
        assert row["selected_epoch"] == losses.index(min(losses)) + 1
        assert row["validation_cue_loss_nats"] == min(losses)


def test_worker_processes_give_the_bits_of_this_process(undisturbed, tmp_path):
    comparison, _ = undisturbed
    assert run(tmp_path / "out", workers=2).rows == comparison.rows


def test_a_finished_run_is_not_run_again(undisturbed, monkeypatch):
    comparison, out = undisturbed
    monkeypatch.setattr(keeping_room, "train_epoch", lambda *_: pytest.fail("trained again"))
    again = run(out)
    assert again.rows == comparison.rows
    assert again.timings == comparison.timings


class StopAfter(SilentProgress):
    """Interrupts, as Ctrl-C does, after a number of epochs."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def epoch(self, run_label, epoch, epochs, train_loss, validation, seconds) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stop_after", "checkpoint_seconds"),
    [
        (4, 0.0),
        (7, 60.0),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((1, 0.0), (1, 60.0), (4, 60.0), (7, 0.0))),
    ],
)
def test_an_interrupted_comparison_ends_in_the_same_bits(
    undisturbed, tmp_path, monkeypatch, stop_after, checkpoint_seconds
):
    comparison, finished = undisturbed
    monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", checkpoint_seconds)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out", progress=StopAfter(stop_after))
    assert run(tmp_path / "out").rows == comparison.rows
    for row in comparison.rows:
        here, there = RunFolder(tmp_path / "out/runs" / row["run"]), RunFolder(finished / "runs" / row["run"])
        assert here.metrics() == there.metrics()
        assert here.best.read_bytes() == there.best.read_bytes()
        assert here.last.read_bytes() == there.last.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"recipes": [Recipe("gru", MODELS["gru"], TrainConfig(epochs=5, batch_size=32))], "seeds": [1]},
        {"recipes": [Recipe("gru", MODELS["gru"] | {"hidden": 7}, TRAINING)], "seeds": [1]},
        {"recipes": [Recipe("gru", MODELS["gru"], TRAINING)], "seeds": [3]},
        {"recipes": [Recipe("gru", MODELS["gru"], TRAINING)], "seeds": [1], "splits": splits(train_seed=9)},
        {"recipes": [Recipe("gru", MODELS["gru"], TRAINING)], "seeds": [1], "order_seed": 4},
    ],
)
def test_anything_that_can_change_a_result_makes_another_run(change):
    base = plan_runs([Recipe("gru", MODELS["gru"], TRAINING)], TASK, splits(), [1])[0]
    order_seed = change.get("order_seed", 0)
    other = plan_runs(change["recipes"], TASK, change.get("splits", splits()), change["seeds"], order_seed)[0]
    assert base.identity != other.identity
    assert base.identity == plan_runs([Recipe("gru", MODELS["gru"], TRAINING)], TASK, splits(), [1])[0].identity


def test_changed_package_sources_make_another_run(monkeypatch):
    base = plan_runs(RECIPES, TASK, splits(), [1])[0].identity
    monkeypatch.setattr("clew.lab.plan.source_fingerprint", lambda: "another version")
    assert plan_runs(RECIPES, TASK, splits(), [1])[0].identity != base


@pytest.mark.parametrize("workers", [0, 1])
def test_a_failed_run_is_a_row_with_its_reason(tmp_path, workers):
    broken = Recipe("broken", MODELS["gru"], TrainConfig(epochs=2, batch_size=32, learning_rate=1e30, clip_norm=None))
    comparison = run(tmp_path / "out", recipes=[broken, RECIPES[0]], workers=workers, seeds=[1])
    assert [row["status"] for row in comparison.rows] == ["failed", "finished"]
    assert comparison.rows[0]["reason"].startswith("training: loss and gradient must be finite")
    assert comparison.rows[0]["test_accuracy"] is None
    assert comparison.warnings[0].startswith("broken, delay 4, seed 1: failed. training: loss")
    assert comparison.cells[0]["verdict"] == "no finished run; 1 of 1 run failed"


def test_training_is_never_given_the_test(tmp_path, monkeypatch):
    opened = []
    original = jobs_room.train_run

    def watched(plan, root, train, validation, on_epoch):
        opened.extend([train.fingerprint(), validation.fingerprint()])
        original(plan, root, train, validation, on_epoch)

    monkeypatch.setattr("clew.lab.pool.train_run", watched)
    parts = splits()
    run(tmp_path / "out", recipes=RECIPES[:1], seeds=[1], splits=parts)
    assert parts.test.fingerprint() not in opened


def test_a_test_is_scored_once(undisturbed):
    comparison, out = undisturbed
    folder = RunFolder(out / "runs" / comparison.rows[0]["run"])
    with pytest.raises(RunError, match="test must be scored once, got a second score"):
        folder.write_test({})


def test_scoring_before_training_has_ended_is_refused(tmp_path):
    plan = plan_runs(RECIPES[:1], TASK, splits(), [1])[0]
    RunFolder(tmp_path / plan.identity).begin(plan.config())
    with pytest.raises(RunError, match="training must be at its end before the test is scored"):
        jobs_room.score_run(plan, tmp_path, splits().train)


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"output folder must be empty or that of a comparison, got .*thesis\.txt"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(RunError, match="output must be a folder, got a file"):
        run(tmp_path / "thesis.txt")


def test_a_kill_while_the_folder_is_made_leaves_one_that_can_be_used(tmp_path, monkeypatch):
    def killed(path: Path, content: str) -> None:
        (path.parent / f".{path.name}.abc.part").write_text(content[:5])
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison_room, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        comparison_room.open_comparison_folder(tmp_path / "out")
    monkeypatch.undo()
    assert comparison_room.open_comparison_folder(tmp_path / "out") == tmp_path / "out"
    assert (tmp_path / "out/runs").is_dir()


def test_two_comparisons_do_not_write_into_one_folder(undisturbed):
    _, out = undisturbed
    with lock_folder(out, 0.0), pytest.raises(RunError, match="got one that another process is writing"):
        run(out)


def test_a_truncated_checkpoint_fails_its_run_and_keeps_the_others(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out", progress=StopAfter(5))
    plans = plan_runs(RECIPES, TASK, splits(), [1, 2])
    second = RunFolder(tmp_path / "out/runs" / plans[1].identity)
    second.last.write_bytes(b"\x10\x00")
    comparison = run(tmp_path / "out")
    assert [row["status"] for row in comparison.rows] == ["finished", "failed", "finished", "finished"]
    assert "Delete the folder" in comparison.rows[1]["reason"]


def test_a_full_disk_is_one_line_and_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    import errno

    real = os.fsync

    def full(handle: int) -> None:
        if "last.safetensors" in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    with pytest.raises(KeyboardInterrupt):
        monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", 0.0)
        run(tmp_path / "out", recipes=RECIPES[:1], seeds=[1], progress=StopAfter(2))
    last = next((tmp_path / "out/runs").glob("*/last.safetensors"))
    before = last.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    row = run(tmp_path / "out", recipes=RECIPES[:1], seeds=[1]).rows[0]
    assert row["status"] == "failed"
    assert "disk must be able to take the file, got a full disk. Free some space" in row["reason"]
    assert last.read_bytes() == before
    assert not list(last.parent.glob("*.part"))


def test_recipes_may_be_plain_values_and_unknown_keys_are_refused(tmp_path):
    plain = {"name": "gru", "model": MODELS["gru"], "training": TRAINING.to_mapping()}
    assert run(tmp_path / "out", recipes=[plain], seeds=[1]).rows[0]["status"] == "finished"
    with pytest.raises(ConfigError, match=r"unknown key 'modell'\. Did you mean 'model'\?"):
        run(tmp_path / "other", recipes=[{"name": "gru", "modell": {}}], seeds=[1])


def test_missing_and_double_names_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="compare: seeds must be at least one, got none"):
        run(tmp_path / "out", seeds=[])
    with pytest.raises(ConfigError, match="compare: recipes must be all different"):
        run(tmp_path / "out", recipes=[RECIPES[0], RECIPES[0]])


def test_a_task_without_a_query_is_compared_by_its_metrics(tmp_path):
    tokens = torch.randint(0, 5, (60, 6), generator=torch.Generator().manual_seed(0))
    recipe = Recipe("gru", {"preset": "gru", "vocab": 5, "outputs": 5, "hidden": 4}, TrainConfig(epochs=1))
    parts = Splits(Batch(tokens[:30]), Batch(tokens[30:40]), Batch(tokens[40:]))
    comparison = compare([recipe], NextToken(5), parts, seeds=[1], out=tmp_path / "out", workers=0)
    assert comparison.rows[0]["test_loss_nats"] > 0
    assert comparison.rows[0]["test_count"] is None
    assert comparison.contrasts == []
    json.loads(comparison.to_json())


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_compare
from dataclasses import replace
long = test_compare.TrainConfig(epochs=400, batch_size=32)
recipes = [replace(recipe, training=long) for recipe in test_compare.RECIPES]
test_compare.run(Path({out!r}), workers=2, recipes=recipes)
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    script = SCRIPT.format(tests=str(Path(__file__).parent), out=str(tmp_path / "out"))
    parent = subprocess.Popen([sys.executable, "-c", script])
    workers = wait_until(lambda: children_of(parent.pid) if started(tmp_path) else [], 60)
    assert len(workers) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_until(lambda: not any(is_running(pid) for pid in workers), 10)


def started(folder: Path) -> bool:
    return len(list((folder / "out").glob("runs/*/config.json"))) >= 2


def wait_until(condition, seconds: float):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    return condition()


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()] or [
        int(child) for child in text.split()
    ]


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
