"""The page on the audit does what it says: its Python runs, its commands exit as it says, its table is complete."""

import re
import shlex
from pathlib import Path

import pytest

from clew.checks import CHECKS, DATA_CHECKS
from clew.cli import main
from clew.cli.application import build_application

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "audit.md").read_text()
EXIT_CODE = re.compile(r"# exit code (\d)")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def shell_lines() -> list[str]:
    return [line for text in blocks("bash") for line in text.splitlines()]


def test_every_python_block_runs_and_so_does_the_test_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks("python"):
        exec(compile(block, "audit.md", "exec"), names)
        said = re.findall(r"^print\(report\.(?:failures|passed)\)  # (.*)$", block, re.MULTILINE)
        printed = capsys.readouterr()
        assert [line for line in printed.out.splitlines() if line in said] == said
        assert printed.err == ""
    tests = [test for name, test in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    for test in tests:
        assert callable(test)
        test()
    assert (tmp_path / "audit.html").exists()


@pytest.mark.parametrize("line", shell_lines())
def test_every_command_exists(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    assert program == "clew"
    build_application().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in shell_lines() if EXIT_CODE.search(line)])
def test_every_command_exits_as_the_page_says(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = EXIT_CODE.search(line)
    assert said is not None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(shlex.split(line, comments=True)[1:]) == int(said[1])


def test_the_table_names_every_check() -> None:
    assert sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == sorted((*CHECKS, *DATA_CHECKS))
