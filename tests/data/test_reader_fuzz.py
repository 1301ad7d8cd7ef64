"""Whatever a file holds, reading gives a table or one of clew's own errors, and never another exception."""

import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.data import Table, as_table, convert_table, describe, read_table
from clew.errors import ClewError

QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
LONG = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TASKS = st.sampled_from([None, "classification", "tagging", "regression", "next_token", "forecasting"])
POLICIES = st.sampled_from(["refuse", "keep"])
CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "a",
            "b",
            "1",
            "2",
            "1.5",
            "NaN",
            "nan",
            "inf",
            "-1e400",
            "1,5",
            "2026-01-01",
            "31.01.2026",
            '"',
            '""',
            '"x"',
            "\r",
            "\n",
            "\0",
            "é",
            "null",
            " 3 ",
            "1e30",
            "train",
        ]
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=4),
)
NAMES = st.sampled_from(["id", "time", "label", "x", "y", "split", "group", "", "1", "é"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["a", "b", 1, 2, "2026-01-01"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2), max_leaves=6
)


def read_it(name: str, content: bytes, task: str | None, missing: str) -> None:
    """Read a file whole and in small pieces, and describe it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            table = read_table(path, task=task, missing=missing)
        except ClewError as error:
            assert str(error), "an error says something"
        else:
            assert isinstance(table, Table) and table.frame.height == table.offsets[-1] == len(table.rows)
            assert describe(table).table()
        if task is not None and missing == "refuse":
            try:
                convert_table(path, Path(folder) / "cache", task=task, piece_bytes=16)
            except ClewError as error:
                assert str(error)


@st.composite
def delimited(draw: st.DrawFn) -> bytes:
    """Draw text that is nearly CSV."""
    width = draw(st.integers(1, 4))
    delimiter, end = draw(st.sampled_from([",", ";", "\t"])), draw(st.sampled_from(["\n", "\r\n"]))
    rows = [draw(st.lists(NAMES, min_size=width, max_size=width))]
    for _ in range(draw(st.integers(0, 6))):
        is_ragged = draw(st.integers(0, 9)) == 0
        rows.append(draw(st.lists(CELLS, min_size=0 if is_ragged else width, max_size=5 if is_ragged else width)))
    return end.join(delimiter.join(row) for row in rows).encode(errors="surrogatepass")


JSON_LINES = st.lists(
    st.one_of(st.dictionaries(NAMES, VALUES, max_size=4).map(json.dumps), st.text(max_size=5), VALUES.map(json.dumps)),
    max_size=6,
).map(lambda lines: "\n".join(lines).encode(errors="surrogatepass"))

FRAMES = st.dictionaries(
    NAMES,
    st.sampled_from(
        [
            [1, 2, 2], [0.5, None, float("nan")], ["a", "a", "b"], [None, None, None], [[1.0], [], None],
            [["a"], ["b", "c"], ["d"]], [[1, 2], [3], [4]], [True, False, None], [b"x", b"", None], [[[1]], [], None],
            [{"k": 1}, {"k": 2}, None],
        ]
    ),
    max_size=5,
).map(pl.DataFrame)  # fmt: skip


def check_bytes(content: bytes, suffix: str, task: str | None) -> None:
    read_it(f"a{suffix}", content, task, "refuse")


def check_frame(frame: pl.DataFrame, task: str | None, missing: str) -> None:
    try:
        table = as_table(frame, task=task, missing=missing)
    except ClewError as error:
        assert str(error)
    else:
        assert describe(table).to_json()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        frame.write_parquet(path)
        read_it("b.parquet", path.read_bytes(), task, missing)
        read_it("c.parquet", path.read_bytes()[:-7], task, missing)


SUFFIXES = st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".txt"])


@QUICK
@given(st.binary(max_size=60), SUFFIXES, TASKS)
def test_any_bytes_give_a_table_or_an_error_of_clew(content: bytes, suffix: str, task: str | None) -> None:
    check_bytes(content, suffix, task)


@QUICK
@given(delimited(), TASKS, POLICIES)
def test_anything_like_csv_gives_a_table_or_an_error_of_clew(content: bytes, task: str | None, missing: str) -> None:
    read_it("a.csv", content, task, missing)


@QUICK
@given(JSON_LINES, TASKS, POLICIES)
def test_anything_like_json_gives_a_table_or_an_error_of_clew(content: bytes, task: str | None, missing: str) -> None:
    read_it("a.jsonl", content, task, missing)


@QUICK
@given(FRAMES, TASKS, POLICIES)
def test_any_frame_gives_a_table_or_an_error_of_clew(frame: pl.DataFrame, task: str | None, missing: str) -> None:
    check_frame(frame, task, missing)


@pytest.mark.slow
@LONG
@given(st.binary(max_size=200), SUFFIXES, TASKS)
def test_many_bytes(content: bytes, suffix: str, task: str | None) -> None:
    check_bytes(content, suffix, task)


@pytest.mark.slow
@LONG
@given(delimited(), TASKS, POLICIES)
def test_many_files_like_csv(content: bytes, task: str | None, missing: str) -> None:
    read_it("a.csv", content, task, missing)


@pytest.mark.slow
@LONG
@given(JSON_LINES, TASKS, POLICIES)
def test_many_files_like_json(content: bytes, task: str | None, missing: str) -> None:
    read_it("a.jsonl", content, task, missing)


@pytest.mark.slow
@LONG
@given(FRAMES, TASKS, POLICIES)
def test_many_frames(frame: pl.DataFrame, task: str | None, missing: str) -> None:
    check_frame(frame, task, missing)
