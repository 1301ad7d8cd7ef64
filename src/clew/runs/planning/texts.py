"""Plain text for next tokens: documents, parts, a vocabulary of the training part, windows; in memory or on disk."""

from pathlib import Path
from typing import NamedTuple

from clew.data import SequenceData, TextPreparation, Vocabulary, read_documents
from clew.data.text_conversion import ConvertedText, convert_text
from clew.errors import ConfigError, complain, did_you_mean
from clew.runs.planning.prepared import Prepared, Request, describe_parts
from clew.runs.planning.tables import USUAL_CACHE, is_streamed
from clew.tasks import NextToken

TEXT_DATA = ("documents", "vocabulary", "vocabulary_size", "min_count", "context", "stream", "cache")
WAYS = ("parts", "documents")
USUAL_CONTEXT = 128
SIZES = {"words": "max_size", "bpe": "size"}


class _Windows(NamedTuple):
    """What a text was brought to: parts in the order training, validation, test, and a sentence on where they are."""

    preparation: TextPreparation
    parts: list[SequenceData | None]
    notes: list[str]


def prepare_text(request: Request) -> Prepared:
    """Split a text, fit a vocabulary to its training part, and cut the parts into windows."""
    data = request.data
    data.refuse_others("text", TEXT_DATA)
    how, unit, kind = _way(request), data.documents or "files", data.vocabulary or "characters"
    context, on_disk = data.context or USUAL_CONTEXT, is_streamed(request)
    if context < 1:
        raise ConfigError(complain("text", "data.context", "at least 1", context))
    made = (_convert if on_disk else _read)(request, how, unit, kind, context)
    train, validation, test = made.parts
    assert train is not None
    assert validation is not None
    vocabulary, words = made.preparation.vocabulary, "as given by files"
    if request.is_split:
        words = "in its order" if how == "parts" else f"by documents (seed {request.split.seed})"
    notes = [
        f"vocabulary of {vocabulary.size:,} {kind if kind != 'bpe' else 'pieces'} from the training part",
        *made.notes,
        describe_parts(words, train, validation, test, words=f"windows of {context}"),
    ]
    where = {"stream": True, "cache": data.cache or USUAL_CACHE} if on_disk else {}
    resolved = {
        "data": {"documents": unit, "vocabulary": kind, "context": context} | where,
        "split": {"how": how} if request.is_split else {},
    }
    task = NextToken(vocabulary.size, vocabulary.token_bytes)
    return Prepared(task, made.preparation, train, validation, test, resolved, notes)


def _way(request: Request) -> str:
    how = request.split.how or "parts"
    if how not in WAYS or request.split.stratify:
        got = f"'{how}'" if how not in WAYS else "stratify"
        raise ConfigError(complain("split", "how for text", " or ".join(WAYS), got, did_you_mean(how, WAYS)))
    return how


def _read(request: Request, how: str, unit: str, kind: str, context: int) -> _Windows:
    """Bring a text to windows in memory."""
    train = read_documents(request.file, unit)
    validation = None if request.validation is None else read_documents(request.validation, unit)
    test = None if request.test is None else read_documents(request.test, unit)
    if request.is_split:
        train, validation, drawn = train.split(how, request.fractions, request.split.seed)
        test = test if test is not None else (drawn if len(drawn) else None)
    preparation = TextPreparation.fit(train, kind, context=context, options=_options(request, kind))
    parts = [None if part is None else preparation.apply(part) for part in (train, validation, test)]
    return _Windows(preparation, parts, [])


def _convert(request: Request, how: str, unit: str, kind: str, context: int) -> _Windows:
    """Bring a text to windows on disk, the same ones, with memory for a few pieces of it."""
    if request.is_split and how != "parts":
        remedy = "Say --set data.stream=false, or --set split.how=parts."
        raise ConfigError(complain(str(request.file), "split.how", "parts where a text is streamed", how, remedy))
    converted = convert_text(
        request.file, request.data.cache or USUAL_CACHE, unit, kind, options=_options(request, kind),
        fractions=request.fractions if request.is_split else None,
    )  # fmt: skip
    vocabulary = converted.vocabulary
    others = [
        None if path is None else _convert_other(request, path, unit, vocabulary)
        for path in (request.validation, request.test)
    ]
    parts = [*converted.windows(context), None, None][:3]
    for number, other in enumerate(others, start=1):
        parts[number] = parts[number] if other is None else other.windows(context)[0]
    folders = [one for one in (converted, *others) if one is not None]
    notes = [f"converted on disk: {one.folder} {'used again' if one.is_reused else 'made'}" for one in folders]
    return _Windows(TextPreparation(vocabulary, context), parts, notes)


def _convert_other(request: Request, path: Path, unit: str, vocabulary: Vocabulary) -> ConvertedText:
    return convert_text(path, request.data.cache or USUAL_CACHE, unit, vocabulary.kind, vocabulary=vocabulary)


def _options(request: Request, kind: str) -> dict[str, object]:
    """Give the options of a vocabulary; characters that training did not have are one unknown one."""
    data = request.data
    options: dict[str, object] = {"unknown": "replace"} if kind == "characters" else {}
    for name, value, kinds in (
        ("data.vocabulary_size", data.vocabulary_size, tuple(SIZES)),
        ("data.min_count", data.min_count, ("words",)),
    ):
        if value is None:
            continue
        if kind not in kinds:
            rule = f"left out for {kind}"
            raise ConfigError(complain("text", name, rule, value, f"It is for {' and '.join(kinds)}."))
        options[SIZES[kind] if name == "data.vocabulary_size" else "min_count"] = value
    return options
