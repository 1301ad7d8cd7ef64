"""Writing files so that nothing of the user's is lost: a temporary name, flushed to disk, then renamed.

Whoever dies in between leaves the old file whole. The only place that writes a file in one go.
"""

import errno
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.errors import RunError, complain


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace a file by new content, or leave it as it was.

    Raises:
        RunError: If the disk is full or the folder cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def append_line(path: Path, line: str) -> None:
    """Add one line at the end of a file and flush it to disk.

    Raises:
        RunError: If the disk is full or the file cannot be written.
    """
    try:
        with path.open("a") as stream:
            stream.write(line + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> RunError:
    """Turn an error of the operating system into one line with a remedy."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "Free some space and run the same command again; what was finished is kept."
        return RunError(complain(str(path), "disk", "able to take the file", "a full disk", remedy))
    remedy = "Check the permissions, or choose another folder with --out."
    return RunError(complain(str(path), "file", "writable", (error.strerror or str(error)).lower(), remedy))


def to_strict_json(value: Any) -> Any:
    """Replace what JSON cannot hold: NaN and the infinities become the strings "NaN", "Infinity", "-Infinity".

    None stays null and means "not computed".
    """
    if isinstance(value, Mapping):
        return {str(key): to_strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_strict_json(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")
    return value


def dump_json(value: Any, indent: int | None = 2) -> str:
    """Write strict JSON text; equal values give equal text."""
    return json.dumps(to_strict_json(value), indent=indent, allow_nan=False)
