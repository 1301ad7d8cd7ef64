"""A file that is converted once, into a folder that is used again while file and arguments are the same.

Whoever is killed in between leaves the old folder; two processes that want the same one wait for each other. Knows
nothing of what is in the folder, but that its description says what it was made from; see `storage`.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from clew.data.storage import open_folder
from clew.errors import DataError, complain
from clew.files import cannot_write


class ConvertedFolder(NamedTuple):
    """Where a converted file stands.

    Attributes:
        folder: The folder, whole.
        is_reused: Whether it was there already.
    """

    folder: Path
    is_reused: bool


def convert_once(
    source: Path,
    cache: Path,
    asked: Mapping[str, Any],
    write: Callable[[Path, Mapping[str, Any]], None],
) -> ConvertedFolder:
    """Give the folder that a file was converted to, and make it where it is not there or no longer right.

    Args:
        source: The file, which can be read.
        cache: Folder for converted files; made if it is not there.
        asked: All that decides what the folder holds besides the file, as plain values.
        write: Writes the folder that it is given, with the values that it is given in its description.

    Raises:
        DataError: If the file changes meanwhile, and whatever `write` raises; no folder is left then.
        RunError: If the folder cannot be written.
    """
    words = json.dumps({"path": str(source.resolve()), **asked}, sort_keys=True, default=list)
    folder = cache / f"{source.stem}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(cache, error) from error
    with FileLock(cache / f".{folder.name}.lock"):
        if _is_fresh(folder, source):
            return ConvertedFolder(folder, is_reused=True)
        stamp = _stamp(source)
        fresh = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        write(fresh, {"source": {**stamp, "sha256": file_sha256(source)}})
        if _stamp(source) != stamp:
            shutil.rmtree(fresh, ignore_errors=True)
            got = "one that changed while it was read"
            raise DataError(complain(str(source), "file", "the same all the time", got))
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    return ConvertedFolder(folder, is_reused=False)


def _is_fresh(folder: Path, source: Path) -> bool:
    """Whether a folder was made from the file as it is: same size and time, or else the same content."""
    try:
        about = open_folder(folder)[1]["source"]
        stamp = _stamp(source)
        if about["size"] != stamp["size"]:
            return False
        return about["mtime_ns"] == stamp["mtime_ns"] or about["sha256"] == file_sha256(source)
    except (DataError, KeyError, TypeError):
        return False


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns}


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, a megabyte at a time."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
