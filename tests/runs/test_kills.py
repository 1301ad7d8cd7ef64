"""A training that is stopped anywhere, in the middle of an epoch too, ends in the bits of an undisturbed one."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from clew.errors import RunError
from clew.runs import RunFolder
from clew.runs import fitting as fitting_room
from clew.runs import keeping as keeping_room
from clew.training import TrainingState
from runs.small_runs import SMALL, SOURCES, KillAfter, train

SCRIPT = Path(__file__).parent / "small_runs.py"


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr(fitting_room, "source_fingerprint", lambda: SOURCES)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def stop() -> None:
    raise KeyboardInterrupt


def require_equal(first: Path, second: Path) -> None:
    one, other = RunFolder(first), RunFolder(second)
    assert one.metrics() == other.metrics()
    assert one.best.read_bytes() == other.best.read_bytes()
    assert one.last.read_bytes() == other.last.read_bytes()


@pytest.mark.parametrize("name", SMALL)
def test_an_interrupted_training_ends_in_the_same_bits(name, tmp_path, monkeypatch):
    train(name, tmp_path / "whole")
    monkeypatch.setattr(keeping_room, "SECONDS_BETWEEN_WORDS", -1.0)
    monkeypatch.setattr(keeping_room, "WRITING_SHARE", 1e9)
    for checkpoint_seconds, steps in ((0.0, 5), (0.002, 9)):
        monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", checkpoint_seconds)
        with pytest.raises(KeyboardInterrupt):
            train(name, tmp_path / "stopped", progress=KillAfter(steps, stop))
    monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", 60.0)
    train(name, tmp_path / "stopped")
    require_equal(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.parametrize(
    "steps", [pytest.param(11, marks=pytest.mark.slow), 12, pytest.param(13, marks=pytest.mark.slow)]
)
def test_a_stop_around_the_last_step_of_an_epoch_ends_in_the_same_bits(steps, tmp_path, monkeypatch):
    """Its checkpoint may hold all steps of the epoch and not yet its record."""
    train("next_token", tmp_path / "whole")
    assert RunFolder(tmp_path / "whole").metrics()[0]["steps"] == 12
    monkeypatch.setattr(keeping_room, "SECONDS_BETWEEN_WORDS", -1.0)
    monkeypatch.setattr(keeping_room, "WRITING_SHARE", 1e9)
    monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", 0.0)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train("next_token", tmp_path / "stopped", progress=KillAfter(steps, stop))
    train("next_token", tmp_path / "stopped")
    require_equal(tmp_path / "stopped", tmp_path / "whole")


def test_a_stop_between_the_records_and_the_state_repeats_no_line(tmp_path, monkeypatch):
    """Records go to disk before the state: what is ahead of it is trained again."""
    train("tagging", tmp_path / "whole")
    save, left = TrainingState.save, [2]

    def stopped(state: TrainingState, path: Path) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        save(state, path)

    monkeypatch.setattr(TrainingState, "save", stopped)
    monkeypatch.setattr(keeping_room._Keeper, "is_due", property(lambda keeper: bool(keeper.records)))
    with pytest.raises(KeyboardInterrupt):
        train("tagging", tmp_path / "stopped")
    assert [line["epoch"] for line in RunFolder(tmp_path / "stopped").metrics()] == [1, 2]
    monkeypatch.undo()
    monkeypatch.setattr(fitting_room, "source_fingerprint", lambda: SOURCES)
    train("tagging", tmp_path / "stopped")
    require_equal(tmp_path / "stopped", tmp_path / "whole")


def test_a_checkpoint_is_taken_in_the_middle_of_an_epoch(tmp_path, monkeypatch):
    """So that the test above does not go on from the ends of epochs alone."""
    monkeypatch.setattr(keeping_room, "SECONDS_BETWEEN_WORDS", -1.0)
    monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(keeping_room, "WRITING_SHARE", 1e9)
    with pytest.raises(KeyboardInterrupt):
        train("tagging", tmp_path / "run", progress=KillAfter(5, stop))
    again = KillAfter(1, stop)
    seen = []
    monkeypatch.setattr(again, "begin", lambda epochs, steps, finished: seen.append((epochs, steps, finished)))
    with pytest.raises(KeyboardInterrupt):
        train("tagging", tmp_path / "run", progress=again)
    assert seen == [(3, 12, 5)]
    assert RunFolder(tmp_path / "run").metrics() == []


def killed_and_resumed(name: str, out: Path, seed: int) -> int:
    """Start, kill and start again until a start comes to its end; give the number of kills."""
    kills, draw = 0, random.Random(seed)
    while True:
        steps = draw.randint(1, 30)
        done = subprocess.run([sys.executable, str(SCRIPT), name, str(out), str(steps)], check=False)
        if done.returncode == 0:
            return kills
        assert done.returncode == -signal.SIGKILL
        kills += 1


def test_a_killed_process_goes_on_to_the_same_bits(tmp_path):
    done = subprocess.run([sys.executable, str(SCRIPT), "next_token", str(tmp_path / "killed"), "17"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not RunFolder(tmp_path / "killed").is_trained
    train("next_token", tmp_path / "killed")
    train("next_token", tmp_path / "whole")
    require_equal(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", SMALL)
def test_a_training_killed_at_random_again_and_again_ends_in_the_same_bits(name, seed, tmp_path):
    assert killed_and_resumed(name, tmp_path / "killed", seed) > 0
    train(name, tmp_path / "whole")
    require_equal(tmp_path / "killed", tmp_path / "whole")


def test_a_damaged_checkpoint_says_what_to_delete(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping_room, "SECONDS_BETWEEN_WORDS", -1.0)
    monkeypatch.setattr(keeping_room, "CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        train("tagging", tmp_path / "run", progress=KillAfter(9, stop))
    last = tmp_path / "run/last.safetensors"
    last.write_bytes(last.read_bytes()[:100])
    with pytest.raises(RunError, match=r"got a damaged one .* Delete the folder .*run and run the same command"):
        train("tagging", tmp_path / "run")
