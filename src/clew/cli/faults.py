"""What the user reads when something went wrong: one line and an exit code.

An error of the library is printed as it stands; the parser's errors and those of the operating system are put into the
project's grammar, "what must be what, got what. what to do". Only an error that nobody expected points to --debug.
"""

import errno
from pathlib import Path

from cyclopts import CycloptsError
from cyclopts.exceptions import (
    CoercionError,
    ConsumeMultipleError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from clew.errors import ClewError, ConfigError, complain, did_you_mean
from clew.files import cannot_write

FAILURE = 1
USAGE = 2
INTERRUPTED = 130

_KINDS = {int: "a whole number", float: "a number", Path: "a path"}
_FLAGS = ("--help", "--debug")  # of every command


class UsageError(ConfigError):
    """An option has a value that the command cannot take."""


class FailedRunsError(ClewError):
    """The command did its work, and some of its runs failed."""


def explain(error: BaseException) -> tuple[str, int]:
    """Turn an error into the line to print and the code to exit with; the problems of a file are a line each."""
    if isinstance(error, KeyboardInterrupt):
        return f"Interrupted. {error}".rstrip(), INTERRUPTED
    text, exit_code = _describe(error)
    if getattr(error, "problems", ()):  # of a file: a line each
        return "\n".join(f"Error: {line.strip()}" for line in text.splitlines()), exit_code
    return "Error: " + "; ".join(line.strip() for line in text.splitlines() if line.strip()), exit_code


def _describe(error: BaseException) -> tuple[str, int]:
    if isinstance(error, CycloptsError):
        return _describe_command_line(error), USAGE
    if isinstance(error, ClewError):
        return str(error), USAGE if isinstance(error, UsageError) else FAILURE
    if isinstance(error, OSError) and error.filename is not None:
        return _describe_file_error(error, Path(str(error.filename))), FAILURE
    words = f"{type(error).__name__}: {error}".rstrip(": .")
    return f"clew: unexpected {words}. Run the same command with --debug to see where.", FAILURE


def _describe_file_error(error: OSError, path: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return str(cannot_write(path, error))
    reason = (error.strerror or str(error)).lower()
    return complain(str(path), "path", "usable", reason, "Check it and its permissions, or choose another path.")


def _describe_command_line(error: CycloptsError) -> str:
    """Put a parser's error into our grammar; one that we have no words for keeps the parser's."""
    where = " ".join(("clew", *(error.command_chain or ())))
    help_line = f"See `{where} --help`."
    match error:
        case UnknownCommandError():
            return _unknown_command(error, where)
        case UnknownOptionError():
            option = (error.token.keyword or error.token.value).split("=")[0]
            known = [name for argument in error.argument_collection for name in argument.names]
            return complain(where, "option", "a known one", f"'{option}'", did_you_mean(option, [*known, *_FLAGS]))
        case ConsumeMultipleError():
            return complain(where, f"{error.keyword}", "followed by at least one value", "none", help_line)
        case MissingArgumentError() if error.argument is not None:
            return complain(where, error.keyword or error.argument.name, "followed by a value", "none", help_line)
        case CoercionError() if error.token is not None and error.msg is None:
            kind = _KINDS.get(error.target_type or str, "of the right kind")
            remedy = "Put spaces between several values." if "," in error.token.value else help_line
            return complain(where, f"{error.token.keyword}", kind, f"'{error.token.value}'", remedy)
        case RepeatArgumentError():
            return complain(where, f"{error.token.keyword}", "given once", "several", "Leave all but one out.")
        case UnusedCliTokensError():
            stray = " ".join(error.unused_tokens or ())
            return complain(where, "words", "options and their values", f"'{stray}'", help_line)
        case _:
            return f"{where}: {str(error).rstrip('.')}. {help_line}"


def _unknown_command(error: UnknownCommandError, where: str) -> str:
    tokens = error.unused_tokens or [""]
    what = "option" if tokens[0].startswith("-") else "command"
    known = [] if error.app is None else [name for name in error.app if name.startswith("-") == (what == "option")]
    return complain(where, what, "a known one", f"'{tokens[0]}'", did_you_mean(tokens[0], known))
