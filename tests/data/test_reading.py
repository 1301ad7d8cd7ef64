"""Tables are read as they stand, and what is wrong with them is told in full, cell by cell."""

import json
from pathlib import Path

import polars as pl
import pytest

from clew.data import Columns, Table, TableError, as_table, read_table
from clew.errors import ClewError, ConfigError, DataError

LONG = "id,time,x,colour,label\na,1,0.5,red,u\na,2,1.5,blue,u\nb,1,2.5,red,v\n"


def write(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def told(path: Path, **arguments: object) -> list[str]:
    """Give what reading complains about, a line each, without the folder."""
    with pytest.raises(ClewError) as error:
        read_table(path, **arguments)  # pyright: ignore[reportArgumentType]
    return str(error.value).replace(f"{path}: ", "").replace(str(path), path.name).splitlines()


def test_every_kind_of_file_gives_the_same_table(tmp_path: Path) -> None:
    frame = pl.read_csv(LONG.encode())
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    lists = frame.group_by("id", "label", maintain_order=True).agg("time", "x", "colour")
    lists.write_ndjson(tmp_path / "lists.jsonl")
    lists.write_parquet(tmp_path / "lists.parquet")
    write(tmp_path, LONG.replace(",", "\t"), "a.tsv")
    write(tmp_path, LONG.replace(",", ";"), "semicolons.csv")
    write(tmp_path, LONG.replace("\n", "\r\n").encode("utf-8-sig"), "windows.csv")
    expected = read_table(write(tmp_path, LONG), task="classification")
    assert expected.columns == Columns("id", "time", ("x",), ("colour",), "label")
    assert expected.ids == ["a", "b"] and expected.offsets.tolist() == [0, 2, 3]
    for name in ("a.parquet", "a.jsonl", "lists.jsonl", "lists.parquet", "a.tsv", "semicolons.csv", "windows.csv"):
        table = read_table(tmp_path / name, task="classification")
        assert table.columns == expected.columns, name
        assert table.frame.select(expected.frame.columns).equals(expected.frame), name
        assert table.form == ("lists" if "lists" in name else "long")
        assert table.rows.tolist() == ([1, 1, 2] if "lists" in name else [1, 2, 3])
    assert as_table(frame, task="classification").frame.equals(expected.frame)


def test_scattered_rows_are_put_together_where_time_orders_them(tmp_path: Path) -> None:
    path = write(tmp_path, "id,time,x\nb,1,1\na,1,2\nb,2,3\na,2,4\n")
    table = read_table(path)
    assert (
        table.ids == ["b", "a"] and table.frame["x"].to_list() == [1, 3, 2, 4] and table.rows.tolist() == [1, 3, 2, 4]
    )


@pytest.mark.parametrize(("name", "content"), [("a.csv", "x\n1\n2"), ("a.jsonl", '{"x":1}\n{"x":2}')])
def test_the_last_row_needs_no_end_of_line(tmp_path: Path, name: str, content: str) -> None:
    assert read_table(write(tmp_path, content, name)).frame["x"].to_list() == [1, 2]


def test_scattered_rows_without_a_time_are_a_problem(tmp_path: Path) -> None:
    assert told(write(tmp_path, "id,x\nb,1\na,2\nb,3\n")) == [
        "column 'id', row 3: rows of a sequence must be together in the file, or ordered by a column of time, "
        "got sequence 'b' again after another. Sort the file by sequence."
    ]


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "id,t,x,label\na,1,1.5,u\na,1,NaN,v\nb,5,,v\nb,4,abc,\nc,1,inf,\n")
    assert told(path, task="classification") == [
        "column 'x', row 4: value must be a number, got 'abc'. Correct it, or list the column under categorical.",
        "column 'x', row 5: value must be finite, got inf. Correct it or drop the row.",
        "column 'x', row 2: value must be finite, got NaN. Fill it in, drop the row, or say missing='mean'.",
        "column 'x', row 3: value must be finite, got nothing. Fill it in, drop the row, or say missing='mean'.",
        "column 't', row 2: time must be once in a sequence, got 1 again in sequence 'a'. Keep one of the rows.",
        "column 't', row 4: time must be later than the one before, got 4 in sequence 'b'. Sort the file, or say "
        "sort=True.",
        "column 'label', row 2: value must be one and the same in a sequence, got 'v' after 'u' in sequence 'a'. "
        "Name the column of sequences with sequence.",
        "column 'label', row 5, sequence 'c': label must be given, got nothing. Fill it in, or drop the sequence.",
    ]


