"""`clew explore`: what it prints, how it ends, and what it refuses."""

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

Clew = Callable[..., tuple[int, str, str]]
SCRIPT = Path(sys.executable).with_name("clew")


def test_it_prints_the_address_answers_and_ends_quietly() -> None:
    command = [str(SCRIPT), "explore", "gru", "--text", "one two three", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        address = running.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", address)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=60) as answer:
            assert answer.geturl().endswith("/way?model=gru")
            assert 'value="one two three"' in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.partition("?")[0], timeout=60)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0
        assert running.stdout.read() == ""
        assert running.stderr.read() == "Open the address in a browser; Ctrl-C ends.\n"


def test_a_port_in_use_is_one_line(clew: Clew) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = f"Error: clew explore: --port must be free, got {port}, which is in use. "
        remedy = "Name another one, or leave --port out for a free one.\n"
        assert clew("explore", "--port", str(port), "--no-browser") == (2, "", line + remedy)


def test_an_unknown_model_is_named(clew: Clew) -> None:
    line = "Error: clew explore: model must be a run folder or a known model, got 'gur'. Did you mean 'gru'?\n"
    assert clew("explore", "gur", "--no-browser") == (2, "", line)


def test_a_folder_without_a_run_is_refused(clew: Clew, tmp_path: Path) -> None:
    exit_code, printed, line = clew("explore", str(tmp_path), "--no-browser")
    assert (exit_code, printed) == (1, "")
    assert line.startswith(f"Error: {tmp_path}: run folder must be one that holds config.json, got none.")


def test_a_text_that_cannot_be_read_is_refused_at_the_start(clew: Clew) -> None:
    exit_code, printed, line = clew("explore", "worked", "--text", "a banana", "--no-browser")
    assert (exit_code, printed) == (1, "")
    assert "'banana' at position 1" in line
