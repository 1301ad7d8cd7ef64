"""Every way in which a command line ends, with its full text and its exit code."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli.application import COMMANDS
from clew.cli.faults import UsageError, explain
from clew.errors import ClewError, RunError

Clew = Callable[..., tuple[int, str, str]]
Replace = Callable[[Callable[..., Any]], list[tuple[Any, ...]]]
SCRIPT = Path(sys.executable).with_name("clew")


def raising(error: BaseException) -> Callable[..., Any]:
    def run(progress: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["recal"], "clew: command must be a known one, got 'recal'. Did you mean 'recall'?"),
        (["banana"], f"clew: command must be a known one, got 'banana'. Known: {', '.join(sorted(COMMANDS))}."),
        (["--verion"], "clew: option must be a known one, got '--verion'. Did you mean '--version'?"),
        (
            ["recall", "--epoch", "3"],
            "clew recall: option must be a known one, got '--epoch'. Did you mean '--epochs'?",
        ),
        (
            ["recall", "--delay=8"],
            "clew recall: option must be a known one, got '--delay'. Did you mean '--delays'?",
        ),
        (
            ["recall", "--epochs", "many"],
            "clew recall: --epochs must be a whole number, got 'many'. See `clew recall --help`.",
        ),
        (
            ["recall", "--delays", "8,16"],
            "clew recall: --delays must be a whole number, got '8,16'. Put spaces between several values.",
        ),
        (
            ["recall", "--delays"],
            "clew recall: --delays must be followed by at least one value, got none. See `clew recall --help`.",
        ),
        (
            ["recall", "--epochs"],
            "clew recall: --epochs must be followed by a value, got none. See `clew recall --help`.",
        ),
        (
            ["recall", "8", "16"],
            "clew recall: words must be options and their values, got '8 16'. See `clew recall --help`.",
        ),
        (
            ["recall", "--epochs", "3", "--epochs", "4"],
            "clew recall: --epochs must be given once, got several. Leave all but one out.",
        ),
        (
            ["recall", "--workers", "-1"],
            "clew recall: --workers must be 0 or more, got -1. Leave it out for one a core.",
        ),
    ],
)
def test_a_wrong_command_line_ends_in_one_line_and_exit_code_2(clew: Clew, words: list[str], line: str) -> None:
    assert clew(*words) == (2, "", f"Error: {line}\n")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--delays", "0"], ["delay", "0"]),
        (["--delays", "-5"], ["delay", "-5"]),
        (["--recipes", "gur"], ["clew recall: recipes must be known, got 'gur'. Did you mean 'gru'?"]),
        (["--delays", "33"], ["delays must be at most 32", "36 positions", "got 33", "--recipes rnn gru"]),
        (["--epochs", "0"], ["epochs must be a whole number of at least 1, got 0"]),
        (["--cue-position", "fix"], ["fix"]),
        (["--seeds", "1", "1"], ["seeds must be all different, got 1 1"]),
        (["--epochs", "0", "--recipes", "gur", "--seeds", "-1"], ["epochs", "'gur'", "seeds must be at least 0"]),
    ],
)
def test_an_option_out_of_range_ends_in_one_line_and_exit_code_2(
    clew: Clew, words: list[str], parts: list[str]
) -> None:
    exit_code, printed, line = clew("recall", *words)
    assert (exit_code, printed, line.count("\n")) == (2, "", 1)
    assert line.startswith("Error: ")
    assert [part for part in parts if part not in line] == []


def test_an_error_of_the_library_is_printed_as_it_stands(clew: Clew, replace_experiment: Replace) -> None:
    replace_experiment(
        raising(RunError("runs/x: folder must be empty, got one with other things in it. Choose another."))
    )
    line = "Error: runs/x: folder must be empty, got one with other things in it. Choose another.\n"
    assert clew("recall") == (1, "", line)


def test_an_interrupt_says_what_is_kept(clew: Clew, replace_experiment: Replace) -> None:
    replace_experiment(raising(KeyboardInterrupt()))
    line = "Interrupted. Finished runs are kept in runs/x, and the same command goes on from there.\n"
    assert clew("recall", "--out", "runs/x") == (130, "", line)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (
            errno.ENOSPC,
            "runs/x/a.json: disk must be able to take the file, got a full disk. "
            "Free some space and run the same command again; what was finished is kept.",
        ),
        (
            errno.EACCES,
            "runs/x/a.json: path must be usable, got permission denied. "
            "Check it and its permissions, or choose another path.",
        ),
    ],
)
def test_an_error_of_the_operating_system_names_the_path(
    clew: Clew, replace_experiment: Replace, number: int, line: str
) -> None:
    replace_experiment(raising(OSError(number, os.strerror(number), "runs/x/a.json")))
    assert clew("recall") == (1, "", f"Error: {line}\n")


def test_an_unexpected_error_points_to_debug(clew: Clew, replace_experiment: Replace) -> None:
    replace_experiment(raising(ZeroDivisionError("division by zero")))
    hint = "Run the same command with --debug to see where."
    assert clew("recall") == (1, "", f"Error: clew: unexpected ZeroDivisionError: division by zero. {hint}\n")


@pytest.mark.parametrize("place", ["flag", "variable"])
def test_debug_shows_the_traceback(
    clew: Clew, replace_experiment: Replace, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    replace_experiment(raising(RunError("runs/x: no.")))
    monkeypatch.setenv("CLEW_DEBUG", "1" if place == "variable" else "")
    exit_code, _, text = clew("recall", *(["--debug"] if place == "flag" else []))
    assert exit_code == 1
    assert text.startswith("Traceback (most recent call last):")
    assert text.endswith("\nError: runs/x: no.\n")


def test_several_problems_stay_in_one_line() -> None:
    assert explain(ClewError("one.\n  two.\n")) == ("Error: one.; two.", 1)
    assert explain(UsageError("one."))[1] == 2


def test_a_broken_pipe_between_processes_is_not_taken_for_a_reader_that_left(
    clew: Clew, replace_experiment: Replace
) -> None:
    replace_experiment(raising(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    exit_code, _, line = clew("recall")
    assert exit_code == 1
    assert line.startswith("Error: clew: unexpected BrokenPipeError")


def test_a_reader_that_left_is_nothing_to_complain_about() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([str(SCRIPT), "--help"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.stderr == ""


def test_clew_alone_prints_its_help(clew: Clew) -> None:
    exit_code, printed, said = clew()
    assert (exit_code, said) == (0, "")
    assert "Usage: clew COMMAND" in printed
    assert "recall" in printed
