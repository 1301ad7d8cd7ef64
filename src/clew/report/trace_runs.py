"""Run folders for `clew trace`: the selected weights, and one sequence that they read, with words for its steps.

A sequence comes from the training part that the run keeps, from a file like the one that was trained on, or, for next
tokens, from a text. Runs of `clew recall` know their words and draw an episode where no text is given.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from clew.data import Preparation, SequenceData
from clew.data.batch import Batch
from clew.data.recall_episodes import TOKEN_WORDS, sample_episodes
from clew.data.unknown_tokens import refuse_unknown
from clew.errors import ConfigError, DataError, RunError, complain
from clew.models.heads import ClassTokenHead
from clew.models.patch_input import PatchInput
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.saving import build_from_config
from clew.report.subject import Subject, batch_of, count_of, require_known
from clew.runs import FORMAT, Run, load, read_json, source_fingerprint
from clew.runs.inputs import read_inputs, windows_of
from clew.tasks import CueRecall, Forecasting, NextToken, Tagging
from clew.training import load_weights
from clew.walkthrough.proverb import words_of

WHERE = "clew trace"
EPISODE_SEED = 0
MOST_EPISODES = 1000
SHOWN_TOKENS = 32
"""Tokens of a training window that are read where no text is given."""
VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def run_subject(folder: Path, source: str | None, row: int, backward: bool, *, may_be_file: bool = True) -> Subject:
    """Load a run, and what it reads.

    Args:
        folder: The run.
        source: A text for next tokens, or the path of a file; None for what the run keeps.
        row: Which sequence of a file, or of what the run keeps.
        backward: Whether a loss is wanted, which needs targets.
        may_be_file: Whether the source may be the path of a file; a source from a stranger must not.

    Raises:
        RunError: If the folder cannot be read, or keeps no data and none are given.
        ConfigError: If there is no such row.
        DataError: If a text or file is wrong.
    """
    config = _run_config(folder)
    if config.get("task", {}).get("name") == CueRecall.name:
        return _recall_subject(folder, config, source, row, may_be_file)
    run = load(folder)
    description = _described(config, run.task.name, run.selected_epoch)
    if isinstance(run.task, NextToken) and source is not None and not (may_be_file and _is_table(run, source)):
        return _text_subject(run, run.task, read_text(source) if may_be_file else source, description)
    if source is not None and not may_be_file:
        remedy = "Leave the text out, and choose a row."
        raise DataError(complain(WHERE, "text", f"left out for a run of {run.task.name}", "one", remedy))
    data, names, where = _sequences(run, source, backward)
    if not 0 <= row < len(data):
        raise ConfigError(complain(WHERE, "--row", f"in [0, {len(data)}), a sequence of {where}", row))
    batch = data.select(torch.tensor([row]))
    if isinstance(run.task, NextToken):
        batch = batch if source is not None else _first_tokens(batch)
        if batch.documents is not None and isinstance(run.model.encoder, RecurrentEncoder):
            batch, words = _longest_document(batch, batch.documents[0])
            description = f"{description}{words}"
        return _token_subject(run, run.task, batch, description)
    title = f"Sequence {names[row]} of {where}" if names[row] != str(row) else f"Sequence {row} of {where}"
    labels, unit = _labels(run, batch)
    return Subject(run.model, [labels], batch, (), description, run.task, unit, title)


def _recall_subject(folder: Path, config: dict[str, Any], source: str | None, row: int, may_be_file: bool) -> Subject:
    try:
        model = build_from_config(config["model"])
        epoch = load_weights(model, folder / "best.safetensors")
        task = CueRecall(**config["task"]["config"])
    except (KeyError, TypeError, ConfigError) as error:
        remedy = "Trace it with the version of clew that made it."
        got = f"another one ({error})".splitlines()[0]
        raise RunError(complain(str(folder), "run", "one of this version of clew", got, remedy)) from error
    spelled = {word.lower(): word for word in TOKEN_WORDS}
    if source is None:
        rows = [[TOKEN_WORDS[token] for token in _episode(task, row)]]
    else:
        lines = text_rows(read_text(source) if may_be_file else source)
        rows = [[spelled.get(word, word) for word in line] for line in lines]
        require_known(rows, TOKEN_WORDS)
    description = _described(config, f"cue recall at {task.label}", epoch)
    return Subject(model, rows, batch_of(rows, TOKEN_WORDS), TOKEN_WORDS, description, task.next_token)


def _episode(task: CueRecall, row: int) -> list[int]:
    """Draw the episode of a number; the same number gives the same one."""
    if not 0 <= row < MOST_EPISODES:
        raise ConfigError(complain(WHERE, "--row", f"in [0, {MOST_EPISODES}), an episode", row))
    generator = torch.Generator().manual_seed(EPISODE_SEED)
    drawn = [sample_episodes(4, task.delay, generator, task.cue_position) for _ in range(row // 4 + 1)]
    return drawn[-1][row % 4].tolist()


def _described(config: dict[str, Any], task: str, epoch: int) -> str:
    words = f"{config['recipe']}, trained on {task.replace('_', ' ')} for {count_of(epoch, 'epoch')}"
    return words if config.get("sources") == source_fingerprint() else f"{words}, by other sources of clew than these"


def _run_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        inside = sorted(found.parent for depth in ("*", "*/*") for found in folder.glob(f"{depth}/config.json"))
        remedy = f"Name one of its runs, such as {inside[0]}." if inside else "Make one with `clew train`."
        raise RunError(complain(str(folder), "run folder", "one that holds config.json", "none", remedy))
    config = read_json(path)
    if config.get("format") != FORMAT:
        remedy = "Trace it with the version of clew that made it."
        raise RunError(complain(str(path), "format", str(FORMAT), repr(config.get("format")), remedy))
    return config


def _is_table(run: Run, source: str) -> bool:
    """Say whether the source of tokens is a table and no text."""
    return isinstance(run.preparation, Preparation) and is_file(source) and Path(source).suffix != ".txt"


def _sequences(run: Run, source: str | None, backward: bool) -> tuple[SequenceData | Batch, Sequence[str], str]:
    """Give sequences, their names, and what they came from."""
    if source is not None:
        if not is_file(source):
            remedy = f"A run of {run.task.name} reads files like the one that was trained on."
            raise DataError(complain(WHERE, "FILE", "a file", f"'{source}'", remedy))
        read = read_inputs(Path(source), run.task, run.preparation, is_scored=backward)
        data = read.data
        if isinstance(run.task, Forecasting) and isinstance(data, SequenceData):
            data = windows_of(data, run.task, run.config["window"])
            return data, list(data.ids), source
        return data, read.ids, source
    if not (run.path / "train").exists():
        remedy = f"Name what it should read: clew trace {run.path} FILE."
        raise RunError(complain(str(run.path), "training part", "kept in the run", "none", remedy))
    data = SequenceData.open(run.path / "train")
    return data, data.ids, "the training part"


def _text_subject(run: Run, task: NextToken, text: str, description: str) -> Subject:
    """Read a text with the run's vocabulary, as one row."""
    vocabulary = run.vocabulary
    if vocabulary is None:
        names = [str(number) for number in range(task.vocab)]
        require_known([text.split()], names)
        ids = [names.index(word) for word in text.split()]
    else:
        if isinstance(
            run.preparation, Preparation
        ):  # a table's tokens are typed one by one; running text may lack some
            refuse_unknown(vocabulary, text, WHERE, "text")
        ids = vocabulary.encode(text)
    if not ids:
        raise DataError(complain(WHERE, "text", "at least one token", "none", "Give some, in quotes."))
    return _token_subject(run, task, Batch(torch.tensor([ids])), description)


