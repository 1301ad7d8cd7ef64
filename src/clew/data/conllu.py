r"""Treebanks in CoNLL-U as tables for tagging: a sentence is a sequence, a word a step.

    # newdoc id = news-1
    # sent_id = a
    1-2<tab>do<tab>_ ...            a contraction; its words follow, and the range itself is no step
    1<tab>de<tab>de<tab>ADP ...
    2<tab>o<tab>o<tab>DET ...
    2.1<tab>foi<tab>ser<tab>AUX ... an empty node; no step either

What a model may read is made from the form alone: `form`, `lower`, `prefix`, `suffix1` to `suffix3` and `shape`. The
other columns are annotations, one of which is the label.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clew.data.columns import Columns
from clew.data.problems import Problems, shorten
from clew.data.table import Table
from clew.data.text_files import read_text
from clew.errors import ConfigError, complain, did_you_mean

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
LABELS = ("upos", "xpos", "feats", "deprel", "lemma")
DERIVED = ("form", "lower", "prefix", "suffix1", "suffix2", "suffix3", "shape")
SEQUENCE, TIME, GROUP = "sentence", "token", "document"
WORD_ID, RANGE_ID, EMPTY_ID = (
    re.compile(pattern, re.ASCII) for pattern in (r"[1-9]\d{0,8}", r"(\d{1,9})-(\d{1,9})", r"(\d{1,9})\.\d{1,9}")
)
NOTHING = "_"


def read_conllu(path: Path | str, label: str = "upos", *, needs_label: bool = True) -> Table:
    """Read a treebank.

    Sentences are named by `sent_id`, else by their number; `newdoc` comments give the column `document`, which is the
    group of a sentence where the file has any. Rows of the table are lines of the file.

    Args:
        path: A file in CoNLL-U.
        label: Which annotation is predicted: upos, xpos, feats, deprel or lemma. Words without it (`_`) are not scored.
        needs_label: False where a file without any label is no problem, as in prediction; the table has no label then.

    Raises:
        TableError: With a line for each thing that is wrong, by its line of the file.
        ConfigError: If the label is unknown.
    """
    import polars as pl

    if label not in LABELS:
        raise ConfigError(complain("read_conllu", "label", "known", repr(label), did_you_mean(str(label), LABELS)))
    problems = Problems(path)
    reader = _Reader(problems, FIELDS.index(label))
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        reader.take(number, line.removesuffix("\r"))
    reader.finish()
    has_label = any(value is not None for value in reader.labels)
    if not reader.forms and not problems:
        problems.add("", "", "file", "one with sentences of CoNLL-U", "none")
    if reader.forms and needs_label and not has_label:
        problems.add(f"column {label.upper()}", "", "label", "given", f"{NOTHING} at every word")
    problems.raise_if_any()
    columns = {SEQUENCE: reader.sentences, TIME: np.array(reader.tokens, np.float64)}
    derived = {form: [derive(form) for derive in DERIVATIONS] for form in set(reader.forms)}
    columns |= {name: [derived[form][place] for form in reader.forms] for place, name in enumerate(DERIVED)}
    if has_label:
        columns[label] = reader.labels
    if reader.has_documents:
        columns[GROUP] = reader.documents
    schema = {name: pl.Float64 if name == TIME else pl.String for name in columns}
    starts = [place for place, token in enumerate(reader.tokens) if token == 1]
    return Table(
        frame=pl.DataFrame(columns, schema=schema),
        columns=Columns(
            sequence=SEQUENCE,
            time=TIME,
            categorical=DERIVED,
            label=label if has_label else None,
            group=GROUP if reader.has_documents else None,
        ),
        path=Path(path),
        kind="conllu",
        form="long",
        rows=np.array(reader.rows, np.int64),
        steps=None,
        offsets=np.array([*starts, len(reader.rows)], np.int64),
        added=(SEQUENCE, *DERIVED[1:], *((GROUP,) if reader.has_documents else ())),
        unused=tuple(name for name in FIELDS[2:] if name != label or not has_label),
    )


@dataclass
class _Reader:
    """Takes the lines of a file one by one.

    Attributes:
        problems: Where to note what is wrong.
        label: Place of the label among the fields of a line.
    """

    problems: Problems
    label: int
    sentences: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    has_documents: bool = False

    def __post_init__(self) -> None:
        self._count, self._documents = 0, 0
        self._document, self._name = "", ""
        self._first_lines: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        """Be between two sentences."""
        self._words, self._range_end, self._comments_from, self._is_bad = 0, 0, 0, False
        self._name = ""

    def take(self, number: int, line: str) -> None:
        """Take one line without its end."""
        if not line:
            self._end()
        elif line[0] == "#":
            self._comment(number, line)
        else:
            self._line(number, line)

    def finish(self) -> None:
        """Say that the file has ended."""
        self._end()

    def _note(self, number: int, what: str, rule: str, got: str, remedy: str = "") -> None:
        self.problems.add("", f"line {number}", what, rule, got, remedy)

    def _comment(self, number: int, line: str) -> None:
        if self._words or self._is_bad:
            rule, remedy = "before the words of its sentence", "Leave an empty line between sentences."
            self._note(number, "comment", rule, "one behind them", remedy)
            self._end()
        self._comments_from = self._comments_from or number
        key, _, value = (part.strip() for part in line[1:].partition("="))
        if key == "sent_id":
            if not value:
                self._note(number, "sent_id", "given", "nothing")
            elif value in self._first_lines:
                self._note(
                    number, "sent_id", "once in a file", f"{shorten(value)} as in line {self._first_lines[value]}"
                )
            self._first_lines.setdefault(value, number)
            self._name = value
        elif key in ("newdoc", "newdoc id"):
            self._documents += 1
            self._document = value or f"{GROUP} {self._documents}"
            self.has_documents = True

    def _line(self, number: int, line: str) -> None:
        cells = line.split("\t")
        if len(cells) != len(FIELDS):
            got = f"{len(cells)}: {shorten(line)}"
            self._note(number, "line", f"{len(FIELDS)} columns with tabs between", got)
            self._is_bad = True
            return
        # Columns that are not read may be wrong; published treebanks have some that are empty.
        for place in (1, self.label):
            if not cells[place].strip():
                remedy = f"Write {NOTHING} where there is nothing." if place > 1 else ""
                self._note(number, f"column {FIELDS[place].upper()}", "filled", "nothing", remedy)
                self._is_bad = True
                return
        if WORD_ID.fullmatch(cells[0]):
            self._word(number, cells)
        elif match := RANGE_ID.fullmatch(cells[0]):
            first, last = int(match[1]), int(match[2])
            if not self._is_bad and (first != self._words + 1 or last <= first or self._range_end >= first):
                rule = "over words that follow it, none in another range"
                self._note(number, "range of words", rule, f"{cells[0]} after word {self._words}")
            self._range_end = max(self._range_end, last)
        elif match := EMPTY_ID.fullmatch(cells[0]):
            if not self._is_bad and int(match[1]) != self._words:
                self._note(number, "empty node", "behind its word", f"{cells[0]} after word {self._words}")
        else:
            self._note(number, "ID", "a number, a range as 1-2, or an empty node as 1.1", shorten(cells[0]))
            self._is_bad = True

    def _word(self, number: int, cells: list[str]) -> None:
        expected = self._words + 1
        # Behind a line that is wrong the count is wrong too, which says nothing new.
        if not self._is_bad and cells[0] != str(expected):
            remedy = "Leave an empty line between sentences." if cells[0] == "1" else ""
            got = f"{cells[0]} after {self._words}" if self._words else f"{cells[0]} at its begin"
            self._note(number, "ID", "the next in its sentence, from 1", got, remedy)
            if cells[0] == "1":
                self._end()
            self._is_bad = cells[0] != "1"
        if not self._words:
            self._begin()
        self._words += 1
        label = cells[self.label]
        self.sentences.append(self._name)
        self.tokens.append(self._words)
        self.forms.append(cells[1])
        self.labels.append(None if label == NOTHING else label)
        self.documents.append(self._document)
        self.rows.append(number)

    def _begin(self) -> None:
        self._count += 1
        if not self._name:
            self._name = str(self._count)
            while self._name in self._first_lines:
                self._name += "_"
            self._first_lines[self._name] = self._comments_from

    def _end(self) -> None:
        """End a sentence, if there is one."""
        if not self._is_bad:
            if self._comments_from and not self._words:
                rule = "one with words"
                self._note(self._comments_from, "sentence", rule, "comments alone", "Is the file cut off?")
            elif self._range_end > self._words:
                got = f"{self._words} words where a range goes to {self._range_end}"
                self._note(self.rows[-1] if self.rows else 1, "sentence", "whole", got, "Is the file cut off?")
        self._clear()


def word_shape(form: str) -> str:
    """Write capitals as X, other letters as x, digits as d; at most two of a kind in a row.

    >>> word_shape("Lula"), word_shape("R$1.234,50"), word_shape("sexta-feira")
    ('Xxx', 'X$d.dd,dd', 'xx-xx')
    """
    signs: list[str] = []
    for letter in form:
        sign = ("X" if letter.isupper() else "x") if letter.isalpha() else "d" if letter.isdigit() else letter
        if signs[-2:] != [sign, sign]:
            signs.append(sign)
    return "".join(signs)


DERIVATIONS = (
    lambda form: form,
    lambda form: form.lower(),
    lambda form: form.lower()[:3],
    lambda form: form.lower()[-1:],
    lambda form: form.lower()[-2:],
    lambda form: form.lower()[-3:],
    word_shape,
)
