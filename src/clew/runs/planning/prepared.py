"""What every kind of file is brought to before training: three parts, a task, and what was decided on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.data import SequenceData, split_sequences
from clew.data.splitting import Parts
from clew.errors import ConfigError, DataError, complain
from clew.runs.inputs import AnyPreparation
from clew.runs.planning.options import DataOptions, SplitOptions
from clew.tasks import Task


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be prepared.

    Attributes:
        file: What is trained on.
        kind: What it holds; see `kind_of_file`.
        task: Name of the task; None to guess it.
        validation: File that selects; None to split it off.
        test: File that is scored once; None to split it off, unless `validation` is given.
        preset: Name of the model; None to choose it.
        columns: Roles of columns that were given.
        data, split: How it is read, and split.
        settings: Settings of the task.
    """

    file: Path
    kind: str
    task: str | None
    validation: Path | None
    test: Path | None
    preset: str | None
    columns: Mapping[str, Any]
    data: DataOptions
    split: SplitOptions
    settings: Mapping[str, Any]

    @property
    def fractions(self) -> tuple[float, float, float]:
        """Shares of the parts that the file itself is cut into.

        Raises:
            ConfigError: If nothing would be left for a part.
        """
        train, validation, test = self.split.fractions
        shares = (train, 0.0 if self.validation else validation, 0.0 if self.test or self.validation else test)
        total = sum(shares)
        if min(self.split.fractions) < 0 or not train > 0 or (not self.validation and not validation > 0):
            rule = "at least 0 each, and above 0 for training and validation"
            raise ConfigError(complain("split", "fractions", rule, list(self.split.fractions)))
        if abs(sum(self.split.fractions) - 1) > 1e-9:
            raise ConfigError(complain("split", "fractions", "three shares with sum 1", list(self.split.fractions)))
        return shares[0] / total, shares[1] / total, shares[2] / total

    @property
    def is_split(self) -> bool:
        """Whether the file is cut into parts."""
        return self.validation is None


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a file was brought to.

    Attributes:
        task: What is predicted.
        preparation: What turns files into sequences, fitted on the training part alone.
        train: What is fitted.
        validation: What selects.
        test: What is scored once, after selection; None where there is none.
        resolved: Sections of settings as they were decided.
        notes: Decisions that the user should know of, a sentence each.
    """

    task: Task
    preparation: AnyPreparation
    train: SequenceData
    validation: SequenceData
    test: SequenceData | None
    resolved: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def describe_parts(how: str, train: Any, validation: Any, test: Any, words: str = "sequences") -> str:
    """Say how large the parts are."""
    sizes = ", ".join(
        f"{len(part):,} {name}" for name, part in (("train", train), ("validation", validation), ("test", test)) if part
    )
    return f"split {how}: {sizes} {words}"


def require_part(path: Path, name: str, part: Any) -> None:
    """Raise where a part is empty.

    Raises:
        DataError: If it is.
    """
    if part is None or not len(part):
        remedy = "Give this part a larger share with split.fractions, or a file of its own."
        raise DataError(complain(str(path), f"the {name} part", "at least one sequence", "none", remedy))


def split_table(table: Any, request: Request, how: str, stratify: bool) -> Parts[Any]:
    """Cut a table into parts as was asked for."""
    return split_sequences(table, how, request.fractions, request.split.seed, stratify=stratify)
