"""What clew says when something is wrong: one line that names the place, the rule, the value and the remedy.

Every error that a user can cause is a subclass of `ClewError` (a `ValueError`) and its text is made by `complain`,
so that the command line can print it as it stands. Broken invariants of our own are plain `assert`s instead.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

MOST_NEIGHBOURS = 1000
"""Files of a folder among which a name is looked for."""


class ClewError(ValueError):
    """Something that the caller gave is wrong; the text says where, what and what to do."""


class ShapeError(ClewError):
    """A tensor has the wrong rank, size or type."""


class ConfigError(ClewError):
    """A configuration has an unknown key, an unknown name or a value out of range."""


class DataError(ClewError):
    """Data cannot be used as it is, or cannot be made as asked for."""


class RunError(ClewError):
    """A run folder or checkpoint is missing, foreign, damaged, in use or cannot be written."""


class SealedError(ClewError):
    """A sealed test set was read before a selection was recorded."""


class LedgerError(ClewError):
    """A quantity that is not there was asked for, or an explanation does not agree with what really ran."""


class AuditError(ClewError):
    """An audit cannot be made as asked for, or a model that must be right has failed one."""


def complain(where: str, what: str, constraint: str, got: object, remedy: str = "") -> str:
    """Compose an error text in the project's one grammar.

    >>> complain("GRU", "lengths", "in [1, time=20]", "23 at row 4", "Pad the inputs to 23 or clip the lengths.")
    'GRU: lengths must be in [1, time=20], got 23 at row 4. Pad the inputs to 23 or clip the lengths.'
    """
    return f"{where}: {what} must be {constraint}, got {got}. {remedy}".rstrip()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the nearest known word, or list all of them.

    >>> did_you_mean("gur", ["rnn", "gru"])
    "Did you mean 'gru'?"
    >>> did_you_mean("banana", ["rnn", "gru"])
    'Known: gru, rnn.'
    """
    choices = sorted(known)
    near = get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(choices)}."


def suggest_file(path: Path) -> str:
    """Suggest the file beside a missing one that has nearly its name; nothing where there is none.

    Names share more letters than words do, since many have one ending: they must be nearer than for `did_you_mean`.
    """
    if path.exists() or not path.parent.is_dir():
        return ""
    beside = [other.name for other in path.parent.iterdir() if other.is_file()]
    near = get_close_matches(path.name, beside, n=1, cutoff=0.7) if len(beside) <= MOST_NEIGHBOURS else []
    return f"Did you mean '{near[0]}'?" if near else ""
