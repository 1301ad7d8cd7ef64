"""What one training shows: a line an epoch in a pipe, a live line on a terminal, silence when nobody reads."""

import io

from rich.console import Console

from clew.cli.training_progress import LiveTraining, TrainingLines, training_progress_for
from clew.training import EpochRecord


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def record(epoch: int, is_best: bool = True, stopped: str = "") -> EpochRecord:
    return EpochRecord(epoch, 0.5, {"loss_nats": 0.25, "accuracy": 0.9}, {}, 0.0, 10, is_best, 4 * epoch, 0.01, stopped)


def test_a_pipe_gets_a_line_an_epoch_with_speed_and_time_left():
    stream, clock = io.StringIO(), Clock()
    lines = TrainingLines(stream, clock)
    lines.begin(5, 4, 0)
    clock.now = 2.0
    lines.step(1, 3, 0.7)
    lines.epoch(record(1), 2.0)
    clock.now = 4.0
    lines.epoch(record(2, is_best=False, stopped="patience"), 2.0)
    lines.close()
    assert stream.getvalue().splitlines() == [
        "epoch 1/5: loss 0.5000, validation loss_nats 0.2500, accuracy 0.9000, best so far "
        "(2 steps/s, about 0:08 left)",
        "epoch 2/5: loss 0.5000, validation loss_nats 0.2500, accuracy 0.9000, stops here (patience)",
    ]


def test_steps_of_an_earlier_start_do_not_count_as_speed():
    stream, clock = io.StringIO(), Clock()
    lines = TrainingLines(stream, clock)
    lines.begin(5, 4, 4)
    clock.now = 4.0
    lines.epoch(record(2), 4.0)
    said = stream.getvalue().splitlines()
    assert said[0] == "goes on after 4 of 20 steps"
    assert said[1].endswith("(1 steps/s, about 0:12 left)")


def test_a_reader_that_went_away_costs_nothing():
    class Gone(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    lines = TrainingLines(Gone())
    lines.begin(5, 4, 4)
    lines.epoch(record(1), 1.0)


def test_a_terminal_gets_a_live_line_and_is_left_as_it_was():
    stream, clock = io.StringIO(), Clock()
    live = LiveTraining(Console(file=stream, force_terminal=True, width=120, highlight=False, markup=False), clock)
    live.begin(5, 4, 0)
    clock.now = 1.0
    live.step(1, 2, 0.75)
    assert live._live is not None
    live._live.refresh()
    live.epoch(record(1), 2.0)
    live.close()
    live.close()
    said = stream.getvalue()
    assert "epoch 1/5, step 2/4, loss 0.7500" in said and "2 steps/s, about 0:09 left" in said
    assert "epoch 1/5: loss 0.5000" in said


def test_the_listener_suits_the_stream():
    assert isinstance(training_progress_for(io.StringIO()), TrainingLines)
