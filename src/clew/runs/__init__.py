"""Runs: train into a folder, load what a folder holds, predict and evaluate with it. Start with `fit` and `load`."""

from clew.runs.fitting import fit
from clew.runs.folder import (
    FORMAT,
    LOCK_WAIT_SECONDS,
    RESULT_SOURCES,
    RunFolder,
    describe_environment,
    lock_folder,
    read_json,
    read_lines,
    run_identity,
    source_fingerprint,
)
from clew.runs.predictions import Predictions
from clew.runs.run import Run, load

__all__ = [
    "FORMAT",
    "LOCK_WAIT_SECONDS",
    "RESULT_SOURCES",
    "Predictions",
    "Run",
    "RunFolder",
    "describe_environment",
    "fit",
    "load",
    "lock_folder",
    "read_json",
    "read_lines",
    "run_identity",
    "source_fingerprint",
]
