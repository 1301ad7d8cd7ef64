"""Results on stdout: nothing but results, and quiet when whoever reads them has gone."""

import os
import sys


class OutputClosedError(Exception):
    """The reader of stdout closed it, as `head` does; nothing is wrong and there is nobody to tell."""


def print_result(text: str) -> None:
    """Write a result to stdout.

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
