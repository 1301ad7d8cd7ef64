"""Vocabularies by kind: fitted on training texts, or made again from what a run kept."""

from collections.abc import Iterable, Mapping
from typing import Any

from clew.data.byte_pairs import BytePairVocabulary
from clew.data.character_vocabulary import ByteVocabulary, CharacterVocabulary
from clew.data.vocabulary import Vocabulary
from clew.data.word_vocabulary import WordVocabulary
from clew.errors import ConfigError, DataError, complain, did_you_mean

OPTIONS = {
    "characters": ("unknown",),
    "words": ("min_count", "max_size", "is_lower"),
    "bytes": (),
    "bpe": ("size",),
}


def fit_vocabulary(kind: str, texts: Iterable[str], options: Mapping[str, Any] | None = None) -> Vocabulary:
    """Fit a vocabulary on training texts.

    Args:
        kind: "characters", "words", "bytes" or "bpe".
        texts: The training texts, not those of validation or test.
        options: Arguments of the kind's `fit`.

    Raises:
        ConfigError: If the kind or an option is unknown or out of range.
        DataError: If the texts have nothing to fit.

    >>> fit_vocabulary("characters", ["ba"]).size
    2
    """
    given = dict(options or {})
    if kind not in OPTIONS:
        raise ConfigError(complain("vocabulary", "kind", "known", repr(kind), did_you_mean(str(kind), OPTIONS)))
    for name in given:
        if name not in OPTIONS[kind]:
            known = OPTIONS[kind]
            remedy = did_you_mean(name, known) if known else "It has none."
            raise ConfigError(complain(f"{kind} vocabulary", "option", "known", f"'{name}'", remedy))
    if kind == "characters":
        return CharacterVocabulary.fit(texts, **given)
    if kind == "words":
        return WordVocabulary.fit(texts, **given)
    return ByteVocabulary() if kind == "bytes" else BytePairVocabulary.fit(texts, **given)


def vocabulary_from_mapping(mapping: Mapping[str, Any]) -> Vocabulary:
    """Make a vocabulary again from what `to_mapping` gave.

    Raises:
        DataError: If it is none.
    """
    kind = mapping.get("kind")
    try:
        if kind == "characters":
            return CharacterVocabulary(mapping["characters"], mapping["unknown"])
        if kind == "words":
            return WordVocabulary(tuple(mapping["words"]), mapping["is_lower"])
        if kind == "bytes":
            return ByteVocabulary()
        if kind == "bpe":
            merges = tuple((left, right) for left, right in mapping["merges"])
            return BytePairVocabulary(tuple(mapping["pieces"]), merges)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(complain("vocabulary", "mapping", f"one of {kind}", f"{error!s}")) from error
    raise DataError(complain("vocabulary", "kind", "known", repr(kind), did_you_mean(str(kind), OPTIONS)))
