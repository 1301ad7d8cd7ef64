"""The names that the package promises: `clew.__all__` as listed here, and every listed name exists."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import clew

PACKAGE = Path(__file__).parents[2] / "src" / "clew"
PUBLIC = [
    "Recipe", "Splits", "__version__", "audit", "audit_data", "checks", "compare", "data", "errors", "fit", "lab",
    "layers", "ledger", "load", "models", "plan_training", "record", "tasks", "training", "visibility",
]  # fmt: skip
PACKAGES = sorted(
    ".".join(("clew", *path.parent.relative_to(PACKAGE).parts)) for path in PACKAGE.rglob("*/__init__.py")
)


def test_the_public_names_are_these() -> None:
    assert sorted(clew.__all__) == sorted(PUBLIC)
    assert dir(clew) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(clew, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'clew' has no attribute 'comparison'"):
        _ = clew.comparison


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_lists_what_it_offers(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__doc__, f"{name} must say what it is for"
    tree = ast.parse(Path(str(package.__file__)).read_text())
    if any(isinstance(node, ast.ImportFrom | ast.FunctionDef | ast.ClassDef) for node in tree.body):
        assert hasattr(package, "__all__"), f"{name} must list its names in __all__"
    missing = [listed for listed in getattr(package, "__all__", []) if not hasattr(package, listed)]
    assert missing == []


def test_importing_the_package_and_its_command_line_needs_no_torch() -> None:
    heavy = ("torch", "scipy", "matplotlib", "numpy")
    code = f"import sys, clew, clew.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