def _token_subject(run: Run, task: NextToken, batch: Batch, description: str) -> Subject:
    vocabulary = run.vocabulary
    names = [_visible(str(number) if vocabulary is None else vocabulary.token(number)) for number in range(task.vocab)]
    words = [names[number] for number in batch.inputs[0].tolist()]
    return Subject(run.model, [words], batch, names, description, task, "token")


def _visible(token: str) -> str:
    return "".join(VISIBLE.get(character, character) for character in token)


def _first_tokens(batch: Batch) -> Batch:
    valid, documents = (None if part is None else part[:, :SHOWN_TOKENS] for part in (batch.valid, batch.documents))
    return Batch(batch.inputs[:, :SHOWN_TOKENS], valid, None, documents)


def _longest_document(batch: Batch, documents: Int[Tensor, " time"]) -> tuple[Batch, str]:
    """Take the longest document of a row alone, and say so where there are others.

    A recurrence reads packed documents as rows of their own, whose steps are not those of the row; one document alone
    gives the same numbers, with steps that are.
    """
    numbers, counts = documents[documents >= 0].unique(return_counts=True)
    words = f", reading the longest of the {len(numbers)} documents in {count_of(int(counts.sum()), 'token')}"
    return Batch(batch.inputs[:, documents == numbers[counts.argmax()]]), words if len(numbers) > 1 else ""


def _labels(run: Run, batch: Batch) -> tuple[list[str], str]:
    """Name each step that the model reads, and say what a step is called."""
    reader, task, preparation = run.model.inputs, run.task, run.preparation
    if isinstance(reader, PatchInput):
        down, along = reader.grid
        patches = [f"{row}.{column}" for row in range(down) for column in range(along)]
        return (["class", *patches] if isinstance(run.model.head, ClassTokenHead) else patches), "patch"
    steps = (task.align(batch).inputs if isinstance(task, Forecasting) else batch.inputs).shape[1]
    if isinstance(task, Tagging) and task.word is not None and isinstance(preparation, Preparation):
        column = preparation.maps[task.word - preparation.features]
        words = column.decode(_numbers(batch.inputs[0, :, task.word]))
        return words, "word"
    return [""] * steps, "step"


def _numbers(values: Tensor) -> list[int]:
    return [int(value) for value in values.tolist()]


def is_file(text: str) -> bool:
    """Say whether a text is the path of a file."""
    try:
        return len(text) < 1024 and Path(text).is_file()
    except (OSError, ValueError):
        return False


def read_text(text: str) -> str:
    """Take a text as it is, or from the file that it names."""
    if not is_file(text):
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(complain(text, "file", "text in UTF-8", "other bytes", "Save it as UTF-8.")) from error


def text_rows(text: str) -> list[list[str]]:
    """Split a text into the words of each line; lines without any are left out."""
    rows = [list(words_of(line)) for line in text.splitlines()]
    rows = [row for row in rows if row]
    if not rows:
        remedy = "Give some, in quotes, or the path of a file."
        raise DataError(complain(WHERE, "text", "at least one word", "none", remedy))
    return rows
