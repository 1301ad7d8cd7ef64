"""`describe_file`: what a file holds, whatever its kind, and what `clew train` would take it for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.data import (
    Columns,
    Description,
    ImageDescription,
    Table,
    TextDescription,
    describe,
    describe_images,
    describe_text,
    read_conllu,
    read_documents,
    read_images,
    read_table,
)
from clew.errors import ClewError
from clew.runs.planning.files import IMAGES, TEXT, TREEBANK, kind_of_file
from clew.runs.planning.guessing import guess_task
from clew.runs.planning.options import DataOptions, check_sections, section_of, sections
from clew.training import with_overrides


@dataclass(frozen=True)
class FileDescription:
    """What a file holds.

    Attributes:
        about: By its kind.
        training: What `clew train FILE` would do, or what it would ask, in a sentence.
    """

    about: Description | TextDescription | ImageDescription
    training: str

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {**self.about.to_json(), "training": self.training}

    def text(self) -> str:
        """Give everything as text of about 100 columns."""
        return f"{self.about.table()}\n\n{self.training}"


def describe_file(
    file: Path | str, options: Mapping[str, Any] | None = None, overrides: Mapping[str, str] | Sequence[str] = ()
) -> FileDescription:
    """Look at a file.

    Args:
        file: What `plan_training` takes.
        options: Sections `columns` and `data`.
        overrides: Settings in words.

    Raises:
        DataError: If the file cannot be used, with a line a problem; missing values are no problem here.
        ConfigError: If a setting is wrong.
    """
    values = with_overrides(check_sections(options or {}), overrides, sections())
    data, place = section_of(DataOptions, values.get("data", {})), Path(file)
    kind = kind_of_file(place, data.format)
    if kind == TEXT:
        about = describe_text(read_documents(place, data.documents or "files"), str(place))
        return FileDescription(about, "clew train would predict next tokens.")
    if kind == IMAGES:
        about = describe_images(read_images(place, data.axes, needs_label=False))
        words = "clew train would classify images." if about.classes else "clew train needs labels."
        return FileDescription(about, words)
    if kind == TREEBANK:
        table = read_conllu(place, data.label or "upos", needs_label=False)
        return FileDescription(describe(table), "clew train would tag words.")
    columns = Columns.from_mapping(values.get("columns", {}))
    table = read_table(
        place, columns, None, kind=data.format, delimiter=data.delimiter, encoding=data.encoding or "utf-8",
        sort=bool(data.sort), missing="keep",
    )  # fmt: skip
    return FileDescription(describe(table), _training_words(table))


def _training_words(table: Table) -> str:
    try:
        task, why = guess_task(table)
    except ClewError as error:
        return f"clew train would ask: {str(error).removeprefix(f'{table.path}: ')}"
    return f"clew train would take it for {task}: {why}."
