"""A file in pieces gives what the file as a whole gives, with memory for a few pieces."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from clew.data import Preparation, SplitRule, convert_table, read_table, split_sequences
from clew.data.conversion_folder import file_sha256
from clew.errors import ConfigError, DataError


def write(folder: Path, name: str = "a.csv", count: int = 40) -> Path:
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 9, count)
    numbers = np.repeat(np.arange(count), lengths)
    steps = np.concatenate([np.arange(length) for length in lengths])
    frame = pl.DataFrame(
        {
            "id": np.char.add("sé", numbers.astype(str)),
            "time": steps,
            "x": generator.normal(size=len(steps)),
            "colour": generator.choice(["red", "blue", 'a "green", one'], len(steps)),
            "label": np.array(["u", "v", "w"])[numbers % 3],
        }
    )
    path = folder / name
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[path.suffix](path)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_pieces_give_what_the_whole_gives(tmp_path: Path, name: str, task: str) -> None:
    path = write(tmp_path, name)
    rule = SplitRule(stratify=task == "classification", seed=2)
    converted = convert_table(path, tmp_path / "cache", task=task, split=rule, piece_bytes=200)
    parts = split_sequences(read_table(path, task=task), seed=2, stratify=rule.stratify)
    preparation = Preparation.fit(parts.train, task)
    assert converted.preparation.maps == preparation.maps and converted.preparation.classes == preparation.classes
    assert np.allclose(converted.preparation.scaling.means, preparation.scaling.means, rtol=1e-12)
    for mine, table in zip(converted.parts, parts, strict=True):
        expected = preparation.apply(table)
        assert list(mine.ids) == list(expected.ids) and mine.lengths.equal(expected.lengths)
        assert np.allclose(mine.inputs, expected.inputs, atol=1e-6)
        assert mine.targets is not None and np.array_equal(mine.targets, np.asarray(expected.targets))


@pytest.mark.parametrize("how", ["given", "group", "time"])
def test_parts_in_pieces_follow_the_columns(tmp_path: Path, how: str) -> None:
    path = write(tmp_path)
    number = pl.col("id").str.slice(2).cast(pl.Int64)
    part = pl.when(number % 5 == 0).then(pl.lit("test")).when(number % 5 == 1).then(pl.lit("validation"))
    split, time = part.otherwise(pl.lit("train")), pl.col("time") - 10 * number
    pl.read_csv(path).with_columns(group=number % 8, split=split, time=time).write_csv(path)
    converted = convert_table(path, tmp_path / "cache", task="classification", split=SplitRule(how), piece_bytes=200)
    parts = split_sequences(read_table(path, task="classification"), how)
    assert [list(part.ids) for part in converted.parts] == [table.ids for table in parts]


def test_a_preparation_from_elsewhere_gives_the_same_bits(tmp_path: Path) -> None:
    path = write(tmp_path)
    table = read_table(path, task="classification")
    preparation = Preparation.fit(table, "classification")
    converted = convert_table(path, tmp_path / "cache", preparation=preparation, piece_bytes=100)
    assert converted.data.fingerprint() == preparation.apply(table).fingerprint()
    assert isinstance(converted.data._inputs, np.memmap)


def test_a_sequence_longer_than_a_piece_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,x\n" + "".join(f"{step},{step % 7}\n" for step in range(500)))
    converted = convert_table(path, tmp_path / "cache", task="forecasting", piece_bytes=64)
    assert converted.data.lengths.tolist() == [500]


def test_the_folder_is_used_again_until_file_or_arguments_change(tmp_path: Path) -> None:
    path, cache = write(tmp_path), tmp_path / "cache"
    first = convert_table(path, cache, task="classification")
    assert not first.is_reused and convert_table(path, cache, task="classification").is_reused
    os.utime(path, ns=(1, 1))
    assert convert_table(path, cache, task="classification").is_reused, "another time, the same content"
    assert not convert_table(path, cache, task="tagging").is_reused
    text = path.read_text()
    path.write_text(text.replace("red", "rad"))
    second = convert_table(path, cache, task="classification")
    assert not second.is_reused and second.folder == first.folder and "rad" in second.preparation.maps[0].words
    assert [item.name for item in cache.iterdir() if ".new" in item.name or ".part" in item.name] == []
    about = json.loads((second.folder / "sequences.json").read_text())
    assert about["source"]["sha256"] == file_sha256(path)


def test_a_damaged_folder_is_made_again(tmp_path: Path) -> None:
    path = write(tmp_path)
    first = convert_table(path, tmp_path / "cache", task="classification")
    inputs, expected = first.folder / "inputs.npy", first.data.fingerprint()
    inputs.write_bytes(inputs.read_bytes()[:-4])
    again = convert_table(path, tmp_path / "cache", task="classification")
    assert not again.is_reused and again.data.fingerprint() == expected


def test_problems_of_all_pieces_are_told_at_once_and_leave_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"s{number},{step},1,u" for number in range(30) for step in range(2)]
    rows[3], rows[40], rows[59] = "s1,1,NaN,u", "s20,0,1,v", "s3,9,abc,u"
    path.write_text("\n".join(["id,time,x,label", *rows]) + "\n")
    with pytest.raises(DataError) as error:
        convert_table(path, tmp_path / "cache", task="classification", piece_bytes=64)
    places = [line.removeprefix(f"{path}: ").split(":")[0] for line in str(error.value).splitlines()]
    assert sorted(places) == [
        "column 'id', row 60",
        "column 'label', row 42",
        "column 'x', row 4",
        "column 'x', row 60",
    ]
    assert not list((tmp_path / "cache").glob("a-*"))


@pytest.mark.parametrize(("value", "got"), [("{}", "nested values"), ("[1]", "lists")])
def test_a_column_of_another_type_in_a_later_piece_is_told(tmp_path: Path, value: str, got: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "x": 1, "label": "u"}\n' * 9 + f'{{"id": "a", "x": {value}, "label": "{"u" * 50}"}}\n')
    with pytest.raises(DataError) as error:
        convert_table(path, tmp_path / "cache", task="classification", piece_bytes=34)
    assert str(error.value) == f"{path}: column 'x', row 10 or later: values must be number in every row, got {got}."


def test_what_pieces_cannot_do_is_told(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(ConfigError, match="missing must be 'refuse' or 'mean' for a file in pieces"):
        convert_table(path, tmp_path, task="classification", missing="forward")
    preparation = Preparation.fit(read_table(path, task="classification"), "classification")
    other = tmp_path / "b.csv"
    other.write_text(path.read_text().replace(",w\n", ",q\n"))
    with pytest.raises(
        DataError, match=r"column 'label', row \d+: class must be one of the 3 that training has, got 'q'"
    ):
        convert_table(other, tmp_path / "cache", preparation=preparation, piece_bytes=100)


MEASURE = """
import resource, sys
from pathlib import Path
from clew.data import convert_table, read_table
path = Path(sys.argv[1])
small = path.with_name("small.csv")
small.write_bytes(path.open("rb").read(12_000_000).rsplit(b"\\n", 1)[0] + b"\\n")
convert_table(small, path.parent / "cache", task="classification", piece_bytes=4 << 20)
data = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (data + int(sys.argv[2]), data + int(sys.argv[2])))
if sys.argv[3] == "whole":
    read_table(path, task="classification")
converted = convert_table(path, path.parent / "cache", task="classification", piece_bytes=4 << 20)
order = [7, 3, len(converted.data) - 1]
print(len(converted.data), int(converted.data.lengths.sum()), converted.data.select(order).inputs.shape[0])
"""


@pytest.mark.slow
def test_a_file_several_times_larger_than_memory_is_converted(tmp_path: Path) -> None:
    path, sequences, steps = tmp_path / "large.csv", 120_000, 50
    generator = np.random.default_rng(0)
    cells = [f"{value:.12f}" for value in generator.normal(size=1000)]
    with path.open("w") as stream:
        stream.write("id,time,a,b,c,d,label\n")
        for number in range(sequences):
            row = ",".join(cells[(number + place) % 1000] for place in range(4))
            stream.write("".join(f"s{number},{step},{row},{'uv'[number % 2]}\n" for step in range(steps)))
    allowed = 128 << 20
    assert path.stat().st_size > 3 * allowed
    command = [sys.executable, "-c", MEASURE, str(path), str(allowed)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "pieces"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [str(sequences), str(sequences * steps), "3"]
    whole = subprocess.run([*command, "whole"], capture_output=True, text=True, env=environment, check=False)
    assert whole.returncode != 0, "the cap must stop what reads the file at once"