def test_many_problems_of_a_kind_are_counted(tmp_path: Path) -> None:
    lines = told(write(tmp_path, "x,y\n" + "1,2\n" * 20 + "a,2\n" * 8))
    assert len(lines) == 6 and lines[4].startswith("column 'x', row 25: value must be a number, got 'a'.")
    assert lines[5] == "column 'x': 3 more values that must be a number."


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "file must be one with content, got an empty file."),
        (b"\n\n", "file must be one with a header and rows, got blank lines only."),
        (b"a,b\n", "table must be at least one row long, got a header alone."),
        (
            b"1,2\n3,4\n",
            "header must be names of columns, got numbers: '1, 2'. Put a line with the names of the columns first.",
        ),
        (b"a,a\n1,2\n", "column 2: name must be unlike the others, got 'a' again. Rename one of them."),
        (
            b",a\n0,2\n",
            "column 1: name must be given, got nothing. Name it; tables of pandas are written with index=False.",
        ),
        (
            b"a,b\n1,\xff\n",
            "text must be UTF-8, got byte 0xff in line 2. Save it as UTF-8, or give its encoding, as "
            "encoding='cp1252'.",
        ),
        ("a,b\n1,2\n".encode("utf-16"), "text must be UTF-8, got UTF-16. Save it as UTF-8, or say encoding='utf-16'."),
        (
            b"a,b\n1,\0\n",
            "content must be text, got a NUL byte in line 2. If it is text of another encoding, give it, as "
            "encoding='utf-16'.",
        ),
        (
            b"a,b\r1,2\r",
            "ends of lines must be line feeds, got carriage returns alone. Save it with Unix or Windows line ends.",
        ),
        (b"a,b\n1,2,3\n", "row 1: row must be 2 cells long, as the header is, got 3. A quote may be missing."),
        (b"a,b\n1\n", "row 1: row must be 2 cells long, as the header is, got 1. A delimiter may be missing."),
        (
            b"PAR1abc",
            "content must be a text table, as its name says, got a Parquet file. Say kind='parquet', or rename it.",
        ),
        (b"a;b\n1,5;2\n", "column 'a', row 1: value must be a number, got '1,5'. Write decimal points."),
        (
            b"time,x\n31.01.2026,2\n",
            "column 'time', row 1: value must be a time, got '31.01.2026'. Write dates as 2026-01-31.",
        ),
    ],
)
def test_files_that_are_no_table_are_told_in_one_line(tmp_path: Path, content: bytes, line: str) -> None:
    assert told(write(tmp_path, content)) == [line]


def test_a_wrong_delimiter_is_found_out(tmp_path: Path) -> None:
    assert told(write(tmp_path, "a;b\n1;2\n"), delimiter=",") == [
        "header must be columns with commas between them, got one column 'a;b'. It looks as if semicolons stand there: "
        "say delimiter=';'."
    ]


def test_another_encoding_can_be_said(tmp_path: Path) -> None:
    path = write(tmp_path, "x,name\n1,é\n".encode("utf-16"))
    assert read_table(path, encoding="utf-16").frame["name"].to_list() == ["é"]
    assert told(path, encoding="utf-61") == ["encoding must be one that Python knows, got 'utf-61'."]


def test_unknown_files_are_told_with_what_reads_them(tmp_path: Path) -> None:
    assert told(write(tmp_path, "x", "a.xlsx")) == [
        "file must be a table: .csv, .tsv, .tab, .parquet, .pq, .jsonl, .ndjson, got '.xlsx'. Save the sheet as CSV."
    ]
    assert told(write(tmp_path, "x", "a.txt"))[0].endswith("clew.data.read_text reads plain text.")
    assert told(tmp_path / "a.xlxs") == [
        "file must be one that can be read, got no such file or directory. Did you mean 'a.xlsx'?"
    ]


