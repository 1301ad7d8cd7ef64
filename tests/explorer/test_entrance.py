"""The browser is led in by a file of its owner, so that its arguments hold no token, and the file does not stay."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.explorer.entrance import entrance_file

SCRIPT = Path(sys.executable).with_name("clew")
BROWSER = """#!/bin/sh
stat -c '%a' "${1#file://}" "$(dirname "${1#file://}")" > "$SEEN.part"
echo "$1" >> "$SEEN.part"
cat "${1#file://}" >> "$SEEN.part"
mv "$SEEN.part" "$SEEN"
"""


def test_the_file_leads_to_the_address_and_is_gone_afterwards() -> None:
    with entrance_file('http://127.0.0.1:1/?token=a&b="c"') as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        page = path.read_text()
        assert page.count("http://127.0.0.1:1/?token=a&amp;b=&#34;c&#34;") == 2
        assert '<meta http-equiv="refresh" content="0; url=http://127.0.0.1:1/' in page
        assert "<script" not in page
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_file_behind(name: str) -> None:
    number = getattr(signal, name)
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended, entrance_file("http://127.0.0.1:1/") as path:
            os.kill(os.getpid(), number)
            time.sleep(1)
        assert ended.value.code == 128 + number
        assert not path.parent.exists()
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_browser_is_given_no_token(number: signal.Signals, tmp_path: Path) -> None:
    """The command in a process of its own, with a browser that writes down what it was given."""
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    settings = {**os.environ, "BROWSER": f"{browser} %s", "SEEN": str(seen), "OMP_NUM_THREADS": "1"}
    command = [str(SCRIPT), "explore", "gru", "--text", "one two three"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        token = re.search(r"token=([\w-]{32})", address)
        assert token is not None
        end = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < end:
            time.sleep(0.05)
        own, folder, given, *page = seen.read_text().splitlines()
        assert (own, folder) == ("600", "700")
        assert given.startswith("file:///") and token[1] not in given
        assert address in "\n".join(page)
        time.sleep(1)  # until the server has begun, which the browser above did not wait for
        running.send_signal(number)
        running.wait(30)
    assert not Path(given.removeprefix("file://")).parent.exists()
