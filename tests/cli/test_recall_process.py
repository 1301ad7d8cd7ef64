"""`clew recall` as a user's shell sees it: killed, interrupted and started again, with real worker processes."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "clew", "recall", "--quick", "--recipes", "gru", "--epochs", "8"]


def start(out: Path) -> subprocess.Popen[str]:
    command = [*COMMAND, "--out", str(out), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def rows_of(out: Path) -> list[dict]:
    process = start(out)
    text, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    return json.loads(text)["rows"]


def wait_for_epochs(out: Path, process: subprocess.Popen[str]) -> None:
    """Wait until some run has written a checkpoint, or the command is over."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if list(out.glob("runs/*/last.safetensors")):
            return
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return rows_of(tmp_path_factory.mktemp("undisturbed") / "out")


def test_rows_hold_what_is_promised_and_nothing_of_the_clock(undisturbed):
    assert len(undisturbed) == 2
    promised = {"recipe", "delay", "seed", "test_accuracy", "selected_epoch", "parameters", "state_size", "run"}
    for row in undisturbed:
        assert promised <= set(row)
        assert not any("second" in name or name.endswith("_at") for name in row)


def test_a_killed_command_ends_in_the_same_rows_when_started_again(undisturbed, tmp_path):
    process = start(tmp_path / "out")
    wait_for_epochs(tmp_path / "out", process)
    time.sleep(random.random())
    process.kill()
    process.communicate()
    assert rows_of(tmp_path / "out") == undisturbed


def test_ctrl_c_is_one_line_and_keeps_what_is_finished(undisturbed, tmp_path):
    process = start(tmp_path / "out")
    wait_for_epochs(tmp_path / "out", process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    if process.returncode != 0:  # it may have ended before the signal arrived
        assert process.returncode == 130
        assert errors.strip().splitlines()[-1].startswith("Interrupted. Finished runs are kept in")
        assert "Traceback" not in errors
    assert rows_of(tmp_path / "out") == undisturbed