def test_missing_and_misspelt_columns_are_told_together(tmp_path: Path) -> None:
    path = write(tmp_path, LONG)
    assert told(path, columns={"numeric": ["xx"], "label": "lable"}) == [
        "column must be in the file, got 'xx'. Did you mean 'x'?",
        "column must be in the file, got 'lable'. Did you mean 'label'?",
    ]
    assert told(write(tmp_path, "x\n1\n"), task="classification") == [
        "the label must be a column of the table, got columns x. Name the column that classification predicts with "
        "label."
    ]
    with pytest.raises(ConfigError, match=r"unknown role 'lable'\. Did you mean 'label'"):
        read_table(path, {"lable": "x"})
    with pytest.raises(ConfigError, match=r"column 'x' must be given one role, got numeric and label"):
        read_table(path, {"numeric": ["x"], "label": "x"}, "classification")
    assert (
        read_table(write(tmp_path, "x\n1\n"), Columns(label="label"), "classification", needs_label=False).columns.label
        is None
    )


def test_lists_of_other_lengths_and_empty_ones_are_told(tmp_path: Path) -> None:
    rows = [{"x": [1, 2], "y": [1]}, {"x": [], "y": []}, {"x": [1, "q"], "y": [1, 2]}]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)), "a.jsonl")
    assert told(path) == [
        "row 1: lists must be of one length, got x 2, y 1.",
        "row 2: sequence must be at least one step long, got an empty list. Drop the row.",
        "column 'x', row 3, step 2: value must be a number, got 'q'. Correct it, or list the column under categorical.",
    ]


def test_lines_that_are_no_objects_are_told(tmp_path: Path) -> None:
    assert told(write(tmp_path, '{"x":1}\n[1]\n{"x":\n', "a.jsonl")) == [
        "row 2: line must be one JSON object, got '[1]'.",
        "row 3: line must be one JSON object, got '{\"x\":' (Expecting value: line 1 column 6 (char 5)).",
    ]


@pytest.mark.parametrize("task", ["next_token", "forecasting"])
def test_sequences_too_short_for_a_task_are_told(tmp_path: Path, task: str) -> None:
    values = "xyz" if task == "next_token" else "123"
    assert told(write(tmp_path, "id,x\na,{}\na,{}\nb,{}\n".format(*values)), task=task) == [
        f"sequence 'b': sequence must be at least 2 steps long for {task}, got 1. Drop it."
    ]
    assert len(read_table(tmp_path / "a.csv")) == 2


def test_sorting_and_keeping_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "time,x\n2026-01-02,1\n2026-01-01,\n2026-01-01 12:00,3\n")
    table = read_table(path, sort=True, missing="keep")
    assert table.frame["x"].to_list() == [None, 3.0, 1.0] and table.rows.tolist() == [2, 3, 1]
    assert len(told(path)) == 2


def test_forecasting_reads_its_series_first_and_the_known_columns_last(tmp_path: Path) -> None:
    path = write(tmp_path, "time,holiday,load,wind\n1,0,5,6\n2,1,7,8\n")
    columns = read_table(path, {"known": ["holiday"], "label": "load"}, "forecasting").columns
    assert columns.numeric == ("load", "wind", "holiday") and columns.labels == ("load",)
    assert read_table(path, {"known": ["holiday"]}, "forecasting").columns.labels == ("load", "wind")


def test_a_truncated_parquet_file_is_told(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    path = write(tmp_path, (tmp_path / "a.parquet").read_bytes()[:-9], "b.parquet")
    assert told(path)[0].startswith("file must be a whole Parquet file, got ")


def test_parts_of_a_table_keep_their_rows(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, LONG))
    part = table.part([1, 0])
    assert isinstance(part, Table) and part.ids == ["b", "a"] and part.rows.tolist() == [3, 1, 2]
    assert part.of_sequence("label").to_list() == ["v", "u"] and part.place(1) == "row 1"


def test_problems_are_lines_of_one_error(tmp_path: Path) -> None:
    with pytest.raises(TableError) as error:
        read_table(write(tmp_path, "x,z\na,1\n1,NaN\n2,3\n"))
    assert len(error.value.problems) == 2 and isinstance(error.value, DataError)
