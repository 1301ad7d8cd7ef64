"""The how-to pages of one's own files do what they say, in order, on the samples; the whole of it takes minutes."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from clew.cli.application import build_application

ROOT = Path(__file__).parents[2]
PAGES = ("tables", "tagging", "text", "forecasting", "images")


def lines_of(page: str, language: str = "bash") -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] if language == "bash" else blocks


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_can_be_parsed(page: str) -> None:
    assert lines_of(page)
    for line in lines_of(page):
        program, *words = shlex.split(line)
        assert program == "clew"
        build_application().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_runs(page: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "runs").mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines_of(page):
        done = subprocess.run(shlex.split(line), cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True)
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()[-2000:]}"
    for code in lines_of(page, "python"):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
