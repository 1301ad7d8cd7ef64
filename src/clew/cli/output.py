"""Results on stdout: nothing but results, and quiet when whoever reads them has gone."""

import os
import sys
from io import TextIOWrapper
from typing import NoReturn

from rich.console import Console

PLAIN_WIDTH = 100


class OutputClosedError(Exception):
    """The reader of stdout closed it, as `head` does; nothing is wrong and there is nobody to tell."""


class ResultConsole(Console):
    """A console on stdout whose closed reader is reported as everywhere else."""

    def on_broken_pipe(self) -> NoReturn:
        raise OutputClosedError


def result_console() -> ResultConsole:
    """Make a console for tables on stdout, as wide as the terminal, or of a fixed width in a pipe or a file."""
    return ResultConsole(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def print_result(text: str) -> None:
    """Write a result to stdout as it stands.

    Raises:
        OutputClosedError: If nobody reads it any more.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError as error:
        raise OutputClosedError from error


def flush_output() -> None:
    """Send what is still buffered on its way.

    Raises:
        OutputClosedError: If nobody reads it any more.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise OutputClosedError from error


def abandon_output() -> None:
    """Point stdout at nothing, so that the interpreter's own last flush does not complain about the closed pipe."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def accept_any_character() -> None:
    """Let a stream with a narrow encoding show "?" for what it cannot write, rather than end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
