"""What is wrong with files, settings and runs: a line each with the remedy, all at once; nothing is overwritten."""

import json
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from shutil import copytree

import pytest

from clew.cli import main
from cli.own_files import write_images, write_series, write_table, write_text, write_treebank

Clew = Callable[..., tuple[int, str, str]]
HEADER = "sequence,time,x,label\n"
ROWS = "".join(f"s{n // 2},{n % 2},{n % 5}.5,{'ab'[n // 2 % 2]}\n" for n in range(40))

FILES = {
    "empty.csv": ("", ["empty.csv: file must be one with content, got an empty file."]),
    "header.csv": (HEADER, ["header.csv: table must be at least one row long, got a header alone."]),
    "values.csv": (
        HEADER + ROWS.replace("s1,0,2.5", "s1,0,inf").replace("s2,1,0.5", "s2,1,"),
        [
            "values.csv: column 'x', row 3: value must be finite, got inf. Correct it or drop the row.",
            "values.csv: column 'x', row 6: value must be finite, got nothing. Fill it in, drop the row, or say "
            "--set data.missing=mean.",
        ],
    ),
    "twice.csv": (
        HEADER + ROWS.replace("s1,1,", "s1,0,"),
        ["twice.csv: column 'time', row 4: time must be once in a sequence, got 0 again in sequence 's1'."],
    ),
    "unsorted.csv": (
        HEADER + ROWS.replace("s1,0,", "s1,7,"),
        ["unsorted.csv: column 'time', row 4", "say --set data.sort=true."],
    ),
    "one.csv": (
        HEADER + ROWS.replace(",b\n", ",a\n"),
        ["one.csv: classes in column 'label' must be at least 2, got 1: 'a'."],
    ),
    "mixed.csv": (
        HEADER + ROWS.replace("s1,0,2.5", "s1,0,oops"),
        ["mixed.csv: column 'x', row 3: value must be a number, got 'oops'."],
    ),
    "many.csv": (
        HEADER + "".join(f"s{n // 2},{n % 2},{n}.5,{n // 2}\n" for n in range(40)),
        ["many.csv: task must be plain from the columns, or said, got 'label', 20 different whole numbers. Say --task"],
    ),
    "short.csv": (
        "time,x\n" + "".join(f"{n},{n}.5\n" for n in range(9)),
        ["the train part must be long enough for a window", "Take a shorter horizon"],
    ),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and a run of classification on it."""
    folder = tmp_path_factory.mktemp("trained")
    with chdir(folder):
        write_table(Path("a.csv"))
        few = ["--set", "training.epochs=1", "--set", "model.hidden=4"]
        assert main(["train", "a.csv", *few, "--out", "run"]) == 0
    return folder


@pytest.fixture
def run(trained: Path) -> str:
    """A copy of them in the present folder."""
    copytree(trained, ".", dirs_exist_ok=True)
    return "run"


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_file_is_told_in_lines_with_remedies(clew: Clew, name: str) -> None:
    content, expected = FILES[name]
    Path(name).write_text(content)
    code, out, err = clew("train", name)
    assert code in (1, 2)
    assert out == ""
    assert all(words in err for words in expected), err
    assert all(line.startswith(("Error: ", "task ", "season ", "horizon ")) for line in err.splitlines()), err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a.csw"], "a.csw: file must be one that can be read, got no such file. Did you mean 'a.csv'?"),
        ([], "clew train: FILE must be given, here or in --config, got none."),
        (["a.csv", "--task", "clasification"], "Did you mean 'classification'?"),
        (["a.txt", "--task", "tagging"], "a.txt: task for text must be next_token, got 'tagging'."),
        (["a.csv", "--model", "vit"], "inputs of 'vit' must be images"),
        (["a.csv", "--model", "gur"], "Did you mean 'gru'?"),
        (
            ["a.csv", "--set", "columns.label=lable"],
            "a.csv: column must be in the file, got 'lable'. Did you mean 'label'?",
        ),
        (["a.txt", "--set", "model.bidirectional=true"], "A reader in both directions has seen what it is to predict"),
        (["a.txt", "--set", "split.how=random"], "split: how for text must be parts or documents, got 'random'."),
        (["a.csv", "--set", "data.context=3"], "got data.context. Leave them out."),
        (["a.csv", "--set", "split.fractions=1,0,0"], "above 0 for training and validation"),
        (["a.csv", "--set", "training.learning_rate=-1"], "learning_rate must be above 0, got -1.0."),
        (["b.csv", "--test", "a.csv"], "--validation and --test must be left out in forecasting"),
        (["a.conllu", "--set", "columns.label=form"], "columns must be left out for a treebank"),
        (["a.npz", "--model", "gru", "--set", "data.layout=images"], "'vit' for images, another for rows"),
        (["a.csv", "--set", "task.horizon=3"], "task classification: unknown key 'horizon'"),
    ],
)
def test_a_wrong_setting_is_told_with_what_to_do(clew: Clew, words: list[str], expected: str) -> None:
    write_table(Path("a.csv"))
    write_text(Path("a.txt"))
    write_series(Path("b.csv"))
    write_treebank(Path("a.conllu"))
    write_images(Path("a.npz"))
    code, out, err = clew("train", *words)
    assert code in (1, 2)
    assert out == ""
    assert expected in err


def test_all_wrong_settings_are_told_at_once(clew: Clew) -> None:
    write_table(Path("a.csv"))
    Path("c.toml").write_text('[training]\nepoch = 3\nbatch_size = "many"\n[modle]\nhidden = 3\n')
    code, _, err = clew("train", "a.csv", "--config", "c.toml")
    assert code == 2
    assert "unknown key 'training.epoch'. Did you mean 'epochs'?" in err
    assert "'training.batch_size' must be a whole number, got 'many'" in err
    assert "unknown section 'modle'. Did you mean 'model'?" in err
    code, _, err = clew("train", "a.csv", "--set", "training.epoch=3", "--set", "modle.hidden=4", "--set", "x")
    assert code == 2
    assert all(words in err for words in ("'epochs'", "'model'", "written as a.b=value")), err


def test_a_class_that_training_never_saw_is_named_and_can_count_as_wrong(clew: Clew) -> None:
    write_table(Path("a.csv"))
    text = write_table(Path("b.csv"), 6).read_text().replace(",high", ",middle")
    Path("b.csv").write_text(text)
    code, _, err = clew("train", "a.csv", "--test", "b.csv")
    assert code == 1
    assert "class must be one of the 2 that training has, got 'middle'" in err
    words = ("train", "a.csv", "--test", "b.csv", "--set", "data.allow_unseen=true", "--set", "training.epochs=1")
    code, _, err = clew(*words)
    assert code == 0
    assert "of classes that training lacks, which count as wrong" in err


def test_nothing_is_overwritten_without_force(clew: Clew, run: str) -> None:
    Path("p.csv").write_text("mine")
    code, _, err = clew("predict", run, "a.csv", "-o", "p.csv")
    assert (code, Path("p.csv").read_text()) == (2, "mine")
    assert "got 'p.csv', which exists. Add --force to replace it." in err
    assert clew("predict", run, "a.csv", "-o", "p.csv", "--force")[0] == 0
    assert Path("p.csv").read_text() != "mine"
    Path("mine").mkdir()
    Path("mine/file").write_text("mine")
    for extra in ([], ["--force"]):
        assert clew("train", "a.csv", "--out", "mine", *extra)[0] == 1
        assert [path.name for path in Path("mine").iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["forecast", "run", "--plot"], "--plot"),
        (["export", "run", "--onnx"], "--onnx"),
        (["trace", "a cat", "--model", "rnn", "--html"], "--html"),
    ],
)
def test_an_output_that_is_there_is_told_by_its_option(clew: Clew, words: list[str], option: str) -> None:
    Path("mine").write_text("mine")
    code, out, err = clew(*words, "mine")
    assert (code, out, Path("mine").read_text()) == (2, "", "mine")
    rule = f"{option} must be a new file, got 'mine', which exists. Add --force to replace it."
    assert err == f"Error: clew {words[0]}: {rule}\n"


def test_a_traced_page_is_replaced_with_force(clew: Clew) -> None:
    Path("page.html").write_text("mine")
    assert clew("trace", "a cat", "--model", "rnn", "--html", "page.html", "--force")[0] == 0
    assert "a cat" in Path("page.html").read_text()


def test_the_audit_before_training_says_what_to_do_once_and_last(clew: Clew) -> None:
    lines = write_table(Path("a.csv")).read_text()
    Path("b.csv").write_text(lines)
    code, _, err = clew("train", "a.csv", "--validation", "b.csv")
    said = err.splitlines()[-1]
    assert code == 1 and ".;" not in said and said.count("Mend it") == 1
    rule = "fit: model and data must be without a leak before they are trained on, got 1 of 2 audits failed: the data: "
    assert said.startswith(f"Error: {rule}duplicate_rows")
    assert said.endswith(". Mend it, or say --set run.audit=warn to train all the same.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["generate", "run", "--prompt", "a"], "Only a run of next_token generates."),
        (["generate", "run"], "--prompt must be at least one token long, got none."),
        (["forecast", "run"], "Only a run of forecasting"),
        (["evaluate", "nothere"], "nothere: path must be a run folder, got none."),
        (["evaluate", "run", "b.csv"], "b.csv: column must be in the file, got 'x'."),
        (["predict", "run", "b.csv"], "b.csv: column must be in the file, got 'x'."),
        (["predict", "run", "a.csv", "-o", "p.xls"], "the ending of --out must be one of"),
        (["predict", "run", "a.csv", "-o", "no/p.csv"], "Make the folder first."),
        (["predict", "run", "a.csv", "--batch-size", "0"], "--batch-size must be at least 1, got 0."),
        (["export", "run"], "--onnx must be given"),
        (["compare", "none.toml"], "none.toml: configuration must be a TOML file"),
    ],
)
def test_a_run_that_cannot_do_it_says_so(clew: Clew, run: str, words: list[str], expected: str) -> None:
    write_series(Path("b.csv"))
    code, out, err = clew(*words)
    assert code in (1, 2)
    assert out == ""
    assert expected in err, err


def test_problems_of_a_comparison_are_told_before_it_trains(clew: Clew) -> None:
    write_table(Path("a.csv"))
    for text, expected in (
        ('file = "a.csv"\n', "recipes must be at least one, got none."),
        ('[recipes.gru.model]\npreset = "gru"\n', "file must be given, got none."),
        ('file = "a.csv"\n[recipes.gru]\nhidden = 3\n', "unknown key 'hidden'"),
        ('file = "a.csv"\n[compare]\nseeds = "x"\n[recipes.gru.model]\npreset = "gru"\n', "must be whole numbers"),
    ):
        Path("c.toml").write_text(text)
        code, _, err = clew("compare", "c.toml")
        assert code == 2
        assert expected in err, err
    assert not Path("runs").exists()


def test_missing_values_are_described_and_filled_when_that_is_said(clew: Clew) -> None:
    Path("a.csv").write_text(write_table(Path("a.csv")).read_text().replace("s004,0,", "s004,0, ", 1))
    text = Path("a.csv").read_text().splitlines()
    cells = text[5].split(",")
    text[5] = ",".join([*cells[:2], "", *cells[3:]])
    Path("a.csv").write_text("\n".join(text) + "\n")
    columns = json.loads(clew("data", "a.csv", "--json")[1])["columns"]
    assert next(column["missing"] for column in columns if column["name"] == "x") == 1
    assert clew("train", "a.csv")[0] == 1
    assert clew("train", "a.csv", "--set", "data.missing=mean", "--set", "training.epochs=1")[0] == 0
