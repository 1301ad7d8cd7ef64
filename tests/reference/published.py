"""Where the packages of published weights lie, or why a test that needs them does not run."""

import importlib.util
import os
from pathlib import Path

import pytest


def require_package(name: str) -> Path:
    """Give the folder of an installed package; skip without it, and fail where everything must be there (CI=true)."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0])
    reason = f"the package {name} is not installed: `make published` installs it"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)
