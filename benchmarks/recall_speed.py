"""Wall time of the default `clew recall` (27 runs, report and all) beside that of `plain_recall.py`, in one run.

    python benchmarks/recall_speed.py [--epochs 60]

Both are whole processes, started one after the other on an otherwise idle machine; the plain script may use as many
threads as torch takes by default. Prints both times and their ratio, which is to be at most 0.5.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def seconds_of(command: list[str]) -> float:
    """Run a command to its end and give its wall time."""
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def main() -> None:
    """Time both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60)
    epochs = str(parser.parse_args().epochs)
    plain = [sys.executable, str(Path(__file__).with_name("plain_recall.py")), "--epochs", epochs]
    with tempfile.TemporaryDirectory() as folder:
        ours = [sys.executable, "-m", "clew", "recall", "--epochs", epochs, "--out", f"{folder}/out"]
        clew_seconds = seconds_of(ours)
    plain_seconds = seconds_of(plain)
    print(f"\nclew recall   {clew_seconds:7.1f} s\nplain script  {plain_seconds:7.1f} s")
    print(f"ratio         {clew_seconds / plain_seconds:7.3f}   (at most 0.5)")


if __name__ == "__main__":
    main()
