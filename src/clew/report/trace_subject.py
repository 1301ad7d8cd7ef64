"""What `clew trace` looks at: a text as token ids, and a model that reads them.

An untrained preset has the text's own words as its vocabulary, so that no word is unknown. The worked example and a run
folder know their words, and refuse others. Each line of a text is a row of the batch, padded on the right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clew.data.batch import Batch
from clew.data.recall_episodes import TOKEN_WORDS, sample_episodes
from clew.errors import ConfigError, DataError, RunError, complain, did_you_mean
from clew.models import SequenceModel, build
from clew.models.saving import build_from_config
from clew.runs import FORMAT, read_json, source_fingerprint
from clew.tasks import CueRecall
from clew.training import load_weights
from clew.walkthrough.proverb import VOCABULARY, proverb_model, words_of

WORKED = "worked"
SIZES: dict[str, dict[str, Any]] = {
    "rnn": {"hidden": 8, "embedding": 4},
    "gru": {"hidden": 8, "embedding": 4},
    "lstm": {"hidden": 8, "embedding": 4},
    "transformer": {"hidden": 8, "heads": 2, "mlp": 16, "causal": True},
}
MODELS = (*SIZES, WORKED)
EPISODE_SEED = 0


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and what it reads.

    Attributes:
        model: In evaluation mode.
        words: The words of each row.
        batch: Their ids.
        vocabulary: The word of each id.
        description: The model in words, for a summary.
    """

    model: SequenceModel
    words: list[list[str]]
    batch: Batch
    vocabulary: Sequence[str]
    description: str


def make_subject(text: str | None, model: str, backward: bool) -> Subject:
    """Put a text and a model together.

    Args:
        text: Words, or the path of a file with a sequence a line; None for a random episode, for a run folder only.
        model: A preset, "worked", or the path of a run folder.
        backward: Whether the loss of the next token is wanted: then no row may be a single word, and no word may read
            later ones.

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
    rows = None if text is None else _rows_of(_read(text))
    if model in SIZES:
        assert rows is not None
        subject = _untrained(model, rows)
    elif model == WORKED:
        assert rows is not None
        subject = _worked(rows, backward)
    else:
        subject = _trained(Path(model), rows)
    _check_lengths(subject, backward)
    subject.model.eval()
    return subject


def _read(text: str) -> str:
    """Take a text as it is, or from the file that it names."""
    try:
        is_file = len(text) < 1024 and Path(text).is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(complain(text, "file", "text in UTF-8", "other bytes", "Save it as UTF-8.")) from error


def _rows_of(text: str) -> list[list[str]]:
    rows = [list(words_of(line)) for line in text.splitlines()]
    rows = [row for row in rows if row]
    if not rows:
        remedy = "Give some, in quotes, or the path of a file."
        raise DataError(complain("clew trace", "text", "at least one word", "none", remedy))
    return rows


def _untrained(preset: str, rows: list[list[str]]) -> Subject:
    vocabulary = list(dict.fromkeys(word for row in rows for word in row))
    size = max(len(vocabulary), 2)
    model = build(preset, vocab=size, outputs=size, **SIZES[preset])
    words = (
        f"{preset}, untrained, weights drawn with seed 0, vocabulary of the text's {_count(len(vocabulary), 'word')}"
    )
    return Subject(model, rows, _batch(rows, vocabulary), vocabulary, words)


def _worked(rows: list[list[str]], backward: bool) -> Subject:
    _require_known(rows, VOCABULARY)
    seeing = "causal, so that no word reads what it predicts" if backward else "every word reads every other"
    words = f"the worked example's encoder block, {seeing}, prediction head drawn with seed 0"
    return Subject(proverb_model(causal=backward), rows, _batch(rows, VOCABULARY), VOCABULARY, words)


def _trained(folder: Path, rows: list[list[str]] | None) -> Subject:
    config = _run_config(folder)
    try:
        model = build_from_config(config["model"])
        epoch = load_weights(model, folder / "best.safetensors")
        task = CueRecall(**config["task"]["config"])
    except (KeyError, TypeError, ConfigError) as error:
        remedy = "Trace it with the version of clew that made it."
        got = f"another one ({error})".splitlines()[0]
        raise RunError(complain(str(folder), "run", "one of this version of clew", got, remedy)) from error
    spelled = {word.lower(): word for word in TOKEN_WORDS}
    if rows is None:
        drawn = sample_episodes(4, task.delay, torch.Generator().manual_seed(EPISODE_SEED), task.cue_position)
        rows = [[TOKEN_WORDS[token] for token in drawn[0].tolist()]]
    else:
        rows = [[spelled.get(word, word) for word in row] for row in rows]
        _require_known(rows, TOKEN_WORDS)
    words = f"{config['recipe']}, trained on cue recall at {task.label} for {_count(epoch, 'epoch')}"
    if config.get("sources") != source_fingerprint():
        words += ", by other sources of clew than these"
    return Subject(model, rows, _batch(rows, TOKEN_WORDS), TOKEN_WORDS, words)


def _run_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        inside = sorted(found.parent for depth in ("*", "*/*") for found in folder.glob(f"{depth}/config.json"))
        remedy = f"Name one of its runs, such as {inside[0]}." if inside else "Make one with `clew recall`."
        raise RunError(complain(str(folder), "run folder", "one that holds config.json", "none", remedy))
    config = read_json(path)
    if config.get("format") != FORMAT:
        remedy = "Trace it with the version of clew that made it."
        raise RunError(complain(str(path), "format", str(FORMAT), repr(config.get("format")), remedy))
    name = config.get("task", {}).get("name")
    if name != CueRecall.name:
        raise RunError(complain(str(path), "task", f"'{CueRecall.name}', whose tokens have words", f"'{name}'"))
    return config


def _require_known(rows: list[list[str]], known: Sequence[str]) -> None:
    for number, row in enumerate(rows):
        for place, word in enumerate(row):
            if word not in known:
                got = f"'{word}' at position {place}{f' of line {number}' if len(rows) > 1 else ''}"
                remedy = f"Known words: {', '.join(known)}."
                raise DataError(complain("clew trace", "words", "known to the model", got, remedy))


def _batch(rows: list[list[str]], vocabulary: Sequence[str]) -> Batch:
    places = {word: token for token, word in enumerate(vocabulary)}
    longest = max(map(len, rows))
    ids = [[places[word] for word in row] + [0] * (longest - len(row)) for row in rows]
    if len({len(row) for row in rows}) == 1:
        return Batch(torch.tensor(ids))
    lengths = torch.tensor([len(row) for row in rows])
    return Batch(torch.tensor(ids), torch.arange(longest) < lengths.unsqueeze(1))


def _check_lengths(subject: Subject, backward: bool) -> None:
    if backward and min(map(len, subject.words)) < 2:
        remedy = "Each word but the last predicts the one after it."
        raise DataError(complain("clew trace", "text", "at least 2 words a line with --backward", "1", remedy))
    positions = getattr(subject.model.encoder, "positions", None)
    read = max(map(len, subject.words)) - backward
    if positions is not None and read > positions.max_positions:
        rule = f"at most {positions.max_positions} words, the size of the model's position table"
        remedy = "Shorten it, or take --model gru, which needs no positions."
        raise DataError(complain("clew trace", "text", rule, read, remedy))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
