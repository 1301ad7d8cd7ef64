"""Files larger than memory: read in pieces, checked and fitted as small ones are, written as memory-mapped arrays.

The file is read a piece at a time, three times: to check it and to learn which sequences there are, to fit the
preparation on the training part alone, and to write. The result stands in a folder of its own and is used again while
file and arguments are the same. Rows of a sequence must stand together in the file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.data.arranging import Arranger, as_numbers
from clew.data.cleaning import Cleaner, Missing, StepBlock
from clew.data.column_types import to_words
from clew.data.columns import Columns
from clew.data.conversion_folder import convert_once
from clew.data.names import pack_names
from clew.data.preparation import Preparation, PreparationFitter, first_given
from clew.data.problems import Problems
from clew.data.raw_blocks import Source
from clew.data.reading import open_source, prepare_cleaning
from clew.data.sequence_data import UNSEEN, SequenceData
from clew.data.splitting import Outline, Parts, SplitRule
from clew.data.storage import FolderWriter, open_folder
from clew.errors import ConfigError, DataError, complain

if TYPE_CHECKING:
    import polars as pl

PIECE_BYTES = 32 << 20
WHERE = "convert_table"


@dataclass(frozen=True, eq=False)
class Converted:
    """Sequences of a file on disk.

    Attributes:
        data: All of them, memory-mapped.
        preparation: What made the numbers.
        folder: Where they stand.
        indices: Sequences of the training, validation and test part; None where the file was not split.
        is_reused: Whether the folder was there already.
    """

    data: SequenceData
    preparation: Preparation
    folder: Path
    indices: tuple[NDArray[np.int64], ...] | None
    is_reused: bool

    @property
    def parts(self) -> Parts[SequenceData]:
        """The three parts, as views.

        Raises:
            ConfigError: If the file was not split.
        """
        if self.indices is None:
            raise ConfigError(complain(WHERE, "split", "given, to have parts", "none"))
        train, validation, test = (self.data.part(index) for index in self.indices)
        return Parts(train, validation, test, how="converted")


def convert_table(
    path: Path | str,
    cache: Path | str,
    columns: Columns | Mapping[str, Any] | None = None,
    task: str | None = None,
    *,
    preparation: Preparation | None = None,
    split: SplitRule | None = None,
    missing: Missing = "refuse",
    min_count: int = 1,
    allow_unseen: bool = False,
    kind: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    piece_bytes: int = PIECE_BYTES,
) -> Converted:
    """Turn a file of any size into sequences on disk, with memory for a few pieces of it.

    Args:
        path: A table; see `read_table`.
        cache: Folder for converted files; made if it is not there.
        columns: Roles of the columns. Beside a preparation these are the roles in this file, which must have them all,
            the label too; by default those of the preparation, where a label may be missing.
        task: Name of the task; that of the preparation where one is given.
        preparation: What was fitted to the training part elsewhere; None to fit it here.
        split: How to split the sequences; then the preparation is fitted on the training part alone. Without it, and
            without a preparation, the whole file is the training part.
        missing: As for `Preparation`; "forward" is not possible in pieces.
        min_count: As for `Preparation`.
        allow_unseen: As for `Preparation.apply`.
        kind: As for `read_table`.
        delimiter: As for `read_table`.
        encoding: As for `read_table`.
        piece_bytes: About how much of the file is in memory at a time.

    Raises:
        TableError: With one line for each thing that is wrong with the content.
        DataError: If the file cannot be read, or changes meanwhile.
        ConfigError: If an argument is wrong.
        RunError: If the folder cannot be written.
    """
    place = Path(path)
    source = open_source(place, kind=kind, delimiter=delimiter, encoding=encoding)
    task = preparation.task if preparation is not None else task
    missing = preparation.missing if preparation is not None else missing  # pyright: ignore[reportAssignmentType]
    needs_label = preparation is None or columns is not None
    columns = preparation.columns if preparation is not None and columns is None else columns
    if task is None:
        raise ConfigError(complain(WHERE, "task", "given", "none"))
    if missing == "forward":
        raise ConfigError(complain(WHERE, "missing", "'refuse' or 'mean' for a file in pieces", "'forward'"))
    given = columns.to_mapping() if isinstance(columns, Columns) else dict(columns or {})
    asked = {
        "columns": given,
        "task": task,
        "preparation": None if preparation is None else preparation.to_mapping(),
        "split": None if split is None else vars(split),
        "missing": missing,
        "min_count": min_count,
        "allow_unseen": allow_unseen,
        "needs_label": needs_label,
        "reading": [kind, delimiter, encoding],
    }
    conversion = _Conversion(
        source, columns, task, preparation, split, missing, min_count, allow_unseen, needs_label, piece_bytes
    )
    return _open(*convert_once(place, Path(cache), asked, conversion.write))


class _Conversion:
    """The passes over one file."""

    def __init__(
        self,
        source: Source,
        columns: Columns | Mapping[str, Any] | None,
        task: str,
        preparation: Preparation | None,
        split: SplitRule | None,
        missing: Missing,
        min_count: int,
        allow_unseen: bool,
        needs_label: bool,
        piece_bytes: int,
    ) -> None:
        self._source, self._task, self._preparation, self._split = source, task, preparation, split
        self._missing: Missing = missing
        self._min_count, self._piece_bytes = min_count, piece_bytes
        self._allow_unseen, self._needs_label = allow_unseen, needs_label
        self._given: Columns | Mapping[str, Any] | None = columns
        self.columns = Columns()

    def write(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Check, split, fit and write."""
        outline, ids = self._check()
        indices = None if self._split is None else self._indices(self._split, outline)
        preparation = self._preparation
        if preparation is None:
            preparation = self._fit(None if indices is None else indices[0])
        with FolderWriter(folder) as writer:
            self._write_arrays(writer, preparation)
            for name, array in zip(("id_characters", "id_offsets"), pack_names(ids), strict=True):
                writer.append(name, array)
            for number, index in enumerate(indices or ()):
                writer.append(f"part_{number}", index)
            per_step = self._task == "tagging"
            writer.describe({"targets_per_step": per_step, "preparation": preparation.to_mapping(), **about})

    def _blocks(self) -> Iterator[tuple[StepBlock, NDArray[np.int64]]]:
        """Give the steps of each piece, with the places where sequences begin."""
        cleaner: Cleaner | None = None
        arranger: Arranger | None = None
        own = Problems(self._source.path)
        for raw in self._source.blocks(self._piece_bytes):
            if cleaner is None or arranger is None:
                if not raw.frame.height:
                    continue
                cleaner, own, _ = prepare_cleaning(
                    self._source.path, raw, self._given, self._task, self._missing, self._needs_label
                )
                self.columns = cleaner.columns
                arranger = Arranger(cleaner.columns, self._task, sort=False, problems=own)
            block = cleaner.clean(raw)
            yield block, arranger.arrange_next(block)
        if cleaner is None or arranger is None:
            raise DataError(complain(str(self._source.path), "table", "at least one row long", "a header alone"))
        arranger.finish()
        own.raise_if_any()

    def _check(self) -> tuple[Outline, list[str]]:
        """Look at every cell, and note of each sequence what splitting asks for."""
        ids: list[str] = []
        kept: dict[str, list[Any]] = {"label": [], "group": [], "split": []}
        times = []
        for block, starts in self._blocks():
            columns = self.columns
            ids += block.frame[columns.sequence or ""].gather(starts).to_list()
            if self._split is None:
                continue
            label = columns.labels[0] if len(columns.labels) == 1 else None
            for what, name in (("label", label), ("group", columns.group), ("split", columns.split)):
                if name is not None:
                    kept[what] += to_words(first_given(block.frame[name], starts)).fill_null("").to_list()
            if columns.time is not None:
                times.append(as_numbers(block.frame[columns.time])[starts])
        labels, groups, given = (np.array(values) if values else None for values in kept.values())
        return Outline(len(ids), labels, groups, given, np.concatenate(times) if times else None), ids

    def _indices(self, split: SplitRule, outline: Outline) -> tuple[NDArray[np.int64], ...]:
        """Give the sequences of each part; steps of one sequence are cut in memory only."""
        wanted = sum(share > 0 for share in split.fractions)
        if outline.count == 1 < wanted and split.how in ("random", "time"):
            remedy = "Read it into memory to cut it by time: --set data.stream=false, or clew.data.read_table."
            rule = f"at least {wanted}, one a part, where a file is read in pieces"
            raise DataError(complain(str(self._source.path), "sequences", rule, 1, remedy))
        return split.indices(outline)

    def _fit(self, train: NDArray[np.int64] | None) -> Preparation:
        """Fit to the sequences of the training part."""
        fitter = PreparationFitter(self.columns, self._task, missing=self._missing, min_count=self._min_count)
        first = 0
        for block, starts in self._blocks():
            if train is None:
                fitter.update(block.frame, starts)
            else:
                fitter.update(*_of_sequences(block.frame, starts, first, train))
            first += len(starts)
        return fitter.finish(str(self._source.path))

    def _write_arrays(self, writer: FolderWriter, preparation: Preparation) -> None:
        steps = 0
        for block, starts in self._blocks():
            inputs = preparation.encode_inputs(block.frame)
            if inputs.ndim == 2 and not np.isfinite(inputs).all():
                index = int(np.flatnonzero(~np.isfinite(inputs).all(axis=1))[0])
                rule = "of a size that training had"
                raise DataError(complain(f"{self._source.path}: {block.place(index)}", "values", rule, "others"))
            writer.append("inputs", inputs)
            writer.append("offsets", starts + steps)
            steps += block.frame.height
            if preparation.has_targets(self.columns):
                targets = preparation.encode_targets(block.frame, starts)
                if not self._allow_unseen and targets.dtype == np.int64 and (targets == UNSEEN).any():
                    raise _unseen(self._source.path, block, starts, targets, preparation)
                writer.append("targets", targets)
        writer.append("offsets", np.array([steps], np.int64))


