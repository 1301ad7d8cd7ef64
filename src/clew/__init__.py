"""clew: follow information through sequence models.

Which input could reach which prediction, by which path, with what learning signal, and what a result proves.
Submodules and functions are imported when first used, so that `import clew` and `clew --help` stay quick.
"""

from importlib import import_module
from typing import Any

_MODULES = ("checks", "data", "errors", "lab", "layers", "ledger", "models", "tasks", "training", "visibility")
_FUNCTIONS = {
    "Recipe": "clew.lab",
    "Splits": "clew.lab",
    "audit": "clew.checks",
    "audit_data": "clew.checks",
    "compare": "clew.lab",
    "fit": "clew.runs",
    "load": "clew.runs",
    "plan_training": "clew.runs.planning",
    "record": "clew.ledger",
}

__all__ = ["__version__", *_FUNCTIONS, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"clew.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version("clew")
    if name in _FUNCTIONS:
        return getattr(import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'clew' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
