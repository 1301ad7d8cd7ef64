"""The run folder: one trained model, everything that says where it came from, and nothing that runs code when read.

    config.json        resolved and complete: task, model, training, seeds, data fingerprints, package sources
    environment.json   where it was made: versions, platform, device
    metrics.jsonl      a line an epoch          timings.jsonl   seconds (the clock is here alone)
    best.safetensors   selected weights         last.safetensors   all that resuming needs
    test.json          the sealed test, scored once after selection
    evaluations.jsonl  other files, a line each          report.html   curves, figures and references

A folder is named after the hash of its configuration, so that a changed configuration, code or data is another run;
`clew.fit` takes a name from its caller too.
"""

import hashlib
import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from clew.errors import RunError, complain
from clew.files import append_line, cannot_write, dump_json, write_atomically

FORMAT = 1
LOCK_WAIT_SECONDS = 10.0
# The rooms whose code can change what a run gives; the rest (display, reports, commands) is not part of its identity.
RESULT_SOURCES = (
    "shapes.py",
    "visibility.py",
    "layers",
    "models",
    "data",
    "tasks",
    "training",
    "runs/keeping.py",
    "runs/fitting.py",
    "lab/jobs.py",
    "lab/examinations.py",
    "lab/recall/interventions.py",
)


@cache
def source_fingerprint() -> str:
    """SHA-256 of the package sources that can change a result."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in RESULT_SOURCES:
        place = root / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def run_identity(config: dict[str, Any]) -> str:
    """Sixteen hexadecimal digits that name a run: the hash of its complete configuration."""
    text = json.dumps(config, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe_environment() -> dict[str, str]:
    """Versions and platform, for `environment.json`."""
    import numpy
    import torch

    from clew import __version__

    return {
        "clew": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "processor": torch.backends.cpu.get_cpu_capability(),
    }


@dataclass(frozen=True)
class RunFolder:
    """Paths and contents of one run folder."""

    path: Path

    @property
    def best(self) -> Path:
        return self.path / "best.safetensors"

    @property
    def last(self) -> Path:
        return self.path / "last.safetensors"

    @property
    def is_trained(self) -> bool:
        """Whether training has come to its end."""
        lines = self.metrics()
        return bool(lines) and bool(lines[-1].get("stopped")) and self.best.exists()

    @property
    def is_scored(self) -> bool:
        """Whether the run is finished: its test has been scored."""
        return (self.path / "test.json").exists()

    def begin(self, config: dict[str, Any]) -> None:
        """Make the folder and write what it is; a folder that is there already must say the same.

        Raises:
            RunError: If the folder holds another configuration or cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        described = {"format": FORMAT, **config}
        path = self.path / "config.json"
        if path.exists():
            if read_json(path) != json.loads(dump_json(described)):
                remedy = "Choose another folder, or delete this one."
                raise RunError(complain(str(path), "configuration", "the one of this run", "another one", remedy))
            return
        write_atomically(self.path / "environment.json", dump_json(describe_environment()) + "\n")
        write_atomically(path, dump_json(described) + "\n")

    @contextmanager
    def locked(self, wait_seconds: float = LOCK_WAIT_SECONDS) -> Iterator[None]:
        """Keep other processes from writing here meanwhile; the lock goes when its holder dies.

        Raises:
            RunError: If another process holds the folder for longer than `wait_seconds`.
        """
        with lock_folder(self.path, wait_seconds):
            yield

    def append_metrics(self, records: list[dict[str, Any]]) -> None:
        """Add lines for finished epochs."""
        if records:
            append_line(self.path / "metrics.jsonl", "\n".join(dump_json(record, indent=None) for record in records))

    def append_seconds(self, epoch: int, seconds: float) -> None:
        """Add a line for time that was spent on an epoch; an epoch may have several."""
        append_line(self.path / "timings.jsonl", json.dumps({"epoch": epoch, "seconds": seconds}))

    def cut_back(self, epoch: int) -> None:
        """Drop the lines of epochs after `epoch`, which will be trained again; the time is spent all the same."""
        path = self.path / "metrics.jsonl"
        lines = read_lines(path)
        if path.exists():
            kept = [line for line in lines if line["epoch"] <= epoch]
            write_atomically(path, "".join(dump_json(line, indent=None) + "\n" for line in kept))

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`, one an epoch."""
        return read_lines(self.path / "metrics.jsonl")

    def seconds(self) -> float:
        """Seconds spent in training, all sessions together."""
        return float(sum(line["seconds"] for line in read_lines(self.path / "timings.jsonl")))

    def write_test(self, result: dict[str, Any]) -> None:
        """Write the score of the sealed test, once.

        Raises:
            RunError: If the test has been scored before.
        """
        if self.is_scored:
            raise RunError(complain(str(self.path / "test.json"), "test", "scored once", "a second score"))
        write_atomically(self.path / "test.json", dump_json(result) + "\n")

    def test(self) -> dict[str, Any]:
        """The score of the sealed test."""
        return read_json(self.path / "test.json")


@contextmanager
def lock_folder(path: Path, wait_seconds: float) -> Iterator[None]:
    """Hold a folder for writing; the operating system frees it when the holder dies.

    Raises:
        RunError: If another process holds it for longer than `wait_seconds`.
    """
    lock = FileLock(path / ".lock")
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        remedy = "Wait for it to end, or choose another folder with --out."
        raise RunError(complain(str(path), "folder", "free", "one that another process is writing", remedy)) from error
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield
    finally:
        lock.release()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        RunError: If the file is missing or is not a JSON object.
    """
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(complain(str(path), "file", "a readable JSON file", f"{error}")) from error
    if not isinstance(content, dict):
        raise RunError(complain(str(path), "file", "a JSON object", type(content).__name__))
    return content


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; a last line that was cut off in the middle of a write is left out."""
    if not path.exists():
        return []
    whole = path.read_text().split("\n")[:-1]
    return [json.loads(line) for line in whole if line]
