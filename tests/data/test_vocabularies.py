import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.data import (
    BytePairVocabulary,
    ByteVocabulary,
    CharacterVocabulary,
    Vocabulary,
    WordVocabulary,
    fit_vocabulary,
    vocabulary_from_mapping,
)
from clew.data.unknown_tokens import refuse_unknown
from clew.errors import ConfigError, DataError

TEXT = "Amen, amen: I say to you.\nYou say 'é' and 'ß' – 日本 😀!\n" * 3
KINDS = ("characters", "words", "bytes", "bpe")


def fit(kind: str) -> Vocabulary:
    return fit_vocabulary(kind, [TEXT], {"size": 300} if kind == "bpe" else None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_comes_back_from_json(kind: str) -> None:
    fitted = fit(kind)
    again = vocabulary_from_mapping(json.loads(json.dumps(fitted.to_mapping())))
    assert again == fitted and type(again) is type(fitted)
    assert again.encode(TEXT) == fitted.encode(TEXT)
    assert fit(kind) == fitted


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_in_range_and_name_their_tokens(kind: str) -> None:
    fitted = fit(kind)
    ids = fitted.encode(TEXT)
    assert set(ids) <= set(range(fitted.size))
    assert all(isinstance(fitted.token(number), str) for number in range(fitted.size))
    assert fitted.encode("") == [] and fitted.decode([]) == ""
    for wrong in (-1, fitted.size):
        with pytest.raises(DataError, match=rf"{kind} vocabulary: id 1 must be in \[0, {fitted.size}\), got {wrong}"):
            fitted.decode([0, wrong])


@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe"])
def test_text_comes_back_and_its_bytes_are_counted(kind: str) -> None:
    fitted = fit(kind)
    ids = fitted.encode(TEXT)
    assert fitted.decode(ids) == TEXT
    assert fitted.token_bytes is not None and len(fitted.token_bytes) == fitted.size
    assert sum(fitted.token_bytes[number] for number in ids) == len(TEXT.encode())


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_bytes_and_byte_pairs_can_say_every_text(text: str) -> None:
    for vocabulary in (ByteVocabulary(), PAIRS):
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == text
        assert sum(vocabulary.token_bytes[number] for number in ids) == len(text.encode())


PAIRS = BytePairVocabulary.fit([TEXT], 280)


def test_byte_pairs_are_shorter_than_bytes() -> None:
    assert len(BytePairVocabulary.fit([TEXT], 300).encode(TEXT)) < len(TEXT.encode()) / 2


def test_unknown_characters_are_named_with_their_places() -> None:
    letters = CharacterVocabulary.fit(["abc"])
    with pytest.raises(DataError) as caught:
        letters.encode("abXcéX")
    assert str(caught.value) == (
        "characters vocabulary: characters must be among those that training had, got 'X' (U+0058) at 3, "
        "'é' (U+00E9) at 5. Leave them out, or fit the vocabulary with unknown='replace'."
    )


def test_unknown_characters_can_be_replaced() -> None:
    letters = CharacterVocabulary.fit(["abc"], unknown="replace")
    assert letters.encode("aXc\U0010ffff") == [1, 0, 3, 0]
    assert letters.decode([1, 0, 3]) == "a<unk>c"
    assert letters.specials == {"<unk>": 0} and letters.token_bytes == (1, 1, 1, 1)
    assert CharacterVocabulary.fit(["abc"]).specials == {}


def test_seldom_words_are_unknown_and_the_most_frequent_are_kept() -> None:
    text = "b b b a a c"
    assert WordVocabulary.fit([text]).words == ("b", "a")
    assert WordVocabulary.fit([text], min_count=1, max_size=2).words == ("b",)
    assert WordVocabulary.fit([text]).encode("a c z") == [2, 0, 0]


def test_words_read_well_once_decoded() -> None:
    text = 'He said (softly): "Don\'t!"\nAnd went.'
    words = WordVocabulary.fit([text], min_count=1)
    assert words.decode(words.encode(text)) == 'He said (softly): " Don\'t! "\nAnd went.'


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("letters", {}, "vocabulary: kind must be known, got 'letters'."),
        ("words", {"mincount": 2}, "words vocabulary: option must be known, got 'mincount'. Did you mean 'min_count'?"),
        ("bytes", {"size": 2}, "bytes vocabulary: option must be known, got 'size'. It has none."),
        ("words", {"min_count": 0}, "words vocabulary: min_count must be at least 1, got 0."),
        ("bpe", {"size": 255}, "bpe vocabulary: size must be at least 256, one for each byte, got 255."),
        (
            "characters",
            {"unknown": "drop"},
            "characters vocabulary: unknown must be 'refuse' or 'replace', got 'drop'.",
        ),
    ],
)
def test_wrong_arguments(kind: str, options: dict, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit_vocabulary(kind, ["some text"], options)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["characters", "words", "bpe"])
def test_nothing_to_fit(kind: str) -> None:
    with pytest.raises(DataError, match="at least one"):
        fit_vocabulary(kind, [""])


@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe"])
def test_text_that_is_no_unicode_is_refused(kind: str) -> None:
    with pytest.raises(DataError):
        fit(kind).encode("a\udc80")


@pytest.mark.parametrize("mapping", [{}, {"kind": "bpe"}, {"kind": "words"}, {"kind": "characters", "characters": "a"}])
def test_a_damaged_mapping_is_told(mapping: dict) -> None:
    with pytest.raises(DataError, match=r"vocabulary: (kind|mapping) must be"):
        vocabulary_from_mapping(mapping)


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError, match=r"package tokenizers must be installed.*pip install 'clew\[tokenizers\]'"):
        fit_vocabulary("bpe", ["abc"])


def test_ten_unknown_tokens_are_named_and_the_others_counted() -> None:
    words = fit_vocabulary("words", [" ".join(f"w{n} w{n}" for n in range(30))])
    with pytest.raises(DataError) as caught:
        refuse_unknown(words, "w1 " + " ".join(f"q{n} q{n}" for n in range(12)), "generate", "prompt")
    named = ", ".join(f"'q{n}'" for n in range(10))
    rule = f"generate: prompt must be of words that training had, got {named} and 2 more."
    assert str(caught.value) == f"{rule} It knows 30 words, such as w0, w1, w10, w11, w12."
    refuse_unknown(fit("bytes"), "Ω", "generate", "prompt")


def test_what_is_said_after_a_text_stands_where_its_tokens_do() -> None:
    words, letters = fit("words"), fit("characters")
    assert words.go_on("I say", "to you.") == "I say to you." and words.go_on("I say", ", you") == "I say, you"
    assert words.go_on("I (", "say") == "I (say" and words.go_on("I ", "say") == "I say"
    assert letters.go_on("sa", "y") == "say"
