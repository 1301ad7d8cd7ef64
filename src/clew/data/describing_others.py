"""What is in a text or in images: for people before they train, and as JSON. Tables have `describe`."""

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from clew.data.categories import sort_words
from clew.data.documents import Documents
from clew.data.images import Images

SHOWN_CHARACTERS = 12
SHOWN_CLASSES = 20


@dataclass(frozen=True)
class TextDescription:
    """What a text holds; the fields are those of `to_json`."""

    path: str
    documents: int
    characters: int
    bytes: int
    lines: int
    words: int
    distinct_words: int
    distinct_characters: int
    most_frequent: dict[str, int]
    repeated_lines: int

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return dict(vars(self))

    def table(self) -> str:
        """Give the description as text."""
        frequent = ", ".join(f"{character!r} {count:,}" for character, count in self.most_frequent.items())
        return "\n".join(
            [
                f"{self.path}: text, {self.documents:,} {'document' if self.documents == 1 else 'documents'}, "
                f"{self.characters:,} characters, {self.bytes:,} bytes",
                f"lines: {self.lines:,}, of which {self.repeated_lines:,} repeat an earlier one",
                f"words: {self.words:,}, {self.distinct_words:,} different",
                f"characters: {self.distinct_characters:,} different, the most frequent {frequent}",
                "",
                f"next_token  predicts the next of {self.distinct_characters:,} characters; or of bytes, words or "
                "pieces (--set data.vocabulary=bytes)",
            ]
        )


def describe_text(documents: Documents, path: str) -> TextDescription:
    """Look at documents.

    >>> describe_text(Documents(("ab\\nab\\n",), ("a",)), "a.txt").repeated_lines
    1
    """
    text = "".join(documents.texts)
    counts = Counter(text)
    lines = [line for line in text.splitlines() if line.strip()]
    words = text.split()
    return TextDescription(
        path=path,
        documents=len(documents),
        characters=len(text),
        bytes=len(text.encode()),
        lines=len(lines),
        words=len(words),
        distinct_words=len(set(words)),
        distinct_characters=len(counts),
        most_frequent=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_CHARACTERS]),
        repeated_lines=len(lines) - len(set(lines)),
    )


@dataclass(frozen=True)
class ImageDescription:
    """What images hold; the fields are those of `to_json`."""

    path: str
    images: int
    channels: int
    height: int
    width: int
    least: float
    largest: float
    mean: float
    classes: dict[str, int] | None
    duplicates: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return dict(vars(self))

    def table(self) -> str:
        """Give the description as text."""
        lines = [
            f"{self.path}: {self.images:,} images, {self.channels} x {self.height} x {self.width} (channels, height, "
            f"width), values {self.least:g} to {self.largest:g}, mean {self.mean:.4g}"
        ]
        if self.classes is not None:
            shown = list(self.classes.items())[:SHOWN_CLASSES]
            more = ", ..." if len(self.classes) > len(shown) else ""
            lines.append(f"classes: {len(self.classes)}: {', '.join(f'{name} {n:,}' for name, n in shown)}{more}")
        repeated, differing = self.duplicates["images"], self.duplicates["with_another_label"]
        lines.append(f"equal images: {repeated:,}{f', {differing:,} of them with another label' if differing else ''}")
        count = len(self.classes or {})
        words = (
            f"predicts which of {count} classes each image has" if count > 1 else "not as it is: fewer than 2 classes."
        )
        return "\n".join([*lines, "", f"classification  {words}"])


def describe_images(images: Images) -> ImageDescription:
    """Look at images."""
    first: dict[bytes, str] = {}
    repeated = differing = 0
    for place, pixels in enumerate(images.pixels):
        key = sha256(np.ascontiguousarray(pixels).tobytes()).digest()
        label = "" if images.labels is None else images.labels[place]
        repeated += key in first
        differing += first.get(key, label) != label
        first.setdefault(key, label)
    counts = None if images.labels is None else Counter(images.labels)
    _, channels, height, width = images.pixels.shape
    return ImageDescription(
        path=str(images.path),
        images=len(images),
        channels=channels,
        height=height,
        width=width,
        least=float(images.pixels.min()),
        largest=float(images.pixels.max()),
        mean=float(images.pixels.mean()),
        classes=None if counts is None else {name: counts[name] for name in sort_words(counts)},
        duplicates={"images": repeated, "with_another_label": differing},
    )
