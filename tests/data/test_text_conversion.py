"""A text in pieces gives what the text as a whole gives, with memory for a few pieces."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clew
from clew.data import SequenceData, TextPreparation, Vocabulary, read_documents
from clew.data.text_conversion import convert_text
from clew.data.text_files import decode_pieces, decode_text
from clew.errors import ClewError, ConfigError, DataError
from clew.runs.planning import plan_training

FRACTIONS = (0.5, 0.25, 0.25)
SIGNS = ["a", "b", "A", "é", "日", "😀", "Σ", "'", "’", "1", "_", ".", "!", " ", " ", "\t", "\n", "\n", "\r\n", "\n\n"]
KINDS: dict[str, dict[str, Any]] = {
    "characters": {"unknown": "replace"},
    "bytes": {},
    "words": {"min_count": 1, "is_lower": True},
    "bpe": {"size": 262},
}
Made = tuple[Vocabulary, list[str | None]] | str


def digests(parts: list[SequenceData | None]) -> list[str | None]:
    return [None if part is None else part.fingerprint() for part in parts]


def whole(path: Path, unit: str, kind: str, context: int, fractions: Any) -> Made:
    """Give vocabulary and windows as they are made in memory, or what was wrong."""
    try:
        parts = read_documents(path, unit).split(fractions=fractions)
        fitted = TextPreparation.fit(parts.train, kind, context=context, options=KINDS[kind])
        return fitted.vocabulary, digests([fitted.apply(part) if len(part) else None for part in parts])
    except ClewError as error:
        return str(error)


def in_pieces(path: Path, unit: str, kind: str, context: int, fractions: Any, size: int) -> Made:
    """Give the same from disk."""
    cache = path.parent / "cache"
    try:
        made = convert_text(path, cache, unit, kind, options=KINDS[kind], fractions=fractions, piece_bytes=size)
        return made.vocabulary, digests(made.windows(context))
    except ClewError as error:
        return str(error)


@settings(deadline=None, max_examples=300)
@given(
    signs=st.lists(st.sampled_from(SIGNS), max_size=60),
    unit=st.sampled_from(["files", "paragraphs", "lines"]),
    kind=st.sampled_from(sorted(KINDS)),
    context=st.integers(1, 5),
    fractions=st.sampled_from([FRACTIONS, (0.7, 0.3, 0.0), (1.0, 0.0, 0.0)]),
    size=st.integers(4, 17),
)
@example(["a", "Σ", " ", "b", "'", "a", "\n"] * 4, "files", "words", 3, FRACTIONS, 5)
@example(["a", " ", " ", " ", "b", ".", "\t", " ", "a"] * 6, "files", "bpe", 3, FRACTIONS, 4)
@example(["a", "\n", "\r\n", "b"] * 8, "paragraphs", "characters", 2, FRACTIONS, 4)
def test_pieces_give_what_the_whole_gives(
    signs: list[str], unit: str, kind: str, context: int, fractions: Any, size: int
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes("".join(signs).encode())
        expected = whole(path, unit, kind, context, fractions)
        assert in_pieces(path, unit, kind, context, fractions, size) == expected


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from([b"a", b"\n", "é".encode(), "😀".encode(), b"\xff", b"\xe2\x82", b"\0"]), max_size=12),
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe"]),
    st.integers(1, 9),
)
def test_what_is_no_text_is_told_as_of_the_whole(parts: list[bytes], mark: bytes, size: int) -> None:
    content = mark + b"".join(parts)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(content)
        found = "".join(told(lambda: list(decode_pieces(path, size))))
        expected = told(lambda: [decode_text(path, content)]) if content else [f"{path}: file must be one with content"]
    assert found == "".join(expected) if content else found.startswith(expected[0])


def told(read: Any) -> list[str]:
    try:
        return read()
    except DataError as error:
        return [str(error)]


def test_long_texts_are_written_many_documents_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.data.text_conversion.TOKENS_AT_ONCE", 7)
    path = tmp_path / "a.txt"
    path.write_text("one line\n...\nanother\n" * 40)
    for unit in ("files", "lines"):
        expected = whole(path, unit, "words", 4, FRACTIONS)
        assert in_pieces(path, unit, "words", 4, FRACTIONS, 50) == expected


def test_windows_are_read_from_disk_and_the_folder_is_used_again(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.txt", tmp_path / "cache"
    path.write_text("abcdefgh\n" * 20)
    first = convert_text(path, cache, fractions=FRACTIONS)
    train = first.windows(4)[0]
    assert train is not None and isinstance(train._inputs, np.memmap) and train._inputs.dtype == np.int32
    assert not first.is_reused and convert_text(path, cache, fractions=FRACTIONS).is_reused
    assert not convert_text(path, cache, "lines", fractions=FRACTIONS).is_reused
    assert not convert_text(path, cache, fractions=(0.8, 0.1, 0.1)).is_reused
    path.write_text("abcdefgi\n" * 20)
    again = convert_text(path, cache, fractions=FRACTIONS)
    assert not again.is_reused and again.folder == first.folder and again.vocabulary != first.vocabulary


def test_a_text_given_apart_takes_the_vocabulary_of_training(tmp_path: Path) -> None:
    train, other = tmp_path / "a.txt", tmp_path / "b.txt"
    train.write_text("abc abc")
    other.write_text("bca")
    fitted = convert_text(train, tmp_path / "cache")
    made = convert_text(other, tmp_path / "cache", vocabulary=fitted.vocabulary)
    assert made.ids[0] is not None and made.ids[0].tolist() == [2, 3, 1] and len(made.ids) == 1
    other.write_text("abc" * 5 + "x")
    with pytest.raises(DataError, match=r"b.txt, behind character 12 of this part: .*'x' \(U\+0078\) at 4"):
        convert_text(other, tmp_path / "cache", vocabulary=fitted.vocabulary, piece_bytes=12)
    assert sorted(item.name for item in (tmp_path / "cache").glob("b-*")) == [made.folder.name]


def test_what_cannot_be_converted_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.txt: file must be one that can be read, got no such file"):
        convert_text(tmp_path / "a.txt", tmp_path / "cache")
    with pytest.raises(ConfigError, match="Did you mean 'lines'"):
        convert_text(tmp_path / "a.txt", tmp_path / "cache", "line")
    (tmp_path / "b.txt").write_bytes(b"abc\n" * 9 + b"\xff")
    with pytest.raises(DataError, match=r"got 0xff at byte 37, line 10\. Save it as UTF-8\."):
        convert_text(tmp_path / "b.txt", tmp_path / "cache", piece_bytes=8)
    assert not list((tmp_path / "cache").glob("b-*"))


@pytest.mark.parametrize("given_apart", [(), ("validation",), ("test",), ("validation", "test")])
@pytest.mark.parametrize("setting", ["vocabulary=characters", "vocabulary=words", "documents=lines"])
def test_a_plan_is_the_same_from_disk(tmp_path: Path, given_apart: tuple[str, ...], setting: str) -> None:
    others = {name: tmp_path / f"{name}.txt" for name in given_apart}
    for path in (tmp_path / "a.txt", *others.values()):
        path.write_text("A line of words, é.\nAnother line of words.\n" * 30 + path.stem)
    overrides = [f"data.{setting}", "data.context=8", f"data.cache={tmp_path / 'cache'}"]
    plans = [
        plan_training(tmp_path / "a.txt", **others, overrides=[*overrides, f"data.stream={stream}"])
        for stream in ("false", "true", "true")
    ]
    for plan in plans[1:]:
        assert plan.preparation == plans[0].preparation and plan.task.config() == plans[0].task.config()
        parts = (plan.train, plan.validation, plan.test), (plans[0].train, plans[0].validation, plans[0].test)
        assert digests(list(parts[0])) == digests(list(parts[1]))
        assert (
            plan.config["data"]["stream"] and [note for note in plan.notes if "on disk" not in note] == plans[0].notes
        )
    assert sum("made" in note for note in plans[1].notes) == 1 + len(given_apart)
    assert sum("used again" in note for note in plans[2].notes) == 1 + len(given_apart)


def test_a_run_from_disk_is_the_run_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("A line of words, é.\nAnother line of words.\n" * 30)
    overrides = ["data.context=8", f"data.cache={tmp_path / 'cache'}", "training.epochs=2", "model.hidden=4"]
    runs = [
        plan_training(path, overrides=[*overrides, f"data.stream={stream}"]).fit(tmp_path / stream)
        for stream in ("false", "true")
    ]
    assert runs[0].folder.last.read_bytes() == runs[1].folder.last.read_bytes()
    again = plan_training(path, overrides=[*overrides, "data.stream=false"]).fit(tmp_path / "true")
    assert again.selected_epoch == runs[0].selected_epoch


def test_whole_documents_are_not_drawn_from_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\nb\n" * 9)
    with pytest.raises(
        ConfigError, match=r"must be parts where a text is streamed, got documents\. Say --set data.str"
    ):
        clew.plan_training(path, overrides=["data.stream=true", "data.documents=lines", "split.how=documents"])


MEASURE = """
import resource, sys
from pathlib import Path
from clew.runs.planning import plan_training
path = Path(sys.argv[1])
def train(file, stream):
    overrides = [f"data.stream={stream}", f"data.cache={path.parent / 'cache'}", "data.context=256",
        "split.fractions=0.999,0.0005,0.0005", "training.epochs=1", "training.max_minutes=0.02",
        "model.hidden=8"]
    plan = plan_training(file, overrides=overrides)
    run = plan.fit(path.parent / f"run-{file.stem}")
    return len(plan.train), run.selected_epoch
small = path.with_name("small.txt")
small.write_bytes(path.open("rb").read(12_000_000).rsplit(b" ", 1)[0])
train(small, "true")
data = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (data + int(sys.argv[2]), data + int(sys.argv[2])))
print(*train(path, sys.argv[3]))
"""


@pytest.mark.slow
def test_a_text_several_times_larger_than_memory_is_trained_on(tmp_path: Path) -> None:
    path, allowed = tmp_path / "large.txt", 96 << 20
    words = np.random.default_rng(0).choice(["water", "wörter", "日本", "stone", "of", "a"], 200_000)
    piece = " ".join(words) + "\n"
    with path.open("w") as stream:
        while stream.tell() < 300 << 20:
            stream.write(piece)
    assert path.stat().st_size > 3 * allowed
    command = [sys.executable, "-c", MEASURE, str(path), str(allowed)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "true"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[0]) > 500_000 and done.stdout.split()[1] == "1"
    in_memory = subprocess.run([*command, "false"], capture_output=True, text=True, env=environment, check=False)
    assert in_memory.returncode != 0 and "MemoryError" in in_memory.stderr, "the cap must stop what reads it at once"
