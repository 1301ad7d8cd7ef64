"""The way into the explorer for the browser: a file that only its owner can read, which leads to the address.

A browser's arguments are seen by everybody on the machine; the address with its token must not be among them.
Start with `entrance_file`.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from markupsafe import Markup

NAME = "open.html"
PAGE = Markup(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>clew explore</title>
</head>
<body><p><a href="{address}">Open the explorer</a></p></body>
</html>
"""
)


@contextmanager
def entrance_file(address: str) -> Iterator[Path]:
    """Write a page that leads to an address, in a folder of its own; both are gone in the end, signals included."""
    with _ended_by_signals(), TemporaryDirectory(prefix="clew-explore-") as folder:
        path = Path(folder, NAME)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(PAGE.format(address=address))
        yield path


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let signals that would end the process at once end it by an exception, so that what was made is removed."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    own = [number for number in numbers if before[number] == signal.SIG_DFL]
    for number in own:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, before[number])


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
