"""One line on a terminal that says what is going on, and goes away when it is over; nothing in a pipe or a file."""

from types import TracebackType

from clew.cli.display import TextStream

LONGEST = 78
_CLEAR = "\r\x1b[K"


class StatusLine:
    """A line that each call of `show` replaces.

    Args:
        stream: Standard error.
    """

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream

    def __enter__(self) -> "StatusLine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write(_CLEAR)

    def show(self, text: str) -> None:
        """Say what is going on now."""
        self._write(_CLEAR + (text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."))

    def _write(self, text: str) -> None:
        if not self._stream.isatty():
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the reader is gone, which harms nobody
            pass
