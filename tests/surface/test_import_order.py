"""The order of the house: a module imports only from rooms above its own, and modules do not import in a circle."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
ROOMS = (
    "errors", "files", "threads", "shapes", "visibility", "rendering", "ledger", "layers", "models", "data", "tasks",
    "checks", "generation", "training", "runs", "lab", "walkthrough", "report", "explorer", "cli",
)  # fmt: skip


def modules_below(source: Path) -> dict[str, Path]:
    """Name every module of the package; a package goes by the name of its folder."""
    paths = sorted((source / "clew").rglob("*.py"))
    return {".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports_of(module: str, path: Path, modules: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Give line and module of each import from the package, inside functions and for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "clew")
        elif isinstance(node, ast.ImportFrom):
            origin = absolute_origin(node, module, is_package=path.name == "__init__.py")
            if origin.split(".")[0] == "clew":
                for alias in node.names:
                    member = f"{origin}.{alias.name}"
                    yield node.lineno, member if member in modules or origin == "clew" else origin


def absolute_origin(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Resolve the dots of a relative import."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = len(parts) - node.level + is_package
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])


def violations(source: Path) -> list[str]:
    """Say of each import that is out of order where it stands and what it imports."""
    modules = modules_below(source)
    found = []
    for module, path in modules.items():
        if module in ("clew", "clew.__main__"):
            continue
        room = module.split(".")[1]
        if room not in ROOMS:
            found.append(f"{path.relative_to(source)}: '{room}' is not a room of the house")
            continue
        for line, target in imports_of(module, path, modules):
            if target == "clew.__version__":
                continue
            target_room = [*target.split("."), ""][1]
            if target_room not in ROOMS[: ROOMS.index(room) + 1]:
                found.append(f"{path.relative_to(source)}:{line}: {room} must not import {target}")
    return found


def circle(source: Path) -> list[str]:
    """Give the modules of an import circle, or nothing."""
    modules = modules_below(source)
    graph = {name: {target for _, target in imports_of(name, path, modules)} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_modules_import_only_from_rooms_above_their_own() -> None:
    assert violations(SOURCE) == []


def test_no_modules_import_in_a_circle() -> None:
    assert circle(SOURCE) == []


def test_the_walk_sees_the_whole_package() -> None:
    modules = modules_below(SOURCE)
    assert {"clew", "clew.errors", "clew.cli", "clew.cli.recall"} <= modules.keys()
    seen = {target for _, target in imports_of("clew.cli.recall", modules["clew.cli.recall"], modules)}
    assert {"clew.errors", "clew.cli.faults", "clew.lab.recall"} <= seen  # the last one stands inside a function


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A small house in order, for the tests to plant faults in."""
    for name, text in {
        "clew/__init__.py": "",
        "clew/errors.py": "",
        "clew/layers/__init__.py": "from clew.layers.gru import GRU",
        "clew/layers/gru.py": "import clew.errors\nGRU = 1",
        "clew/cli/__init__.py": "from clew import __version__\nfrom clew.layers import GRU",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_house_in_order_passes(planted: Path) -> None:
    assert violations(planted) == []
    assert circle(planted) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nimport clew.cli", "clew/layers/rnn.py:2: layers must not import clew.cli"),
        ("def f():\n    from clew.cli import main", "clew/layers/rnn.py:2: layers must not import clew.cli"),
        ("from clew import cli", "clew/layers/rnn.py:1: layers must not import clew.cli"),
        ("from .. import cli", "clew/layers/rnn.py:1: layers must not import clew.cli"),
        ("from ..cli import main", "clew/layers/rnn.py:1: layers must not import clew.cli"),
        ("from clew import compare", "clew/layers/rnn.py:1: layers must not import clew.compare"),
        ("import clew", "clew/layers/rnn.py:1: layers must not import clew"),
    ],
)
def test_an_import_from_below_is_reported_with_file_and_line(planted: Path, text: str, said: str) -> None:
    (planted / "clew/layers/rnn.py").write_text(text)
    assert violations(planted) == [said]


def test_an_unknown_room_is_reported(planted: Path) -> None:
    (planted / "clew/utils.py").write_text("")
    assert violations(planted) == ["clew/utils.py: 'utils' is not a room of the house"]


def test_a_circle_within_a_room_is_reported(planted: Path) -> None:
    (planted / "clew/layers/gru.py").write_text("from clew.layers import GRU")
    assert set(circle(planted)) == {"clew.layers", "clew.layers.gru"}
