"""Both displays: what a pipe gets, line by line, and what a terminal shows."""

import contextlib
import io
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console

from clew.cli.display import duration
from clew.cli.progress import LineProgress, LiveProgress, Pace, progress_for
from clew.lab.progress import Progress, SilentProgress

VALIDATION = {"cue_loss_nats": 1.1, "cue_accuracy": 0.625, "move_accuracy": 0.25}


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


class Terminal(io.TextIOWrapper):
    """A file that says it is a terminal."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("wb"))
        self.path = path
        self.mode = "w"

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """What was written, without cursor movements and colours."""
        self.flush()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.path.read_text())


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[IO[str]]:
    """What a command that writes into a file has for stderr."""
    with (tmp_path / "stderr").open("w+") as file:
        yield file


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(tmp_path / "terminal") as file:
        yield file


def test_a_pipe_gets_a_line_for_each_run(stream: IO[str]) -> None:
    clock = Clock()
    progress = LineProgress(stream, clock)
    progress.begin(4, 1)
    progress.epoch("gru, delay 8, seed 1", 1, 60, 1.4, VALIDATION, 0.5)
    clock.seconds = 30.0
    progress.epoch("gru, delay 8, seed 1", 30, 60, 1.2, VALIDATION, 0.5)
    clock.seconds = 60.0
    progress.finished("gru, delay 8, seed 1", "accuracy 1.000")
    clock.seconds = 120.0
    progress.failed("gru, delay 8, seed 2", "the loss is not finite")
    clock.seconds = 180.0
    progress.finished("gru, delay 8, seed 3", "accuracy 0.250")
    progress.close()
    stream.seek(0)
    assert stream.read().splitlines() == [
        "4 runs, 1 of them already finished",
        "[2/4] gru, delay 8, seed 1: accuracy 1.000 (1:00 elapsed, about 2:00 left)",
        "[3/4] gru, delay 8, seed 2: failed: the loss is not finite (2:00 elapsed, about 1:00 left)",
        "[4/4] gru, delay 8, seed 3: accuracy 0.250 (3:00 elapsed)",
    ]


def test_a_reader_of_the_lines_that_left_does_not_stop_the_work() -> None:
    read, write = os.pipe()
    os.close(read)
    stream = os.fdopen(write, "w")
    progress = LineProgress(stream)
    progress.begin(2, 0)
    progress.finished("gru", "done")
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def test_a_terminal_shows_a_bar_and_a_line_for_each_run_under_way(terminal: Terminal) -> None:
    clock = Clock()
    console = Console(file=terminal, force_terminal=True, width=120, highlight=False)
    progress = LiveProgress(console, clock)
    progress.begin(4, 1)
    progress.epoch("gru, delay 8, seed 1", 1, 60, 1.4, VALIDATION, 0.5)
    clock.seconds = 30.0
    progress.epoch("gru, delay 8, seed 1", 30, 60, 1.2, VALIDATION, 0.5)
    progress.epoch("rnn, delay 8, seed 1", 1, 60, float("nan"), {}, 0.25)
    progress.epoch("rnn, delay 8, seed 2", 1, 60, 1.4, VALIDATION, 0.25)
    give_up = time.monotonic() + 10
    while "epoch 30/60" not in terminal.text() and time.monotonic() < give_up:
        time.sleep(0.05)  # the display has a thread of its own
    progress.finished("rnn, delay 8, seed 2", "accuracy 1.000")
    progress.failed("rnn, delay [8], seed 1", "the loss is not finite")
    progress.close()
    progress.close()
    shown = terminal.text()
    assert "4 runs, 1 of them already finished" in shown
    assert re.search(r"1/4 runs 0:30 elapsed, about \d:\d\d left", shown)
    assert "gru, delay 8, seed 1  epoch 30/60  loss 1.200 nats  accuracy 0.625  2.0 epochs/s" in shown
    assert "rnn, delay 8, seed 1  epoch 1/60   loss nan " in shown
    assert "[2/4] rnn, delay 8, seed 2: accuracy 1.000" in shown
    assert "[3/4] rnn, delay [8], seed 1: failed: the loss is not finite" in shown


def test_the_display_suits_the_stream(stream: IO[str], terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(progress_for(stream), LineProgress)
    assert isinstance(progress_for(terminal), LiveProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_for(terminal), LineProgress)


def test_a_resumed_run_does_not_make_the_rest_look_quicker() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.begin(total_runs=2, finished=0)
    assert pace.remaining_seconds is None
    clock.seconds = 10.0
    pace.advance("gru", epoch=31, epochs=60)  # one epoch in ten seconds, thirty were there before
    assert pace.remaining_seconds == pytest.approx((29 + 60) * 10)


def test_the_time_left_counts_runs_that_are_under_way() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.begin(total_runs=3, finished=1)
    clock.seconds = 30.0
    pace.advance("gru", 1, 4)
    pace.advance("gru", 2, 4)
    assert pace.completed == 1.5
    assert pace.remaining_seconds == pytest.approx(90)
    pace.end_run("gru")
    assert (pace.done, pace.completed, pace.remaining_seconds) == (2, 2, 30)


def test_durations_read_as_a_clock() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.6, 75.2, 3725.0)] == ["0:00", "1:00", "1:15", "1:02:05"]


def test_every_listener_keeps_the_protocol(stream: IO[str], terminal: Terminal) -> None:
    listeners: list[Progress] = [SilentProgress(), LineProgress(stream), LiveProgress(Console(file=terminal))]
    for listener in listeners:
        listener.begin(1, 0)
        listener.epoch("gru", 1, 1, 1.0, VALIDATION, 0.1)
        listener.failed("gru", "no")
        listener.note("done")
        listener.close()
        listener.close()
