"""Tables of tokens: next_token from a column of words, through every command; and what is said of unknown tokens."""

import json
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from clew.cli import main
from clew.runs import load
from cli.own_files import write_series, write_text, write_tokens

Clew = Callable[..., tuple[int, str, str]]
BRIEF = ("--set", "training.epochs=1", "--set", "model.hidden=8")
WORDS = {"the", "a", "cat", "dog", "sat", "ran", "down", "off"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of next_token on a table of words, on characters and on the words of a text."""
    folder = tmp_path_factory.mktemp("tokens")
    with chdir(folder):
        write_tokens(Path("t.csv"))
        write_text(Path("t.txt"))
        assert main(["train", "t.csv", "--task", "next_token", *BRIEF, "--set", "split.how=random", "-o", "run"]) == 0
        short = (*BRIEF, "--set", "data.context=16")
        assert main(["train", "t.txt", *short, "-o", "letters"]) == 0
        assert main(["train", "t.txt", *short, "--set", "data.vocabulary=words", "-o", "words"]) == 0
    return folder


@pytest.fixture
def here(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    return trained


def test_a_column_of_words_is_trained_evaluated_and_generated_from(clew: Clew, here: Path) -> None:
    assert "After" in (here / "run/report.html").read_text()
    code, out, _ = clew("evaluate", "run", "t.csv", "--json")
    assert code == 0 and json.loads(out)["metrics"]["loss_nats"] > 0
    code, out, _ = clew("generate", "run", "--prompt", "the  cat", "--tokens", "5")
    before, after = out[:8], out.removesuffix("\n")[8:]
    assert (code, before, after[0]) == (0, "the  cat", " ") and len(after.split()) == 5 and set(after.split()) <= WORDS
    found = json.loads(clew("generate", "run", "--prompt", "the", "--tokens", "40", "--stop", "off", "--json")[1])
    assert "off" not in found["text"].split()[:-1]
    predictions = load(here / "run").predict(here / "t.csv")
    assert set(predictions.classes) == {"<unk>", *WORDS}
    code, _, err = clew("predict", "run", "t.csv")
    assert code == 2 and "Use clew generate RUN --prompt TEXT." in err


def test_a_column_of_words_is_traced_by_text_by_file_and_from_the_run(clew: Clew, here: Path) -> None:
    found = json.loads(clew("trace", "run", "the cat sat", "--backward", "--json")[1])
    assert found["rows"] == [["the", "cat", "sat"]] and set(found["vocabulary"]) == {"<unk>", *WORDS}
    for source in ([], ["t.csv", "--row", "2"]):
        code, out, _ = clew("trace", "run", *source, "--json")
        assert code == 0 and set(json.loads(out)["rows"][0]) <= WORDS
    code, _, err = clew("trace", "run", "the catt zebra")
    rule = "text must be of tokens that training had, with spaces between them, got 'catt', 'zebra'."
    assert code == 1 and f"clew trace: {rule} Did you mean 'cat' for 'catt'? Known tokens: a, cat, " in err


@pytest.mark.parametrize(
    ("run", "options", "expected"),
    [
        (
            "run",
            ["--prompt", "thee dragon thee cat"],
            "clew generate: --prompt must be of tokens that training had, with spaces between them, got 'thee', "
            "'dragon'. Did you mean 'the' for 'thee'",
        ),
        (
            "run",
            ["--prompt", "the", "--stop", "offf"],
            "clew generate: --stop must be of tokens that training had, with spaces between them, got 'offf'. "
            "Did you mean 'off'? Known tokens: a, cat, dog, down, off, ran, sat, the.",
        ),
        ("run", ["--prompt", "the", "--stop", "cat sat"], "clew generate: --stop must be one token, got 'cat sat'"),
        (
            "letters",
            ["--prompt", "the zebra zoo: Ω"],
            "clew generate: --prompt must be of characters that training had, got 'z', 'b', ':', 'Ω'. "
            "Known characters: \\n .acdeghnorst",
        ),
        ("letters", ["--prompt", "the", "--stop", "X"], "--stop must be of characters that training had, got 'X'."),
        (
            "words",
            ["--prompt", "the dogg ran"],
            "clew generate: --prompt must be of words that training had, got 'dogg'. Did you mean 'dog'? "
            "Known words: ., \\n, a, cat, dog, ran, sat, the.",
        ),
    ],
)
def test_all_unknown_tokens_are_named_as_what_they_were_given_as(
    clew: Clew, here: Path, run: str, options: list[str], expected: str
) -> None:
    code, out, err = clew("generate", run, *options)
    assert code in (1, 2) and out == "" and expected in err, err


def test_words_of_a_text_go_on_after_a_space(clew: Clew, here: Path) -> None:
    out = clew("generate", "words", "--prompt", "the dog", "--tokens", "8", "--temperature", "9")[1]
    after = out.removeprefix("the dog")
    assert after[0] in " .\n" and (after[0] != " " or after[1].isalpha())


@pytest.mark.parametrize(
    ("table", "columns"), [("time,load", "load (numbers)"), ("time,word,load", "load (numbers), word (text)")]
)
def test_a_table_without_one_column_of_tokens_is_refused_and_described_so(
    clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, columns: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = write_series(Path("a.csv")).read_text().replace("time,load", table)
    Path("a.csv").write_text(text.replace("00,", "00,low,") if "word" in table else text)
    rule = f"what next_token reads must be one column of tokens, got {columns}. Name the column of tokens"
    code, _, err = clew("train", "a.csv", "--task", "next_token")
    assert (code, err) == (1, f"Error: a.csv: {rule}: --set columns.categorical=NAME.\n")
    assert not Path("runs").exists()
    out = clew("data", "a.csv")[1]
    assert next(line for line in out.splitlines() if line.startswith("next_token")).split(maxsplit=1)[1] == (
        f"not as it is: {rule} with categorical."
    )


def test_numbers_are_tokens_where_that_is_said(clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("time,note,extra\n" + "".join(f"{n},{n % 3},1\n" for n in range(90)))
    setting = ("--set", "columns.categorical=note")
    assert "next_token      predicts the next of 3 tokens of 'note'" in clew("data", "a.csv", *setting)[1]
    assert clew("train", "a.csv", "--task", "next_token", *BRIEF, *setting, "-o", "run")[0] == 0
    out = clew("generate", "run", "--prompt", "0 1 2", "--tokens", "4")[1]
    assert set(out.split()) == {"0", "1", "2"} and len(out.split()) == 7
