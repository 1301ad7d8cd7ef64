"""What is kept in the repository speaks of the project alone: no folder of somebody's machine."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("home", "root", "Users", "opt", "work", "tmp", "farm")
MACHINE_PATH = re.compile(rf"(?<![\w./~:-])/(?:{'|'.join(FOLDERS)})/\w[\w.-]*")


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def machine_paths(text: str) -> list[str]:
    return MACHINE_PATH.findall(text)


def test_no_tracked_file_names_a_folder_of_a_machine() -> None:
    found = {}
    for path in tracked_files():
        try:
            hits = machine_paths(path.read_text())
        except UnicodeDecodeError:
            continue
        if hits:
            found[str(path.relative_to(ROOT))] = hits
    assert found == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_machine_path_is_seen(folder: str) -> None:
    path = "/".join(("", folder, "somebody"))
    assert machine_paths(f"see '{path}/notes.txt'") == [path]


def test_other_slashes_are_not_taken_for_paths() -> None:
    assert machine_paths("runs/tmp/x, https://example.org/home/page, ../tmp/x, read/write") == []
