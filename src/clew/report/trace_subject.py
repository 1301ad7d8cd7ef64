"""What `clew trace` looks at: a text as token ids, and a model that reads them.

An untrained preset has the text's own words as its vocabulary, so that no word is unknown. The worked example and a run
folder know their words, and refuse others. Each line of a text is a row of the batch, padded on the right.
"""

from pathlib import Path
from typing import Any

from clew.errors import ConfigError, DataError, complain, did_you_mean
from clew.models import build
from clew.report.subject import Subject, batch_of, count_of, require_known
from clew.report.trace_runs import read_text, run_subject, text_rows
from clew.tasks import NextToken
from clew.walkthrough.proverb import VOCABULARY, proverb_model

WORKED = "worked"
SIZES: dict[str, dict[str, Any]] = {
    "rnn": {"hidden": 8, "embedding": 4},
    "gru": {"hidden": 8, "embedding": 4},
    "lstm": {"hidden": 8, "embedding": 4},
    "transformer": {"hidden": 8, "heads": 2, "mlp": 16, "causal": True},
}
MODELS = (*SIZES, WORKED)


def make_subject(text: str | None, model: str, backward: bool, row: int = 0, *, may_be_file: bool = True) -> Subject:
    """Put a text and a model together.

    Args:
        text: Words, or the path of a file with a sequence a line; for a run folder what it reads, or None for what it
            keeps.
        model: A preset, "worked", or the path of a run folder.
        backward: Whether the loss is wanted: of the next token, for which no row may be a single word and no word may
            read later ones, or of a run's task.
        row: Which sequence of a run's file or training part.
        may_be_file: Whether a text may be the path of a file; a text from a stranger must not.

    Raises:
        ConfigError: If there is no such model, or no text where one is needed.
        DataError: If there are no words, too few, too many for the positions, or unknown ones.
        RunError: If a run folder cannot be read.
    """
    if model not in MODELS and not Path(model).exists():
        rule, got = "a known one or a run folder", f"'{model}'"
        raise ConfigError(complain("clew trace", "--model", rule, got, did_you_mean(model, MODELS)))
    if text is None and model in MODELS:
        raise ConfigError(complain("clew trace", "TEXT", "given with this model", "none", "Put it in quotes."))
    if model not in MODELS:
        subject = run_subject(Path(model), text, row, backward, may_be_file=may_be_file)
    else:
        assert text is not None
        rows = text_rows(read_text(text) if may_be_file else text)
        subject = _worked(rows, backward) if model == WORKED else _untrained(model, rows)
    _check_lengths(subject, backward)
    subject.model.eval()
    return subject


def _untrained(preset: str, rows: list[list[str]]) -> Subject:
    vocabulary = list(dict.fromkeys(word for row in rows for word in row))
    size = max(len(vocabulary), 2)
    model = build(preset, vocab=size, outputs=size, **SIZES[preset])
    count = count_of(len(vocabulary), "word")
    words = f"{preset}, untrained, weights drawn with seed 0, vocabulary of the text's {count}"
    return Subject(model, rows, batch_of(rows, vocabulary), vocabulary, words, NextToken(size))


def _worked(rows: list[list[str]], backward: bool) -> Subject:
    require_known(rows, VOCABULARY)
    seeing = "causal, so that no word reads what it predicts" if backward else "every word reads every other"
    words = f"the worked example's encoder block, {seeing}, prediction head drawn with seed 0"
    model = proverb_model(causal=backward)
    return Subject(model, rows, batch_of(rows, VOCABULARY), VOCABULARY, words, NextToken(model.head.outputs))


def _check_lengths(subject: Subject, backward: bool) -> None:
    if not subject.is_shifted:
        return
    if backward and min(map(len, subject.words)) < 2:
        remedy = f"Each {subject.unit} but the last predicts the one after it."
        rule = f"at least 2 {subject.unit}s a line with --backward"
        raise DataError(complain("clew trace", "text", rule, "1", remedy))
    positions = getattr(subject.model.encoder, "positions", None)
    read = max(map(len, subject.words)) - backward
    if positions is not None and read > positions.max_positions:
        rule = f"at most {positions.max_positions} {subject.unit}s, the size of the model's position table"
        remedy = "Shorten it, or take --model gru, which needs no positions."
        raise DataError(complain("clew trace", "text", rule, read, remedy))
