"""The table of commands and flags, and how quickly the command line answers."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from clew.cli.application import COMMANDS, build_application

CLEW = Path(sys.executable).with_name("clew")
README = Path(__file__).parents[2] / "README.md"
FLAGS = {
    "audit": {
        "TARGET", "--boundary", "--data", "--force", "--group", "--horizon", "--html", "--inputs", "--json", "--label",
        "--self-test", "--time", "--validation", "--vocab", "--window",
    },
    "compare": {"CONFIG", "--json", "--out", "--set", "--workers", "-o"},
    "data": {"FILE", "--json", "--set"},
    "evaluate": {"RUN", "FILE", "--json"},
    "explore": {"MODEL", "--beside", "--host", "--no-browser", "--port", "--text"},
    "export": {"RUN", "--force", "--json", "--onnx"},
    "forecast": {"RUN", "FILE", "--force", "--horizon", "--json", "--known", "--out", "--plot", "-o"},
    "generate": {
        "RUN", "--json", "--prompt", "--rule", "--seed", "--stop", "--temperature", "--tokens", "--top-k", "--top-p",
    },
    "predict": {"RUN", "FILE", "--batch-size", "--force", "--json", "--out", "-o"},
    "recall": {
        "--cue-position", "--delays", "--epochs", "--json", "--out", "--quick", "--recipes", "--seeds", "--workers",
    },
    "trace": {"TEXT", "FILE", "--backward", "--force", "--html", "--json", "--model", "--row", "--show", "--step"},
    "train": {
        "FILE", "--config", "--force", "--json", "--model", "--out", "--seed", "--set", "--task", "--test",
        "--validation", "-o",
    },
    "walkthrough": {"--json", "--only", "--out"},
}  # fmt: skip
HELP_SECONDS = 0.5
TRIES = 5


def flags_of(command: str) -> set[str]:
    arguments = build_application()[command].assemble_argument_collection()
    return {name for argument in arguments for name in argument.names}


def test_the_commands_and_their_flags_are_these() -> None:
    assert set(COMMANDS) == set(FLAGS)
    assert {command: flags_of(command) for command in COMMANDS} == FLAGS


@pytest.mark.parametrize("command", sorted(FLAGS))
def test_the_readme_names_every_flag(command: str) -> None:
    text = README.read_text()
    assert f"clew {command}" in text
    assert [flag for flag in sorted(FLAGS[command]) if flag not in text] == []


@pytest.mark.parametrize(
    "words", [["--help"], ["recall", "--help"], ["audit", "--help"], ["trace", "--help"], ["--version"]]
)
def test_help_and_version_answer_in_half_a_second(words: list[str]) -> None:
    # The least of a few: what else runs on the machine only ever adds.
    tries = (cpu_seconds([str(CLEW), *words]) for _ in range(TRIES))
    assert any(seconds < HELP_SECONDS for seconds in tries)


def cpu_seconds(command: list[str]) -> float:
    """Processor time of a command: other processes on the machine lengthen it less than they do the wall clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("command", sorted(FLAGS))
def test_help_of_a_command_needs_no_torch(command: str) -> None:
    code = (
        "import sys; from clew.cli import main; "
        f"code = main(['{command}', '--help']); "
        "print([name for name in ('torch', 'scipy', 'matplotlib') if name in sys.modules], code, file=sys.stderr)"
    )
    environment = os.environ | {"COLUMNS": "200"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr.strip() == "[] 0"
    assert all(flag in done.stdout for flag in FLAGS[command])
