"""Names of sequences that need no list: numbers, a choice among others, or UTF-8 bytes in a memory-mapped file."""

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class PickedNames(Sequence[str]):
    """Some of the names of other sequences, in a given order; numbers where these have none.

    >>> list(PickedNames(["a", "b", "c"], np.array([2, 0])))
    ['c', 'a']
    """

    def __init__(self, names: Sequence[str] | None, rows: NDArray[np.int64]) -> None:
        self._names, self._rows = names, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return PickedNames(self._names, self._rows[place])
        row = int(self._rows[place])
        return str(row) if self._names is None else self._names[row]


class StoredNames(Sequence[str]):
    """Names as UTF-8 bytes one after another, read when asked for.

    >>> list(StoredNames(*pack_names(["a", "bé"])))
    ['a', 'bé']
    """

    def __init__(self, characters: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._characters, self._offsets = characters, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return PickedNames(self, np.arange(len(self))[place])
        row = range(len(self))[place]
        return bytes(self._characters[self._offsets[row] : self._offsets[row + 1]]).decode(errors="replace")


def pack_names(names: Iterable[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Put names one after another as UTF-8 bytes, with the place where each begins and the end of the last."""
    encoded = [name.encode(errors="surrogatepass") for name in names]
    lengths = np.array([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), np.cumsum(lengths)
