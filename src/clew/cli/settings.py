"""What the commands of one's own files share: configuration files, the errors of settings, outputs that are there.

A configuration is a TOML file with the sections of `clew.runs.planning.options`, and `file`, `validation` and `test`
above them, as paths from where the configuration is.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.cli.faults import UsageError
from clew.errors import ClewError, ConfigError, complain, did_you_mean

FILE_KEYS = ("file", "validation", "test")
# Remedies of the library name arguments of functions; on the command line they are settings.
SETTINGS_OF_REMEDIES = {
    "say missing='mean'": "say --set data.missing=mean",
    "pass audit='warn'": "say --set run.audit=warn",
    "Say kind='csv'": "Say --set data.format=csv",
    "Say kind='parquet'": "Say --set data.format=parquet",
    "say kind='parquet'": "say --set data.format=parquet",
    "list the column under categorical": "say --set columns.categorical=NAME",
    "List it under categorical": "Say --set columns.categorical=NAME",
    "Name the column of tokens with categorical.": "Name the column of tokens: --set columns.categorical=NAME.",
    "Name the column of sequences with sequence.": "Name the column of sequences: --set columns.sequence=NAME.",
    "predicts with label.": "predicts: --set columns.label=NAME.",
    "say sort=True": "say --set data.sort=true",
    "generate: prompt must": "clew generate: --prompt must",
    "generate: stop must": "clew generate: --stop must",
    "or delete this one to train anew": "or add --force to train anew",
    "Give force to replace it.": "Add --force to replace it.",
}


@contextmanager
def usage_errors() -> Iterator[None]:
    """Let a wrong setting end the command as a wrong command line does, with remedies that can be typed.

    Raises:
        UsageError: In place of a `ConfigError`.
    """
    try:
        yield
    except UsageError:
        raise
    except ConfigError as error:
        raise UsageError(_as_settings(str(error))) from error
    except ClewError as error:
        error.args = (_as_settings(str(error)),)
        raise


def _as_settings(text: str) -> str:
    for words, setting in SETTINGS_OF_REMEDIES.items():
        text = text.replace(words, setting)
    return re.sub(r"\b(say|as) encoding='([^']+)'", r"\1 --set data.encoding=\2", text)


def read_configuration(path: Path | None) -> dict[str, Any]:
    """Read a TOML file; paths in it are made to start from where the file is.

    Raises:
        UsageError: If it cannot be read.
    """
    if path is None:
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        beside = [other.name for other in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        near = did_you_mean(path.name, beside) if not path.exists() else ""
        remedy = near if near.startswith("Did") else ""
        raise UsageError(complain(str(path), "configuration", "a TOML file", reason.lower(), remedy)) from error
    return with_paths(values, path.parent, str(path))


def with_paths(values: dict[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """Make the paths of a configuration start from a folder.

    Raises:
        UsageError: If one is no text.
    """
    found = dict(values)
    for name in FILE_KEYS:
        if name in found:
            if not isinstance(found[name], str):
                raise UsageError(complain(where, name, "a path in quotes", repr(found[name])))
            found[name] = str(folder / found[name])
    return found


def require_new(command: str, path: Path | None, force: bool, option: str = "--out") -> None:
    """See before long work whether its result can be written.

    Args:
        command: Who writes it.
        path: Where to; None where nothing is written.
        force: Whether a file may be replaced.
        option: The option that named the path.

    Raises:
        UsageError: If there is something in its place, or no folder for it.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(complain(command, option, "a file", f"a folder, {path}", "Name a file in it."))
    if path.exists() and not force:
        raise UsageError(
            complain(command, option, "a new file", f"'{path}', which exists", "Add --force to replace it.")
        )
    if not path.parent.is_dir():
        raise UsageError(complain(command, option, "in a folder that exists", f"'{path}'", "Make the folder first."))
