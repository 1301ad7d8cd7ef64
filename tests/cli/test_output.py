"""Results whose reader has gone, and characters that the reader's encoding lacks."""

import os
import subprocess
import sys

import pytest

COMMAND = """
import sys
from clew.cli import application
from clew.cli.output import print_result, result_console

def command(*arguments, **settings):
    {body}

application.build_application = lambda: command
sys.exit(application.main([]))
"""


def run_command(body: str, stdout: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `main` in a process of its own, with one command that does what `body` says."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", COMMAND.format(body=body)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=buffered | environment)


@pytest.mark.parametrize("body", ["print_result('x')", "result_console().print('x')", "print('x')"])
def test_a_reader_that_left_ends_the_command_quietly(body: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = run_command(body, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_an_encoding_lacks_becomes_a_question_mark() -> None:
    done = run_command("print_result('1 ± 2')", subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 ? 2\n", "")
