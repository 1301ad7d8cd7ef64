from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.data import Preparation, TableError, read_conllu
from clew.errors import ClewError, ConfigError

SAMPLE = """\
# newdoc id = news
# sent_id = a
# text = Do gato, 42
1-2	Do	_	_	_	_	_	_	_	_
1	De	de	ADP	_	_	_	_	_	_
2	o	o	DET	_	_	_	_	_	_
2.1	ela	ela	PRON	_	_	_	_	_	_
3	gato	gato	NOUN	_	_	_	_	_	_
4	,	,	PUNCT	_	_	_	_	_	_

1	McDonald	_	PROPN	_	_	_	_	_	_
2	1234	_	_	_	_	_	_	_	_

# newdoc
# sent_id = c
1	#	#	SYM	_	_	_	_	_	_
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.conllu"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sentences_are_sequences_of_words(tmp_path: Path, end: str) -> None:
    table = read_conllu(write(tmp_path, SAMPLE.replace("\n", end)))
    assert table.ids == ["a", "2", "c"]
    assert table.lengths.tolist() == [4, 2, 1]
    assert table.frame["form"].to_list() == ["De", "o", "gato", ",", "McDonald", "1234", "#"]
    assert table.frame["upos"].to_list() == ["ADP", "DET", "NOUN", "PUNCT", "PROPN", None, "SYM"]
    assert table.frame["token"].to_list() == [1, 2, 3, 4, 1, 2, 1]
    assert table.frame["document"].to_list() == ["news"] * 6 + ["document 2"]
    assert table.rows.tolist() == [5, 6, 8, 9, 11, 12, 16]
    assert table.place(6) == "line 16"
    assert (table.columns.label, table.columns.group, table.columns.time) == ("upos", "document", "token")


def test_columns_are_made_from_the_form_alone(tmp_path: Path) -> None:
    table = read_conllu(write(tmp_path, SAMPLE))
    row = table.frame.row(4, named=True)
    made = {name: row[name] for name in ("lower", "prefix", "suffix1", "suffix2", "suffix3", "shape")}
    assert made == {
        "lower": "mcdonald", "prefix": "mcd", "suffix1": "d", "suffix2": "ld", "suffix3": "ald", "shape": "XxXxx",
    }  # fmt: skip
    assert table.frame["shape"].to_list() == ["Xx", "x", "xx", ",", "XxXxx", "dd", "#"]
    assert table.columns.features == ("form", "lower", "prefix", "suffix1", "suffix2", "suffix3", "shape")


def test_a_treebank_goes_through_the_preparation(tmp_path: Path) -> None:
    table = read_conllu(write(tmp_path, SAMPLE))
    data = Preparation.fit(table, "tagging").apply(table)
    batch = data.whole()
    assert batch.inputs.shape == (3, 4, 7)
    assert batch.targets is not None and batch.targets[1].tolist() == [3, -1, -1, -1]


def test_files_without_labels_are_for_prediction(tmp_path: Path) -> None:
    path = write(tmp_path, SAMPLE)
    with pytest.raises(TableError, match="column XPOS: label must be given, got _ at every word"):
        read_conllu(path, "xpos")
    table = read_conllu(path, "xpos", needs_label=False)
    assert table.columns.label is None and "xpos" not in table.frame.columns
    assert read_conllu(path, "lemma").frame["lemma"][2] == "gato"
    with pytest.raises(ConfigError, match="Did you mean 'upos'"):
        read_conllu(path, "upo")


def line(number: str, form: str = "a") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t_\t_\t_\t_"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["a.conllu: file must be one with content, got an empty file."]),
        ("\n\n", ["a.conllu: file must be one with sentences of CoNLL-U, got none."]),
        (
            f"{line('1')}\n2\tcut\t_",
            ["a.conllu: line 2: line must be 10 columns with tabs between, got 3: '2\\tcut\\t_'."],
        ),
        ("a b\n", ["a.conllu: line 1: line must be 10 columns with tabs between, got 1: 'a b'."]),
        (
            f"{line('1')}\n{line('3')}\n{line('4')}\n\n{line('x')}\n",
            [
                "a.conllu: line 2: ID must be the next in its sentence, from 1, got 3 after 1.",
                "a.conllu: line 5: ID must be a number, a range as 1-2, or an empty node as 1.1, got 'x'.",
            ],
        ),
        (
            f"{line('1')}\n{line('1')}\n\n",
            [
                "a.conllu: line 2: ID must be the next in its sentence, from 1, got 1 after 1. "
                "Leave an empty line between sentences."
            ],
        ),
        (
            f"{line('1')}\n# sent_id = b\n{line('1')}\n\n",
            [
                "a.conllu: line 2: comment must be before the words of its sentence, got one behind them. "
                "Leave an empty line between sentences."
            ],
        ),
        (
            f"# sent_id = a\n{line('1')}\n\n# sent_id = a\n{line('1')}\n\n# sent_id = b\n",
            [
                "a.conllu: line 4: sent_id must be once in a file, got 'a' as in line 1.",
                "a.conllu: line 7: sentence must be one with words, got comments alone. Is the file cut off?",
            ],
        ),
        (
            f"{line('1-3')}\n{line('1')}\n",
            ["a.conllu: line 2: sentence must be whole, got 1 words where a range goes to 3. Is the file cut off?"],
        ),
        (
            f"{line('2-3')}\n{line('1')}\n{line('2')}\n{line('3')}\n{line('1.1')}\n",
            [
                "a.conllu: line 1: range of words must be over words that follow it, none in another range, "
                "got 2-3 after word 0.",
                "a.conllu: line 5: empty node must be behind its word, got 1.1 after word 3.",
            ],
        ),
        (
            f"{line('1', ' ')}\n\n1\ta\t_\t\t_\t_\t_\t_\t_\t_\n",
            [
                "a.conllu: line 1: column FORM must be filled, got nothing.",
                "a.conllu: line 3: column UPOS must be filled, got nothing. Write _ where there is nothing.",
            ],
        ),
    ],
)
def test_everything_wrong_is_told_by_its_line(tmp_path: Path, text: str, problems: list[str]) -> None:
    with pytest.raises(TableError) as caught:
        read_conllu(write(tmp_path, text))
    assert [problem.removeprefix(f"{tmp_path}/") for problem in caught.value.problems] == problems


def test_a_kind_of_problem_is_counted_where_it_repeats(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        read_conllu(write(tmp_path, "wrong\n\n" * 9))
    assert len(caught.value.problems) == 6
    assert caught.value.problems[-1].endswith("4 more lines that must be 10 columns with tabs between.")


def test_a_sentence_without_a_name_never_takes_that_of_another(tmp_path: Path) -> None:
    table = read_conllu(write(tmp_path, f"# sent_id = 2\n{line('1')}\n\n{line('1')}\n"))
    assert table.ids == ["2", "2_"]


LINES = st.sampled_from(
    [line("1"), line("2"), line("1-2"), line("1.1"), line("1", "\x85"), "# sent_id = a", "# newdoc", "", "x\ty", "#"]
)


@given(content=st.one_of(st.lists(LINES, max_size=8).map("\n".join).map(str.encode), st.binary(max_size=80)))
def test_any_bytes_give_a_table_or_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = write(tmp_path_factory.getbasetemp(), content)
    try:
        table = read_conllu(path)
    except ClewError as error:
        assert all(problem.startswith(f"{path}: ") for problem in str(error).split("\n"))
        return
    assert table.offsets[-1] == table.frame.height == len(table.rows)
    assert len(set(table.ids)) == len(table.ids) and int(table.lengths.min()) >= 1
