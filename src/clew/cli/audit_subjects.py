"""Somebody's own model, named as FILE.py:BUILD or package.module:BUILD: the module is run, and BUILD is called.

BUILD takes no arguments and gives a model, or a dict of the arguments of `clew.audit` with `model` among them. The
global generator of torch is seeded before, so that the same command audits the same weights.
"""

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch

from clew.checks.runner import audit
from clew.cli.faults import UsageError
from clew.errors import complain, did_you_mean

WHERE = "clew audit"
SEED = 0
REMEDY = "With --debug it shows its traceback."


def build_arguments(target: str) -> dict[str, Any]:
    """Give the arguments of an audit that a target names; `inputs` may be missing.

    Args:
        target: FILE.py:BUILD or package.module:BUILD.

    Raises:
        UsageError: If there is no such module or function, if either raises, or if what it gives is no model and no
            dict of arguments.
    """
    source, _, name = target.rpartition(":")
    if not source or not name:
        remedy = "Such as model.py:build, where build() gives a model; or name a run folder."
        raise UsageError(
            complain(WHERE, "TARGET", "FILE.py:BUILD, package.module:BUILD or a folder", f"'{target}'", remedy)
        )
    module = _load(source)
    if not hasattr(module, name):
        known = [known for known, value in vars(module).items() if callable(value) and known[0] != "_"]
        raise UsageError(
            complain(WHERE, f"BUILD of {source}", "a function in it", f"'{name}'", did_you_mean(name, known))
        )
    return _as_arguments(target, _built(target, source, getattr(module, name)))


def _built(target: str, source: str, build: Any) -> Any:
    if isinstance(build, torch.nn.Module | Mapping):
        return build
    if not callable(build):
        raise UsageError(complain(WHERE, target, "a function", type(build).__name__))
    needed = _needed(build)
    if needed:
        remedy = "Wrap it in a function that fills them in."
        raise UsageError(complain(WHERE, target, "callable without arguments", f"one that needs {needed}", remedy))
    torch.manual_seed(SEED)
    with _raising(target, "callable without an error", source):
        return build()


def _needed(build: Callable[..., Any]) -> str:
    try:
        parameters = inspect.signature(build).parameters.values()
    except (TypeError, ValueError):
        return ""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return ", ".join(one.name for one in parameters if one.default is one.empty and one.kind not in kinds)


def _as_arguments(target: str, built: Any) -> dict[str, Any]:
    if not isinstance(built, Mapping):
        if not callable(built):
            got = "nothing" if built is None else type(built).__name__
            rule = "a function that gives a model or a dict of clew.audit arguments"
            raise UsageError(complain(WHERE, target, rule, got, "Return the model."))
        return {"model": built}
    known = list(inspect.signature(audit).parameters)
    for key in built:
        if key not in known:
            raise UsageError(
                complain(
                    WHERE, f"keys from {target}", "arguments of clew.audit", f"'{key}'", did_you_mean(str(key), known)
                )
            )
    if "model" not in built:
        raise UsageError(
            complain(WHERE, f"the dict from {target}", "one with 'model'", f"keys {', '.join(built) or 'none'}")
        )
    return dict(built)


def _load(source: str) -> ModuleType:
    """Run a file, or import a module with the current folder on the path, as `python -m` has it."""
    path = Path(source)
    if path.suffix == ".py":
        if not path.is_file():
            raise UsageError(complain(WHERE, "FILE", "a Python file that exists", source))
        with _raising(source, "importable", source):
            return _run_file(path)
    _put_on_path(Path.cwd())
    with _raising(source, "importable", source):
        return importlib.import_module(source)


def _run_file(path: Path) -> ModuleType:
    """Run a file as a module of its own name, with its folder on the path, so that it finds its neighbours."""
    _put_on_path(path.parent.resolve())
    name = path.stem if path.stem not in sys.modules else f"_audited_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


def _put_on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@contextmanager
def _raising(what: str, rule: str, source: str) -> Iterator[None]:
    """Turn whatever foreign code raises into one line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        _tell(what, rule, source, error)


def _tell(what: str, rule: str, source: str, error: BaseException) -> NoReturn:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(source)]
    line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
    said = " ".join(str(error).split())
    got = f"{type(error).__name__}{f': {said}' if said else ''}".rstrip(".") + (f" in line {line}" if line else "")
    raise UsageError(complain(WHERE, what, rule, got, REMEDY)) from error
