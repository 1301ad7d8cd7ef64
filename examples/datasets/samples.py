"""Write the small samples in examples/data again, from what `make datasets` has put into datasets/.

    .venv/bin/python examples/datasets/samples.py datasets examples/data

Where they come from and under which licence is in examples/data/README.md.
"""

import csv
import sys
from collections.abc import Callable
from datetime import date, timedelta
from itertools import islice
from pathlib import Path

import numpy as np
from prepare import write_csv

UTTERANCES = 9  # of each speaker
SENTENCES = 250
FIRST_BOOKS = 12 * 1024  # characters of a book
HALF_HOURS = 28 * 48
IMAGES = 60  # of each digit
DAYS = 1500


def sample_vowels(datasets: Path, folder: Path) -> None:
    """The first utterances of each speaker of the training part; of the test part two each, without the label."""
    for part, count, name, is_labelled in (
        ("train", UTTERANCES, "japanese-vowels.csv", True),
        ("test", 2, "japanese-vowels-new.csv", False),
    ):
        with (datasets / "japanese-vowels" / f"{part}.csv").open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        kept: dict[str, list[str]] = {}
        for row in rows:
            sequences = kept.setdefault(row[-1], [])
            if row[0] not in sequences and len(sequences) < count:
                sequences.append(row[0])
        last = len(header) if is_labelled else -1
        chosen = [row[:last] for row in rows if row[0] in kept[row[-1]]]
        write_csv(folder / name, header[:last], chosen)


def sample_treebank(datasets: Path, folder: Path) -> None:
    """The first sentences of the training part, without the annotations that no example reads."""
    text = (datasets / "portuguese" / "train.conllu").read_text(encoding="utf-8")
    sentences = []
    for block in islice(text.strip("\n").split("\n\n"), SENTENCES):
        lines = []
        for line in block.split("\n"):
            if line.startswith("# text"):
                continue
            cells = line.split("\t")
            lines.append(line if line.startswith("#") else "\t".join([*cells[:4], *["_"] * 6]))
        sentences.append("\n".join(lines))
    (folder / "portuguese.conllu").write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8", newline="\n")


def sample_bible(datasets: Path, folder: Path) -> None:
    """The first chapters of eight books, each up to the end of a verse."""
    books = (datasets / "bible" / "train.txt").read_text(encoding="utf-8").split("\n\n")
    pieces = [book[: book.index("\n", FIRST_BOOKS) + 1] for book in books if len(book) > 10 * FIRST_BOOKS]
    (folder / "bible.txt").write_text("\n".join(pieces[:8]), encoding="utf-8", newline="\n")


def sample_electricity(datasets: Path, folder: Path) -> None:
    """The first four weeks."""
    with (datasets / "electricity" / "demand.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    write_csv(folder / "electricity.csv", header, rows[:HALF_HOURS])


def sample_digits(datasets: Path, folder: Path) -> None:
    """The first images of each digit."""
    with np.load(datasets / "digits" / "digits-8x8.npz") as archive:
        images, labels = archive["images"], archive["labels"]
    rows = np.sort(np.concatenate([np.flatnonzero(labels == digit)[:IMAGES] for digit in range(10)]))
    np.savez_compressed(folder / "digits.npz", images=images[rows], labels=labels[rows])


def sample_returns(_: Path, folder: Path) -> None:
    """Returns in percent that were drawn, not observed: GARCH(1, 1), whose mean nothing can predict.

    variance' = 0.02 + 0.09 return^2 + 0.89 variance,  return' = sqrt(variance') normal
    """
    normal = np.random.Generator(np.random.PCG64(0)).standard_normal(DAYS)
    day, variance, value, rows = date(2020, 1, 1), 1.0, 0.0, []
    for draw in normal:
        variance = 0.02 + 0.09 * value**2 + 0.89 * variance
        value = float(np.sqrt(variance) * draw)
        rows.append((day.isoformat(), f"{value:.6f}"))
        day += timedelta(days=3 if day.weekday() == 4 else 1)
    write_csv(folder / "simulated-returns.csv", ("date", "return"), rows)


SAMPLES: tuple[Callable[[Path, Path], None], ...] = (
    sample_vowels, sample_treebank, sample_bible, sample_electricity, sample_digits, sample_returns,
)  # fmt: skip


if __name__ == "__main__":
    for write_sample in SAMPLES:
        write_sample(Path(sys.argv[1]), Path(sys.argv[2]))
