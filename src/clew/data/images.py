"""Images with a class each, from an .npz file or a folder of folders with PNG files.

`read_images` gives `Images`, (n, channels, height, width); `Images.split` makes parts; `ImagePreparation` holds scaling
and classes of the training part and gives whole images, or their rows from top to bottom as a sequence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.data.categories import sort_words
from clew.data.problems import Problems, TableError, shorten
from clew.data.sequence_data import UNSEEN, SequenceData
from clew.data.splitting import DEFAULT_FRACTIONS, Outline, SplitRule
from clew.errors import ConfigError, DataError, complain, did_you_mean

KIND = "images"
LARGEST_PIXEL = 1e30
LAYOUTS = ("images", "rows")


@dataclass(frozen=True, eq=False)
class Images:
    """Images of one size.

    Attributes:
        pixels: (n, channels, height, width) float32, as they are in the file.
        labels: Class of each, as text; None where the file has none.
        ids: Name of each: its number, or its path in the folder.
        path: The file or folder.

    Raises:
        DataError: If the parts do not belong together.
    """

    pixels: NDArray[np.float32]
    labels: tuple[str, ...] | None
    ids: tuple[str, ...]
    path: Path

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or 0 in self.pixels.shape[1:]:
            rule = "(n, channels, height, width)"
            raise DataError(complain(str(self.path), "images", rule, self.pixels.shape))
        for what, values in (("labels", self.labels), ("ids", self.ids)):
            if values is not None and len(values) != len(self.pixels):
                raise DataError(complain(str(self.path), what, f"{len(self.pixels)}, one an image", len(values)))

    def __len__(self) -> int:
        """Number of images."""
        return len(self.pixels)

    def part(self, index: Any) -> "Images":
        """Take some images, in the order of `index`: numbers, or a bool an image."""
        rows = np.arange(len(self))[np.asarray(index)]
        labels = None if self.labels is None else tuple(self.labels[row] for row in rows)
        return Images(self.pixels[rows], labels, tuple(self.ids[row] for row in rows), self.path)

    def split(
        self,
        fractions: tuple[float | int, float | int, float | int] = DEFAULT_FRACTIONS,
        seed: int = 0,
        stratify: bool = True,
    ) -> "ImageParts":
        """Draw a training, a validation and a test part.

        Args:
            fractions: Shares of the three parts.
            seed: Seed of the draw.
            stratify: Whether each class has the same shares in every part.

        Raises:
            ConfigError: If the shares are wrong.
            DataError: If there are too few images, or no labels to stratify by.
        """
        labels = None if self.labels is None else np.array(self.labels)
        chosen = SplitRule("random", fractions, seed, stratify).indices(Outline(len(self), labels))
        return ImageParts(*(self.part(rows) for rows in chosen))


class ImageParts(NamedTuple):
    """Three parts of some images.

    Attributes:
        train: What is fitted.
        validation: What selects.
        test: What is scored once.
    """

    train: Images
    validation: Images
    test: Images


@dataclass(frozen=True)
class ImagePreparation:
    """How images become numbers for classification.

    Attributes:
        shape: Channels, height and width.
        means: Mean of each channel over the training part.
        deviations: Its standard deviation there; 1 where a channel is constant.
        classes: Names of the classes.
        layout: "images" for inputs (n, channels, height, width); "rows" for sequences of `height` steps with
            channels x width features, channel by channel.
    """

    shape: tuple[int, int, int]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    classes: tuple[str, ...]
    layout: str = "images"
    task: str = "classification"

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            remedy = did_you_mean(str(self.layout), LAYOUTS)
            raise ConfigError(complain("ImagePreparation", "layout", "known", repr(self.layout), remedy))

    @classmethod
    def fit(cls, images: Images, layout: str = "images") -> "ImagePreparation":
        """Fit to the training part.

        Raises:
            DataError: If there are no labels, or fewer than two classes.
            ConfigError: If the layout is unknown.
        """
        where = str(images.path)
        if images.labels is None:
            raise DataError(complain(where, "labels", "given for training", "none"))
        classes = sort_words(set(images.labels))
        if len(classes) < 2:
            got = f"{len(classes)}: {', '.join(map(repr, classes)) or 'none'}"
            remedy = "With one class there is nothing to learn; add examples of another."
            raise DataError(complain(where, "classes", "at least 2", got, remedy))
        pixels = images.pixels.astype(np.float64)
        deviations = pixels.std(axis=(0, 2, 3))
        deviations = np.where(deviations > 0, deviations, 1.0)
        channels, height, width = images.pixels.shape[1:]
        means = tuple(pixels.mean(axis=(0, 2, 3)).tolist())
        return cls((channels, height, width), means, tuple(deviations.tolist()), classes, layout)

    @property
    def features(self) -> int:
        """Channels of images; numbers of a row otherwise."""
        channels, _, width = self.shape
        return channels if self.layout == "images" else channels * width

    @property
    def categories(self) -> tuple[int, ...]:
        """None."""
        return ()

    def apply(self, images: Images, *, allow_unseen: bool = False) -> SequenceData:
        """Turn images into numbers.

        Args:
            images: Any part; it has no targets where it has no labels.
            allow_unseen: Whether a class that training did not have becomes the target `UNSEEN`, which counts as wrong.

        Raises:
            DataError: If the images have another size.
            TableError: For classes that training did not have, each with its first image.
        """
        if images.pixels.shape[1:] != self.shape:
            rule = f"(channels, height, width) = {self.shape}, as in training"
            raise DataError(complain(str(images.path), "images", rule, images.pixels.shape[1:]))
        column = (1, -1, 1, 1)
        means, deviations = np.array(self.means).reshape(column), np.array(self.deviations).reshape(column)
        pixels = ((images.pixels - means) / deviations).astype(np.float32)
        targets = None if images.labels is None else self._targets(images, images.labels, allow_unseen)
        if self.layout == "images":
            return SequenceData(pixels, None, targets, ids=images.ids)
        count, _, height, _ = pixels.shape
        rows = pixels.transpose(0, 2, 1, 3).reshape(count * height, self.features)
        return SequenceData(rows, np.arange(count + 1) * height, targets, ids=images.ids)

    def _targets(self, images: Images, labels: Sequence[str], allow_unseen: bool) -> NDArray[np.int64]:
        numbers = {name: number for number, name in enumerate(self.classes)}
        targets = np.array([numbers.get(label, UNSEEN) for label in labels], np.int64)
        if allow_unseen or not (targets == UNSEEN).any():
            return targets
        problems = Problems(images.path)
        for label in sort_words({label for label in labels if label not in numbers}):
            place = f"image {images.ids[labels.index(label)]}"
            rule = f"one of the {len(self.classes)} that training has"
            problems.add("", place, "class", rule, shorten(label), did_you_mean(label, self.classes))
        raise TableError(problems.lines())

    def to_mapping(self) -> dict[str, Any]:
        """Give everything as plain JSON values."""
        values = {name: getattr(self, name) for name in ("shape", "means", "deviations", "classes")}
        plain = {name: list(value) for name, value in values.items()}
        return {"kind": KIND, "task": self.task, "layout": self.layout, **plain}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "ImagePreparation":
        """Make the preparation again from what `to_mapping` gave.

        Raises:
            DataError: If something is missing.
        """
        try:
            channels, height, width = mapping["shape"]
            return cls(
                shape=(channels, height, width),
                means=tuple(mapping["means"]),
                deviations=tuple(mapping["deviations"]),
                classes=tuple(mapping["classes"]),
                layout=mapping["layout"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(complain("ImagePreparation", "mapping", "one of images", f"without {error}")) from error