def _of_sequences(
    frame: "pl.DataFrame", starts: NDArray[np.int64], first: int, chosen: NDArray[np.int64]
) -> "tuple[pl.DataFrame, NDArray[np.int64]]":
    """Keep the steps of some sequences; `first` is the number of the sequence that begins first here."""
    is_start = np.zeros(frame.height, dtype=bool)
    is_start[starts] = True
    numbers = first - 1 + np.cumsum(is_start)
    kept = np.isin(numbers, chosen)
    return frame.filter(kept), np.flatnonzero(is_start[kept])


def _unseen(
    path: Path, block: StepBlock, starts: NDArray[np.int64], targets: NDArray[Any], preparation: Preparation
) -> DataError:
    """Compose the error for a class that training did not have."""
    row = int(np.flatnonzero(targets == UNSEEN)[0])
    index = row if preparation.task == "tagging" else int(starts[row])
    name = preparation.columns.labels[0]
    rule = f"one of the {len(preparation.classes)} that training has"
    remedy = "Put examples of it into the training part, or drop them here."
    where = f"{path}: column '{name}', {block.place(index)}"
    return DataError(complain(where, "class", rule, repr(block.frame[name][index]), remedy))


def _open(folder: Path, is_reused: bool) -> Converted:
    arrays, about = open_folder(folder)
    names = [name for name in ("part_0", "part_1", "part_2") if name in arrays]
    indices = tuple(np.asarray(arrays[name]) for name in names) or None
    preparation = Preparation.from_mapping(about["preparation"])
    return Converted(SequenceData.open(folder), preparation, folder, indices, is_reused)
