"""What a file holds, told by its name: a table, a treebank, text or images."""

from pathlib import Path
from typing import Any

from clew.data.file_kinds import TABLE_KINDS
from clew.errors import ConfigError, DataError, complain, did_you_mean, suggest_file

TREEBANK, TEXT, IMAGES, TABLE = "treebank", "text", "images", "table"
SUFFIXES = {".conllu": TREEBANK, ".txt": TEXT, ".npz": IMAGES} | {
    suffix: TABLE for suffixes in TABLE_KINDS.values() for suffix in suffixes
}
TASKS_OF = {
    TREEBANK: ("tagging",),
    TEXT: ("next_token",),
    IMAGES: ("classification",),
    TABLE: ("classification", "tagging", "next_token", "forecasting", "regression"),
}
"""The tasks that each kind of file can be trained for."""


def kind_of_file(path: Path, format: str | None = None) -> str:
    """Say what a file holds.

    Args:
        path: A file, or a folder of images.
        format: Kind of a table whose name does not say so.

    Raises:
        DataError: If there is no such file, or its kind is unknown.

    >>> kind_of_file(Path("sentences.conllu"))
    'treebank'
    """
    if format is not None:
        return TABLE
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if path.is_dir():
        return IMAGES
    if not path.exists():
        raise DataError(complain(str(path), "file", "one that can be read", "no such file", suggest_file(path)))
    rule = f"one of {', '.join(SUFFIXES)}, or a folder of images"
    remedy = "Say what it is with data.format: csv, parquet or jsonl." if path.is_file() else ""
    raise DataError(complain(str(path), "file", rule, f"'{suffix}'" if suffix else "no ending", remedy))


def check_task(path: Path, kind: str, task: str | None) -> str | None:
    """See that a file of a kind can be trained for a task; where there is only one, give it.

    Raises:
        ConfigError: If it cannot.
    """
    known = TASKS_OF[kind]
    if task is None:
        return known[0] if len(known) == 1 else None
    if task not in TASKS_OF[TABLE]:
        raise ConfigError(complain(str(path), "task", "known", f"'{task}'", did_you_mean(task, TASKS_OF[TABLE])))
    if task not in known:
        article = {TREEBANK: "a treebank", TEXT: "text", IMAGES: "images"}[kind]
        raise ConfigError(complain(str(path), f"task for {article}", " or ".join(known), f"'{task}'"))
    return task


def choose(values: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Give values, with a default for each that is None or missing."""
    return {name: default if values.get(name) is None else values[name] for name, default in defaults.items()}
