"""A folder of flat arrays: written piece by piece, put in its place in one move, opened memory-mapped, no pickle.

    sequences.json   what the folder holds; written last
    inputs.npy offsets.npy targets.npy documents.npy id_characters.npy id_offsets.npy

Knows arrays, not tables; `SequenceData.save` and the conversion of tables write with it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from clew.errors import DataError, RunError, complain
from clew.files import cannot_write, dump_json, write_atomically

FORMAT = "clew sequences 1"
DESCRIPTION = "sequences.json"


class ArrayWriter:
    """Appends rows to a .npy file whose length is not known beforehand."""

    def __init__(self, path: Path, kind: Any, row_shape: tuple[int, ...]) -> None:
        self._kind, self._row_shape, self.rows = np.dtype(kind), row_shape, 0
        self._stream: BinaryIO = path.open("wb")
        self._write_header()

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        assert rows.shape[1:] == self._row_shape, f"rows of shape {rows.shape[1:]} for {self._row_shape}"
        self._stream.write(np.ascontiguousarray(rows, dtype=self._kind).data)
        self.rows += len(rows)

    def close(self) -> None:
        """Write the final length into the header and flush the file to disk."""
        self._stream.seek(0)
        self._write_header()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    def _write_header(self) -> None:
        # numpy leaves room in the header for the first axis to grow, so that a later header has the same size.
        header = {"descr": self._kind.str, "fortran_order": False, "shape": (self.rows, *self._row_shape)}
        np.lib.format.write_array_header_1_0(self._stream, header)  # pyright: ignore[reportAttributeAccessIssue]


class FolderWriter:
    """Writes arrays into a temporary folder, which takes its place when the block ends without an error.

    Args:
        folder: Where the folder is to be; it must not exist.

    Raises:
        RunError: If it exists, or the disk is full or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._arrays = folder, {}
        self._about: dict[str, Any] = {}

    def __enter__(self) -> "FolderWriter":
        if self._folder.exists():
            remedy = "Choose another folder, or remove it."
            raise RunError(complain(str(self._folder), "folder", "absent", "one that exists", remedy))
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._part = Path(
                tempfile.mkdtemp(prefix=f".{self._folder.name}.", suffix=".part", dir=self._folder.parent)
            )
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        return self

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to the array of this name; the first call fixes its type and shape."""
        if name not in self._arrays:
            self._arrays[name] = ArrayWriter(self._part / f"{name}.npy", rows.dtype, rows.shape[1:])
        self._arrays[name].append(rows)

    def describe(self, about: Mapping[str, Any]) -> None:
        """Add plain values to the description of the folder."""
        self._about.update(about)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                shapes = {name: array.rows for name, array in self._arrays.items()}
                for array in self._arrays.values():
                    array.close()
                description = {"format": FORMAT, "rows": shapes, **self._about}
                write_atomically(self._part / DESCRIPTION, dump_json(description))
                self._part.rename(self._folder)
        except OSError as failure:
            raise cannot_write(self._folder, failure) from failure
        finally:
            shutil.rmtree(self._part, ignore_errors=True)
        if isinstance(error, OSError):
            raise cannot_write(self._folder, error) from error


def open_folder(folder: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Open the arrays of a folder memory-mapped for reading, with its description.

    Raises:
        DataError: If the folder is missing, foreign or damaged.
    """
    try:
        about = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(complain(str(folder), "folder", f"one of sequences, with {DESCRIPTION}", reason)) from error
    except ValueError as error:
        raise DataError(complain(str(folder / DESCRIPTION), "file", "JSON", str(error), "Make it again.")) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or not isinstance(about.get("rows"), dict):
        got = repr(about.get("format")) if isinstance(about, dict) else "something else"
        raise DataError(complain(str(folder / DESCRIPTION), "format", repr(FORMAT), got, "Make the folder again."))
    arrays = {}
    for name, rows in about["rows"].items():
        path = folder / f"{Path(name).name}.npy"
        try:
            # An empty file cannot be mapped.
            array = np.load(path, mmap_mode="r" if rows else None, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(complain(str(path), "file", "a whole array", str(error), "Make it again.")) from error
        if array.shape[:1] != (rows,):
            raise DataError(complain(str(path), "array", f"{rows} rows", array.shape, "Make the folder again."))
        arrays[name] = array
    return arrays, about
