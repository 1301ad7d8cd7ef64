"""Plain text for next tokens: documents, parts, a vocabulary of the training part, windows."""

from clew.data import TextPreparation, read_documents
from clew.errors import ConfigError, complain, did_you_mean
from clew.runs.planning.prepared import Prepared, Request, describe_parts
from clew.tasks import NextToken

TEXT_DATA = ("documents", "vocabulary", "vocabulary_size", "min_count", "context")
WAYS = ("parts", "documents")
USUAL_CONTEXT = 128
SIZES = {"words": "max_size", "bpe": "size"}


def prepare_text(request: Request) -> Prepared:
    """Split a text, fit a vocabulary to its training part, and cut the parts into windows."""
    data, notes = request.data, []
    data.refuse_others("text", TEXT_DATA)
    how = request.split.how or "parts"
    if how not in WAYS or request.split.stratify:
        got = f"'{how}'" if how not in WAYS else "stratify"
        raise ConfigError(complain("split", "how for text", " or ".join(WAYS), got, did_you_mean(how, WAYS)))
    unit, kind = data.documents or "files", data.vocabulary or "characters"
    train = read_documents(request.file, unit)
    validation = None if request.validation is None else read_documents(request.validation, unit)
    test = None if request.test is None else read_documents(request.test, unit)
    words = "as given by files"
    if request.is_split:
        train, validation, drawn = train.split(how, request.fractions, request.split.seed)
        test = test if test is not None else (drawn if len(drawn) else None)
        words = "in its order" if how == "parts" else f"by documents (seed {request.split.seed})"
    assert validation is not None
    context = data.context or USUAL_CONTEXT
    preparation = TextPreparation.fit(train, kind, context=context, options=_options(request, kind))
    vocabulary = preparation.vocabulary
    notes.append(f"vocabulary of {vocabulary.size:,} {kind if kind != 'bpe' else 'pieces'} from the training part")
    parts = [None if part is None else preparation.apply(part) for part in (train, validation, test)]
    assert parts[0] is not None
    assert parts[1] is not None
    notes.append(describe_parts(words, *parts, words=f"windows of {context}"))
    resolved = {
        "data": {"documents": unit, "vocabulary": kind, "context": context},
        "split": {"how": how} if request.is_split else {},
    }
    task = NextToken(vocabulary.size, vocabulary.token_bytes)
    return Prepared(task, preparation, parts[0], parts[1], parts[2], resolved, notes)


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
