"""The README does what it says: its commands exist, its Python runs, and it stays short."""

import re
import shlex
from pathlib import Path

import pytest

from clew.cli.application import build_application

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
LONGEST = 166
UNCHECKED = ("git clone", "cd ")


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


def shell_lines() -> list[str]:
    lines = [line.split(" #")[0].strip() for text in blocks("bash") for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", *UNCHECKED))]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= LONGEST


def test_the_readme_shows_the_two_commands() -> None:
    assert {"make recall", "make test"} <= set(shell_lines())


@pytest.mark.parametrize("line", shell_lines())
def test_every_command_of_the_readme_exists(line: str) -> None:
    program, *words = shlex.split(line)
    if program == "make":
        assert {word for word in words if "=" not in word} <= make_targets()
    else:
        assert program.removeprefix(".venv/bin/") == "clew"
        build_application().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("code", blocks("python"))
def test_every_python_block_of_the_readme_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/audit.md",
        "docs/datasets.md",
        "docs/design.md",
        "docs/forecasting.md",
        "docs/glossary.md",
        "docs/images.md",
        "docs/lab-log.md",
        "docs/ledger.md",
        "docs/published-weights.md",
        "docs/tables.md",
        "docs/tagging.md",
        "docs/text.md",
    ],
)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    folder = (ROOT / page).parent
    assert [target for target in targets if target and not (folder / target).exists()] == []
