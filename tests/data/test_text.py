import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clew.data import (
    CharacterVocabulary,
    Documents,
    TableError,
    TextData,
    TextPreparation,
    read_documents,
    read_text,
)
from clew.errors import ClewError, ConfigError, DataError
from clew.tasks import NextToken


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_text_is_read_as_it_stands(tmp_path: Path) -> None:
    first = write(tmp_path, "a.txt", "\ufeffé\r\n".encode())
    second = write(tmp_path, "b.txt", b"b")
    assert read_text([first, str(second)]) == "é\r\nb"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.txt: file must be one with content, got an empty file."),
        (b"ab\nc\xffd", "a.txt: text must be UTF-8, got 0xff at byte 5, line 2. Save it as UTF-8."),
        (b"\xef\xbb\xbf\n\n\xe9", "a.txt: text must be UTF-8, got 0xe9 at byte 6, line 3. Save it as UTF-8."),
        ("ab".encode("utf-16"), "a.txt: text must be UTF-8, got UTF-16. Save it as UTF-8."),
        (b"a\nb\0", "a.txt: content must be text, got a NUL at byte 4, line 2. Save it as UTF-8."),
    ],
)
def test_what_is_no_text_is_told_by_byte_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path, "a.txt", content)
    with pytest.raises(DataError) as caught:
        read_text(path)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "bible.txt", b"x")
    with pytest.raises(TableError) as caught:
        read_text([tmp_path / "bibel.txt", write(tmp_path, "b.txt", b"\xff")])
    missing, wrong = caught.value.problems
    assert missing.endswith("no such file or directory. Did you mean 'bible.txt'?")
    assert wrong.endswith("got 0xff at byte 1, line 1. Save it as UTF-8.")


def test_documents_are_files_paragraphs_or_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"one\ntwo\n\n\nthree\r\n\r\nfour\n")
    assert read_documents(path).texts == ("one\ntwo\n\n\nthree\r\n\r\nfour\n",)
    paragraphs = read_documents(path, "paragraphs")
    assert paragraphs.texts == ("one\ntwo\n\n\n", "three\r\n\r\n", "four\n")
    assert paragraphs.names[1] == f"{path} 2"
    assert read_documents(path, "lines").texts == ("one\n", "two\n", "three\r\n", "four\n")
    with pytest.raises(ConfigError, match="Did you mean 'lines'"):
        read_documents(path, "line")
    with pytest.raises(ConfigError, match="Did you mean 'parts'"):
        read_documents(path).split("part")
    with pytest.raises(DataError, match="nothing but spaces"):
        read_documents(write(tmp_path, "b.txt", b" \n"), "lines")


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=5), st.integers(0, 3))
def test_parts_cut_the_whole_text_in_its_order(texts: list[str], seed: int) -> None:
    documents = Documents(tuple(texts), tuple(map(str, range(len(texts)))))
    try:
        parts = documents.split(fractions=(0.6, 0.2, 0.2), seed=seed)
    except DataError:
        assert documents.characters < 5
        return
    assert "".join(text for part in parts for text in part.texts) == "".join(texts)
    assert all(part.characters for part in parts)


def test_whole_documents_are_drawn_with_a_seed() -> None:
    documents = Documents(tuple("abcdefghij"), tuple(map(str, range(10))))
    parts = documents.split("documents", seed=1)
    assert [len(part) for part in parts] == [7, 2, 1] or [len(part) for part in parts] == [7, 1, 2]
    assert sorted(text for part in parts for text in part.texts) == list("abcdefghij")
    assert documents.split("documents", seed=1) == parts != documents.split("documents", seed=2)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=5).filter(lambda lengths: sum(lengths) > 1), st.integers(1, 9))
def test_every_token_but_the_first_of_a_document_is_a_target_once(lengths: list[int], context: int) -> None:
    ids = np.arange(sum(lengths), dtype=np.int32)
    borders = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    data = TextData(ids, borders, tuple(map(str, range(len(lengths)))))
    aligned = NextToken(vocab=max(2, len(ids))).align(data.windows(context).whole())
    assert aligned.inputs.shape[1] <= context
    scored = torch.ones_like(aligned.targets, dtype=torch.bool) if aligned.scored is None else aligned.scored
    expected = sorted(set(range(len(ids))) - set(borders[:-1].tolist()))
    assert aligned.targets[scored].tolist() == expected
    assert (aligned.inputs[scored] + 1).tolist() == expected


def test_windows_need_two_tokens_and_a_context() -> None:
    short = TextData.encode(Documents(("a",), ("one",)), CharacterVocabulary("a"))
    with pytest.raises(DataError, match="text must be at least 2 tokens long, got 1"):
        short.windows(4)
    with pytest.raises(ConfigError, match="context must be at least 1, got 0"):
        short.windows(0)
    with pytest.raises(TableError, match="document 'one' must be at least 2 tokens long, got 1"):
        short.sequences()


def test_documents_can_be_sequences_of_their_own() -> None:
    letters = CharacterVocabulary("ab")
    data = TextData.encode(Documents(("ab", "bba"), ("one", "two")), letters).sequences()
    assert data.whole().inputs.tolist() == [[0, 1, 0], [1, 1, 0]]
    assert list(data.ids) == ["one", "two"]


def test_unknown_characters_are_told_for_every_document() -> None:
    with pytest.raises(TableError) as caught:
        TextData.encode(Documents(("ax", "a", "ya"), ("one", "two", "three")), CharacterVocabulary("a"))
    assert [line.split(":")[0] for line in caught.value.problems] == ["one", "three"]


def test_a_preparation_comes_back_from_json() -> None:
    documents = Documents(("abcab", "cab"), ("one", "two"))
    fitted = TextPreparation.fit(documents, context=3)
    again = TextPreparation.from_mapping(json.loads(json.dumps(fitted.to_mapping())))
    assert again == fitted
    assert again.apply(documents).fingerprint() == fitted.apply(documents).fingerprint()
    assert fitted.apply(documents).select([0]).documents is not None
    assert TextPreparation.fit(documents).apply(Documents(("abc",), ("one",))).whole().documents is None
    with pytest.raises(DataError, match="without 'vocabulary'"):
        TextPreparation.from_mapping({})


@given(content=st.binary(max_size=60), unit=st.sampled_from(["files", "paragraphs", "lines"]))
def test_any_bytes_give_documents_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, unit: str
) -> None:
    path = write(tmp_path_factory.getbasetemp(), "any.txt", content)
    try:
        documents = read_documents(path, unit)
        assert "".join(documents.texts) in content.decode() or unit == "lines"
        TextPreparation.fit(documents, context=2).apply(documents)
    except ClewError as error:
        assert str(path) in str(error) or "2 tokens" in str(error)
