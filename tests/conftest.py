"""Shapes and types in every signature are checked while the tests run."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from jaxtyping import install_import_hook

install_import_hook("clew", "beartype.beartype")
