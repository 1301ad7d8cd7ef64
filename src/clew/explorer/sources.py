"""The models that a server offers, each under a key: a request names a key, and never a path.

Start with `offer`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clew.errors import ConfigError, RunError, complain
from clew.explorer import limits
from clew.explorer.scalar import scalar_subject
from clew.models import SequenceModel
from clew.report.subject import Subject
from clew.report.trace_runs import is_file, read_text, run_subject
from clew.report.trace_subject import SIZES, WORKED, make_subject
from clew.runs import read_json
from clew.tasks import CueRecall, NextToken
from clew.training.state import read_tensors
from clew.walkthrough.proverb import TEXT, words_of

SCALAR, RUN, LAST, BESIDE = "scalar", "run", "last", "beside"
OFFERED = (WORKED, *SIZES, SCALAR)
"""Keys of the models that need no run."""
PRESET_LABELS = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM", "transformer": "Transformer"}


@dataclass(frozen=True)
class Source:
    """A model that is offered.

    Attributes:
        key: Its name in an address.
        label: Its name on a page.
        folder: The run that it comes from; None for a model without one.
        reads_text: Whether a request may say what it reads.
        default_text: What it reads otherwise; None where a row of what the run keeps is read.
        subject: Puts it together with a text from a request (None for the default) and a row, with or without a loss.
    """

    key: str
    label: str
    folder: Path | None
    reads_text: bool
    default_text: str | None
    subject: Callable[[str | None, int, bool], Subject]


def offer(run: Path | None = None, beside: Sequence[Path] = (), text: str | None = None) -> dict[str, Source]:
    """List the models of a server by their keys, a run first.

    Args:
        run: A run folder; its selected weights and its last ones are offered.
        beside: Further run folders, to compare with.
        text: What models read by default, words or the path of a file; the worked example's where there is none.

    Raises:
        ConfigError: If the text is longer than one that a page may ask for.
        RunError: If a folder holds no run.
        DataError: If the text is a file that is no text.
    """
    words = None if text is None or _is_data(run, text) else _short(read_text(text))
    sources: list[Source] = []
    if run is not None:
        sources.append(_run_source(RUN, run, text, words))
        if (run / "last.safetensors").exists():
            sources.append(_run_source(LAST, run, text, words))
    for number, folder in enumerate(beside, start=1):
        sources.append(_run_source(BESIDE if number == 1 else f"{BESIDE}-{number}", folder, text, words))
    words = TEXT if words is None else words
    sources.append(_preset_source(WORKED, "Worked example", words))
    sources += [_preset_source(name, f"{PRESET_LABELS[name]}, untrained", words) for name in SIZES]
    sources.append(Source(SCALAR, "Scalar RNN of the chapter", None, False, None, lambda *_: scalar_subject()))
    return {source.key: source for source in sources}


def _is_data(run: Path | None, text: str) -> bool:
    """Say whether a text is a file of data for the run that is shown first, and no words: only that run reads it."""
    if run is None or not is_file(text):
        return False
    task = _task_name(run)
    return task != CueRecall.name and (task != NextToken.name or Path(text).suffix != ".txt")


def _short(text: str) -> str:
    """Hold the text of the command line to what an address may hold, so that each page of it can be asked for again.

    Raises:
        ConfigError: If it is longer.
    """
    text = text.replace("\r\n", "\n")
    rows = [words_of(line) for line in text.splitlines()]
    rows = [row for row in rows if row]
    sizes = [
        (len(text), limits.MOST_TEXT, "characters"),
        (len(rows), limits.MOST_ROWS, "lines"),
        (max(map(len, rows), default=0), limits.MOST_STEPS, "words a line"),
    ]
    over = [(size, most, unit) for size, most, unit in sizes if size > most]
    if over:
        rule = "at most " + ", ".join(f"{most:,} {unit}" for _, most, unit in over)
        got = ", ".join(f"{size:,} {unit}" for size, _, unit in over)
        raise ConfigError(complain("clew explore", "--text", rule, got, "Shorten it, or give one part of it."))
    return text


def _preset_source(name: str, label: str, default: str) -> Source:
    def subject(text: str | None, row: int, backward: bool) -> Subject:
        return make_subject(default if text is None else text, name, backward, row, may_be_file=False)

    return Source(name, label, None, True, default, subject)


def _run_source(key: str, folder: Path, given: str | None, text: str | None) -> Source:
    """Offer a run; `given` is what the command line gave, `text` the words of it, None where they are none."""
    task = _task_name(folder)
    reads_text = task in (NextToken.name, CueRecall.name)
    words = {RUN: "selected weights", LAST: "last weights"}.get(key, "selected weights")
    read = partial(_read_run, folder, key == LAST, given)
    return Source(key, f"{folder.name or folder}, {words}", folder, reads_text, text if reads_text else None, read)


def _read_run(folder: Path, is_last: bool, default: str | None, text: str | None, row: int, backward: bool) -> Subject:
    """Load a run and what it reads: a request's text is never taken for a path, that of the command line may be one."""
    is_default = text is None
    subject = run_subject(folder, default if is_default else text, row, backward, may_be_file=is_default)
    if is_last:
        _load_last(subject.model, folder / "last.safetensors")
    subject.model.eval()
    return subject


def _load_last(model: SequenceModel, path: Path) -> None:
    """Give a model the weights of the last checkpoint, which holds the state of the optimizer too.

    Raises:
        RunError: If the file is damaged or belongs to another model.
    """
    tensors, _ = read_tensors(path)
    try:
        model.load_state_dict({k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")})
    except RuntimeError as error:
        raise RunError(complain(str(path), "checkpoint", "one of this run", f"{error}".splitlines()[0])) from error


def _task_name(folder: Path) -> str:
    path = folder / "config.json"
    if not path.exists():
        inside = sorted(found.parent for depth in ("*", "*/*") for found in folder.glob(f"{depth}/config.json"))
        remedy = f"Name one of its runs, such as {inside[0]}." if inside else "Make one with `clew train`."
        raise RunError(complain(str(folder), "run folder", "one that holds config.json", "none", remedy))
    task = read_json(path).get("task")
    return str(task.get("name")) if isinstance(task, dict) else ""
