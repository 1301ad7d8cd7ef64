"""What can be said of a training besides the file: sections of plain values, as TOML or `--set a.b=value` has them.

    [columns]   which column is what              [task]       its name and its own settings
    [data]      how the file is read and cut      [model]      preset and options of `clew.models.build`
    [split]     how parts are made                [training]   fields of `TrainConfig`
    [run]       seeds, audit, device

A value that is not given is chosen by `clew.runs.planning`, and kept with the run.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from clew.data import Columns
from clew.errors import ConfigError, complain, did_you_mean
from clew.models.presets import build
from clew.tasks import Forecasting, Tagging
from clew.training import TrainConfig, parse_value, settings_of

TASK_NAMES = ("classification", "tagging", "next_token", "forecasting", "regression")
TASK_SETTINGS: dict[str, dict[str, Any]] = {name: {} for name in TASK_NAMES} | {
    "tagging": settings_of(Tagging, leave_out=("classes", "class_weights", "word")),
    "forecasting": settings_of(Forecasting, leave_out=("series", "past", "known", "scaling")),
}
FOLLOWS_FROM_DATA = ("outputs", "vocab", "features", "categories", "image", "channels", "generator")
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class DataOptions:
    """How a file is read and cut; what does not concern a kind of file must not be given for it.

    Attributes:
        format: "csv", "parquet" or "jsonl", where the name of a table does not say so.
        delimiter, encoding: Of text tables.
        sort: Whether steps of a table that are not in the order of time are sorted.
        missing: What is done with missing values: "refuse", "mean" or "forward".
        min_count: How often a category, or a word of a vocabulary, must occur to be known.
        allow_unseen: Whether a class that training did not have counts as wrong, instead of being an error.
        stream: Whether a table or text is converted on disk instead of read into memory; by default from 500 MB on.
        cache: Folder of converted files.
        label: Annotation that is predicted in CoNLL-U.
        vocabulary: Of text: "characters", "words", "bytes" or "bpe".
        vocabulary_size: Most words, or pieces of bpe.
        documents: What stands alone in a text: "files", "paragraphs" or "lines".
        context: Steps that are read before a prediction: ids of a window of text, steps before a horizon.
        stride: Steps from one training window of series to the next.
        origin_stride: Steps from one origin to the next in validation and test.
        layout: "images", or "rows" to read images as sequences of rows.
        axes: Axes of an array of images: "nhw", "nhwc" or "nchw".
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sort: bool | None = None
    missing: Literal["refuse", "mean", "forward"] | None = None
    min_count: int | None = None
    allow_unseen: bool | None = None
    stream: bool | None = None
    cache: str | None = None
    label: str | None = None
    vocabulary: Literal["characters", "words", "bytes", "bpe"] | None = None
    vocabulary_size: int | None = None
    documents: Literal["files", "paragraphs", "lines"] | None = None
    context: int | None = None
    stride: int | None = None
    origin_stride: int | None = None
    layout: Literal["images", "rows"] | None = None
    axes: Literal["nhw", "nhwc", "nchw"] | None = None

    def refuse_others(self, kind: str, known: Sequence[str]) -> None:
        """Raise where something is given that this kind of file has no use for.

        Raises:
            ConfigError: With all of it.
        """
        stray = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        stray = [f"data.{name}" for name in stray if name not in known]
        if stray:
            rule = f"ones for {kind}: {', '.join(f'data.{name}' for name in known)}"
            raise ConfigError(complain("plan_training", "settings", rule, ", ".join(stray), "Leave them out."))


@dataclass(frozen=True)
class SplitOptions:
    """How training, validation and test part are made.

    Attributes:
        how: "given", "group", "time" or "random"; of text "parts" or "documents".
        fractions: Shares of the three parts.
        seed: Seed of the draw.
        stratify: Whether each class has the same shares in every part.
    """

    how: Literal["given", "group", "time", "random", "parts", "documents"] | None = None
    fractions: tuple[float, ...] = (0.7, 0.15, 0.15)
    seed: int = 0
    stratify: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fractions", tuple(self.fractions))
        if len(self.fractions) != 3:
            raise ConfigError(complain("split", "fractions", "three numbers", list(self.fractions)))


@dataclass(frozen=True)
class RunOptions:
    """What belongs to one run.

    Attributes:
        seed: Draws initial weights and dropout.
        order_seed: Draws the order of the batches.
        audit: "refuse", "warn" or "skip".
        device: "cpu" or "cuda"; by default a GPU if there is one.
        tensorboard: Whether figures are logged for TensorBoard too, in the run's folder; needs the extra.
    """

    seed: int = 0
    order_seed: int = 0
    audit: Literal["refuse", "warn", "skip"] = "refuse"
    device: str | None = None
    tensorboard: bool = False


def sections() -> dict[str, dict[str, Any]]:
    """Give every setting of every section, with its annotation."""
    every_task = {name: kind for settings in TASK_SETTINGS.values() for name, kind in settings.items()}
    return {
        "columns": settings_of(Columns),
        "data": settings_of(DataOptions),
        "split": settings_of(SplitOptions),
        "task": {"name": str, **every_task},
        "model": settings_of(build, leave_out=FOLLOWS_FROM_DATA),
        "training": settings_of(TrainConfig),
        "run": settings_of(RunOptions),
    }


def check_sections(values: Mapping[str, Any], others: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """See that every section and setting is known and of its kind.

    Args:
        values: Sections of plain values.
        others: Keys that are known to the caller, and skipped.

    Raises:
        ConfigError: With all problems at once.
    """
    known, problems, found = sections(), [], {}
    for name, part in values.items():
        if name in others:
            continue
        if name not in known:
            problems.append(f"configuration: unknown section '{name}'. {did_you_mean(name, [*known, *others])}")
        elif not isinstance(part, Mapping):
            problems.append(
                complain("configuration", name, "a section", repr(part), f"Write [{name}] above its values.")
            )
        else:
            found[name] = {}
            for key, value in part.items():
                where = f"{name}.{key}"
                if key not in known[name]:
                    problems.append(f"configuration: unknown key '{where}'. {did_you_mean(key, known[name])}")
                    continue
                try:
                    found[name][key] = as_kind(where, value, known[name][key])
                except ConfigError as error:
                    problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def as_kind(name: str, value: Any, kind: Any) -> Any:
    """Give a plain value as what a setting is.

    Raises:
        ConfigError: If it is of another kind.

    >>> as_kind("split.fractions", [0.8, 0.1, 0.1], tuple[float, ...])
    [0.8, 0.1, 0.1]
    """
    if value is None or fits(value, kind):
        if isinstance(value, list | tuple) and float in get_args(kind):
            return [float(one) for one in value]
        return value
    words = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if isinstance(value, bool):
        words = repr(value)
    try:
        return parse_value(name, words, kind)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--set", "configuration", 1)) from None


def fits(value: Any, kind: Any) -> bool:
    """Say whether a value is of a kind already; whole numbers are numbers too, yes and no are no numbers."""
    if get_origin(kind) in (Union, types.UnionType):
        return any(fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float)
    if get_origin(kind) is not None:
        inner = next((one for one in get_args(kind) if one is not Ellipsis), Any)
        return isinstance(value, list | tuple) and all(fits(one, inner) for one in value)
    return isinstance(value, kind) if isinstance(kind, type) else False


def section_of(owner: type[Kept], values: Mapping[str, Any]) -> Kept:
    """Make the record of a section; what is None takes its default."""
    given = {name: value for name, value in values.items() if value is not None}
    return owner(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
