"""The table of commands, and the one place where a command line ends in an exit code.

0: done; 1: something failed; 2: the command line itself was wrong; 130: interrupted.
Results go to stdout, everything else to stderr. To add a command, write its file and a line in `COMMANDS`.
"""

import os
import sys
import traceback
from collections.abc import Sequence

from cyclopts import App

from clew.cli.faults import explain
from clew.cli.output import OutputClosedError, abandon_output, accept_any_character, flush_output

COMMANDS = {
    "audit": ("clew.cli.audit:audit", "What a model reads that it must not, or what splits of data share."),
    "compare": ("clew.cli.compare:compare", "Recipes x seeds on files of yours, under one protocol."),
    "data": ("clew.cli.data:data", "What a file holds, and what each task would do with it."),
    "evaluate": ("clew.cli.evaluate:evaluate", "The sealed test part of a run, once; or another file."),
    "explore": ("clew.cli.explore:explore", "Look around inside a model in the browser."),
    "export": ("clew.cli.export:export", "A trained model as an ONNX file, with proof that it gives the same numbers."),
    "forecast": ("clew.cli.forecast:forecast", "Series beyond their end."),
    "generate": ("clew.cli.generate:generate", "Text that goes on from a prompt."),
    "predict": ("clew.cli.predict:predict", "Labels for the sequences of a file, as a file of the same kind."),
    "recall": ("clew.cli.recall:recall", "The memory experiment: recurrent and attention models recall a cue."),
    "trace": ("clew.cli.trace:trace", "A text through a model: every quantity, forward and backward."),
    "train": ("clew.cli.train:train", "A model from a file of yours, into a run folder."),
    "walkthrough": ("clew.cli.walkthrough:walkthrough", "Every table, figure and exercise of the worked example."),
}

DEBUG_FLAG = "--debug"
DEBUG_VARIABLE = "CLEW_DEBUG"


def build_application() -> App:
    """Make the parser; no command is imported before it is called or asked for its help."""
    application = App(
        name="clew",
        help="Follow information through sequence models.",
        help_epilogue=f"With {DEBUG_FLAG}, or {DEBUG_VARIABLE}=1, an error shows its traceback.",
        help_format="plaintext",  # markdown would import a parser for it, a fifth of the time that help takes
        version=_version,
        suppress_keyboard_interrupt=False,
    )
    for name, (import_path, words) in COMMANDS.items():
        application.command(import_path, name=name, help=words)
    return application


def _version() -> str:
    from clew import __version__

    return f"clew {__version__}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Args:
        arguments: The words after `clew`; by default those that the process was started with.
    """
    accept_any_character()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if DEBUG_FLAG in words:
        os.environ[DEBUG_VARIABLE] = "1"  # for worker processes too
        words = [word for word in words if word != DEBUG_FLAG]
    try:
        result = build_application()(
            words, exit_on_error=False, print_error=False, verbose=False, result_action="return_value"
        )
        flush_output()
        return result or 0
    except OutputClosedError:
        abandon_output()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exception(error)
        line, exit_code = explain(error)
        print(line, file=sys.stderr)
        return exit_code
