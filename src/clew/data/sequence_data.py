"""Many sequences of different lengths, one after another in flat arrays, in memory or memory-mapped from a folder.

`inputs[offsets[i]:offsets[i + 1]]` are the steps of sequence i. `select` pads some of them to a `Batch`; `part` is a
view of some; `windows` gives overlapping pieces without copying. The training loop and tasks use only what `Batch` has
too: `len`, `select`, `lengths` and `fingerprint`. Not here: reading files and making numbers, see `Preparation`.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from clew.data.batch import Batch
from clew.data.names import PickedNames, StoredNames, pack_names
from clew.data.storage import FolderWriter, open_folder
from clew.errors import ConfigError, DataError, ShapeError, complain

UNSCORED = -1
"""Class or id of a step that does not count; real-valued targets that do not count are NaN."""

UNSEEN = -2
"""Class that training never saw: a target that no prediction can meet, counted as wrong and without a loss."""

STEPS_AT_ONCE = 1 << 20

Index = Tensor | NDArray[Any] | Sequence[int] | slice


class SequenceData:
    """Ragged sequences in flat arrays.

    Args:
        inputs: Real values (steps, features) float32, ids (steps,) int32, or images (n, channels, height, width).
        offsets: First step of each sequence and the end of the last, (n + 1,); may be left out for images.
        targets: A row a sequence (n, ...) or, with `targets_per_step`, a row a step (steps, ...). Classes and ids are
            whole numbers, -1 where a step is not scored; real values are NaN there.
        targets_per_step: Which of the two it is.
        ids: Name of each sequence; by default its number.
        documents: Number of the document that each step belongs to, (steps,), where sequences are packed documents.

    Raises:
        ShapeError: If the parts do not belong to the same sequences.

    >>> data = SequenceData([[1.0], [2.0], [3.0]], offsets=[0, 1, 3], targets=[7, 8])
    >>> data.select([0, 1]).inputs.squeeze(2).tolist()
    [[1.0, 0.0], [2.0, 3.0]]
    """

    def __init__(
        self,
        inputs: Any,
        offsets: Any = None,
        targets: Any = None,
        *,
        targets_per_step: bool = False,
        ids: Sequence[str] | None = None,
        documents: Any = None,
    ) -> None:
        stored = _as_inputs(inputs)
        if offsets is None:
            if stored.ndim != 4:
                raise ShapeError(complain("SequenceData", "offsets", "given for sequences of steps", "none"))
            offsets = np.arange(len(stored) + 1)
        borders = np.asarray(offsets, dtype=np.int64)
        if borders.ndim != 1 or not len(borders) or borders[0] != 0 or borders[-1] != len(stored):
            rule = f"(n + 1,) whole numbers from 0 to {len(stored)} steps"
            raise ShapeError(complain("SequenceData", "offsets", rule, _briefly(borders)))
        self._set(stored, borders[:-1], np.diff(borders), targets, targets_per_step, ids, documents)

    @classmethod
    def windows(
        cls,
        inputs: Any,
        starts: Any,
        lengths: Any,
        targets: Any = None,
        *,
        targets_per_step: bool = False,
        ids: Sequence[str] | None = None,
        documents: Any = None,
    ) -> "SequenceData":
        """Take pieces of the flat arrays as sequences; they may overlap and nothing is copied.

        Args:
            inputs: As for the class.
            starts: First step of each piece, (n,).
            lengths: Its number of steps, (n,) or one number.
            targets: As for the class; with `targets_per_step` a row for each step of `inputs`.
            targets_per_step: Whether targets belong to steps.
            ids: Name of each piece.
            documents: As for the class.

        >>> SequenceData.windows([1, 2, 3], starts=[0, 1], lengths=2).whole().inputs.tolist()
        [[1, 2], [2, 3]]
        """
        data = cls.__new__(cls)
        firsts = np.asarray(starts, dtype=np.int64)
        counts = np.broadcast_to(np.asarray(lengths, dtype=np.int64), firsts.shape)
        data._set(_as_inputs(inputs), firsts, counts, targets, targets_per_step, ids, documents)
        return data

    @classmethod
    def from_batch(cls, batch: Batch, ids: Sequence[str] | None = None) -> "SequenceData":
        """Drop the padding of a batch; targets of shape (batch, time, ...) are taken to be a row a step.

        >>> SequenceData.from_batch(Batch(torch.tensor([[0, 5]]), torch.tensor([[False, True]]))).inputs.tolist()
        [5]
        """
        inputs, targets = batch.inputs, batch.targets
        if inputs.ndim == 4:
            return cls(inputs, None, targets, ids=ids)
        batch_size, time = inputs.shape[:2]
        valid = torch.ones(batch_size, time, dtype=torch.bool) if batch.valid is None else batch.valid.cpu()
        per_step = targets is not None and targets.ndim >= 2 and targets.shape[1] == time
        offsets = np.concatenate([[0], valid.sum(dim=1).cumsum(0).numpy()])
        kept = targets.cpu()[valid] if targets is not None and per_step else targets
        documents = None if batch.documents is None else batch.documents.cpu()[valid]
        return cls(inputs.cpu()[valid], offsets, kept, targets_per_step=per_step, ids=ids, documents=documents)

    def _set(
        self,
        inputs: NDArray[Any],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        targets: Any,
        targets_per_step: bool,
        ids: Sequence[str] | None,
        documents: Any,
    ) -> None:
        """Keep the parts after a look at whether they fit."""
        self._inputs, self._starts, self._lengths = inputs, starts, lengths
        self._targets = None if targets is None else _as_targets(targets)
        self._documents = None if documents is None else _as_array(documents, np.int32)
        self.targets_per_step = targets_per_step
        self._ids = ids
        where = "SequenceData"
        if starts.ndim != 1 or len(starts) != len(lengths):
            raise ShapeError(complain(where, "starts and lengths", "(n,) each", f"{starts.shape}, {lengths.shape}"))
        if len(starts) and (lengths.min() < 1 or starts.min() < 0 or (starts + lengths).max() > len(inputs)):
            wrong = (lengths < 1) | (starts < 0) | (starts + lengths > len(inputs))
            row = int(np.flatnonzero(wrong)[0])
            got = f"steps {starts[row]} to {starts[row] + lengths[row]} of {len(inputs)} at sequence {row}"
            raise ShapeError(complain(where, "every sequence", "at least one step of inputs", got, "Drop empty ones."))
        rows = len(inputs) if targets_per_step else len(starts)
        if self._targets is not None and len(self._targets) != rows:
            rule = f"{rows} rows, one a {'step' if targets_per_step else 'sequence'}"
            raise ShapeError(complain(where, "targets", rule, len(self._targets)))
        if self._documents is not None and self._documents.shape != inputs.shape[:1]:
            raise ShapeError(complain(where, "documents", f"({len(inputs)},), one a step", self._documents.shape))
        if ids is not None and len(ids) != len(starts):
            raise ShapeError(complain(where, "ids", f"{len(starts)}, one a sequence", len(ids)))

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self._starts)

    def __repr__(self) -> str:
        inside = "images" if self._inputs.ndim == 4 else f"{int(self._lengths.sum()):,} steps"
        return f"SequenceData({len(self):,} sequences, {inside}, inputs {self._inputs.dtype} {self._inputs.shape[1:]})"

    @property
    def lengths(self) -> Int[Tensor, " n"]:
        """Steps of each sequence; 1 for an image."""
        return torch.from_numpy(self._lengths.copy())

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each sequence begins in `inputs`, and the end of the last, (n + 1,)."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self._lengths, dtype=np.int64)])

    @property
    def inputs(self) -> NDArray[Any]:
        """All steps, in the order of the sequences; a copy where this is a view of other data."""
        return self._inputs if self._is_whole else self._inputs[self._steps(np.arange(len(self)))]

    @property
    def targets(self) -> NDArray[Any] | None:
        """Targets of all sequences or steps in their order; a copy of step targets where this is a view."""
        if self._targets is None or not self.targets_per_step or self._is_whole:
            return self._targets
        return self._targets[self._steps(np.arange(len(self)))]

    @property
    def documents(self) -> NDArray[np.int32] | None:
        """Number of the document of each step, or None."""
        if self._documents is None or self._is_whole:
            return self._documents
        return self._documents[self._steps(np.arange(len(self)))]

    @property
    def ids(self) -> Sequence[str]:
        """Name of each sequence."""
        return PickedNames(None, np.arange(len(self))) if self._ids is None else self._ids

    @property
    def features(self) -> int:
        """Columns of real-valued inputs; 0 for ids; channels of images."""
        return 0 if self._inputs.ndim == 1 else self._inputs.shape[1]

    def select(self, index: Index) -> Batch:
        """Take some sequences, in the order of `index`, padded on the right to the longest of them.

        Args:
            index: Numbers of sequences, or a bool a sequence.

        Returns:
            A batch; `valid` is None where no padding was needed. Padded inputs are 0, padded step targets are not
            scored, padded documents are -1.
        """
        rows = _as_rows(index, len(self))
        targets = None if self._targets is None or self.targets_per_step else _to_tensor(self._targets[rows])
        if self._inputs.ndim == 4:
            return Batch(_to_tensor(self._inputs[self._starts[rows]]), None, targets)
        lengths = self._lengths[rows]
        time = int(lengths.max(initial=0))
        valid = np.arange(time) < lengths[:, None]
        steps = np.where(valid, self._starts[rows][:, None] + np.arange(time), 0)
        padding = None if bool(valid.all()) else ~valid
        if self._targets is not None and self.targets_per_step:
            unscored = np.nan if self._targets.dtype.kind == "f" else UNSCORED
            targets = _gather(self._targets, steps, padding, unscored)
        return Batch(
            _gather(self._inputs, steps, padding, 0),
            None if padding is None else torch.from_numpy(valid),
            targets,
            None if self._documents is None else _gather(self._documents, steps, padding, -1),
        )

    def part(self, index: Index) -> "SequenceData":
        """View some sequences, in the order of `index`, without copying their steps.

        >>> SequenceData([1, 2, 3], [0, 2, 3]).part([1]).whole().inputs.tolist()
        [[3]]
        """
        rows = _as_rows(index, len(self))
        targets = self._targets if self._targets is None or self.targets_per_step else self._targets[rows]
        return SequenceData.windows(
            self._inputs,
            self._starts[rows],
            self._lengths[rows],
            targets,
            targets_per_step=self.targets_per_step,
            ids=PickedNames(self._ids, rows),
            documents=self._documents,
        )

    def with_targets(self, targets: Any) -> "SequenceData":
        """View the same steps with other targets, a row a sequence; nothing is copied.

        >>> SequenceData([1, 2, 3], [0, 2, 3]).with_targets([7, 8]).select([1]).targets
        tensor([8])
        """
        return SequenceData.windows(
            self._inputs, self._starts, self._lengths, targets, ids=self._ids, documents=self._documents
        )

    def whole(self) -> Batch:
        """Pad all sequences to one batch."""
        return self.select(np.arange(len(self)))

    def fingerprint(self) -> str:
        """SHA-256 of types, shapes, lengths, inputs and targets: equal for equal sequences, in memory or not.

        Reads a bounded part at a time. Names of sequences do not enter.
        """
        digest = sha256(f"lengths {len(self)};".encode())
        digest.update(np.ascontiguousarray(self._lengths).tobytes())
        parts = (("inputs", self._inputs, True), ("targets", self._targets, self.targets_per_step))
        for name, part, per_step in (*parts, ("documents", self._documents, True)):
            if part is None:
                digest.update(f"{name} absent;".encode())
                continue
            digest.update(f"{name} {part.dtype.str} {part.shape[1:]} {per_step};".encode())
            for piece in self._pieces(part) if per_step else (part,):
                digest.update(np.ascontiguousarray(piece).tobytes())
        return digest.hexdigest()

    def save(self, folder: Path | str) -> None:
        """Write a folder of numpy files, without pickle; it appears whole or not at all.

        Raises:
            RunError: If the folder exists or cannot be written.
        """
        with FolderWriter(Path(folder)) as writer:
            for piece in self._pieces(self._inputs):
                writer.append("inputs", piece)
            writer.append("offsets", self.offsets)
            if self._documents is not None:
                for piece in self._pieces(self._documents):
                    writer.append("documents", piece)
            if self._targets is not None:
                for piece in self._pieces(self._targets) if self.targets_per_step else (self._targets,):
                    writer.append("targets", piece)
            if self._ids is not None:
                for name, array in zip(("id_characters", "id_offsets"), pack_names(self._ids), strict=True):
                    writer.append(name, array)
            writer.describe({"targets_per_step": self.targets_per_step})

    @classmethod
    def open(cls, folder: Path | str) -> "SequenceData":
        """Open what `save` or the conversion of a table wrote, memory-mapped.

        Raises:
            DataError: If the folder is missing, foreign or damaged.
        """
        arrays, about = open_folder(Path(folder))
        try:
            ids = StoredNames(arrays["id_characters"], arrays["id_offsets"]) if "id_offsets" in arrays else None
            return cls(
                arrays["inputs"],
                arrays["offsets"],
                arrays.get("targets"),
                targets_per_step=about["targets_per_step"],
                ids=ids,
                documents=arrays.get("documents"),
            )
        except (KeyError, ShapeError) as error:
            raise DataError(complain(str(folder), "folder", "whole", f"{error!s}", "Make the folder again.")) from error

    @property
    def _is_whole(self) -> bool:
        """Whether the sequences are all of the flat arrays, in order."""
        if int(self._lengths.sum()) != len(self._inputs):
            return False
        return bool((self._starts == self.offsets[:-1]).all())

    def _steps(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the places of all steps of some sequences, one sequence after the other."""
        lengths = self._lengths[rows]
        ends = np.cumsum(lengths)
        return np.arange(lengths.sum()) + np.repeat(self._starts[rows] - (ends - lengths), lengths)

    def _pieces(self, part: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Give what belongs to the steps of all sequences, in their order, a bounded part at a time."""
        if self._is_whole:
            yield from (part[start : start + STEPS_AT_ONCE] for start in range(0, len(part), STEPS_AT_ONCE))
            return
        borders = np.flatnonzero(np.diff(self.offsets[1:] // STEPS_AT_ONCE)) + 1
        for rows in np.split(np.arange(len(self)), borders):
            yield part[self._steps(rows)]


def _gather(
    part: NDArray[Any], steps: NDArray[np.int64], padding: NDArray[np.bool_] | None, filler: int | float
) -> Tensor:
    """Take steps as (batch, time, ...), with a filler at padding."""
    taken = np.asarray(part[steps])
    if padding is not None:
        taken[padding] = filler
    return _to_tensor(taken)


def _to_tensor(values: NDArray[Any]) -> Tensor:
    """Make a tensor of its own memory; whole numbers become int64."""
    tensor = torch.from_numpy(np.array(values))
    return tensor if tensor.is_floating_point() or tensor.dtype == torch.uint8 else tensor.long()


def _as_array(values: Any, kind: Any) -> NDArray[Any]:
    """Read a tensor, array or list as an array of one type, without a copy where it has that type."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
    return np.asanyarray(array, dtype=kind)


def _as_inputs(values: Any) -> NDArray[Any]:
    """Bring inputs to float32 or int32."""
    array = _as_array(values, None)
    if array.ndim not in (1, 2, 4) or array.dtype.kind not in "fiub":
        rule = "(steps, features) numbers, (steps,) ids or (n, channels, height, width) images"
        raise ShapeError(complain("SequenceData", "inputs", rule, _briefly(array)))
    if array.ndim == 1 and array.dtype.kind == "f":
        rule = "whole numbers where they are (steps,)"
        raise ShapeError(complain("SequenceData", "inputs", rule, _briefly(array), "Give features a second axis."))
    return _as_array(array, np.int32 if array.ndim == 1 else np.float32)


def _as_targets(values: Any) -> NDArray[Any]:
    """Bring targets to float32 or int64."""
    array = _as_array(values, None)
    return _as_array(array, np.float32 if array.dtype.kind == "f" else np.int64)


def _as_rows(index: Index, count: int) -> NDArray[np.int64]:
    """Read an index as numbers of sequences."""
    if isinstance(index, slice):
        return np.arange(count)[index]
    array = _as_array(index, None)
    if array.dtype == np.bool_:
        if array.shape != (count,):
            raise ConfigError(complain("SequenceData", "a bool index", f"({count},)", array.shape))
        return np.flatnonzero(array)
    rows = np.asarray(array, dtype=np.int64).reshape(-1)
    if len(rows) and (rows.min() < -count or rows.max() >= count):
        wrong = int(rows[(rows < -count) | (rows >= count)][0])
        raise ConfigError(complain("SequenceData", "index", f"below the {count} sequences", wrong))
    return np.where(rows < 0, rows + count, rows)


def _briefly(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"
