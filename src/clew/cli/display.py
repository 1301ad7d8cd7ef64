"""What listeners of long work share: plain lines for a pipe, a live display for a terminal, a length of time in words.

What is printed may be lost without harm: when whoever reads it goes away, lines fall silent and the work goes on.
"""

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

REFRESHES_PER_SECOND = 4


@runtime_checkable
class TextStream(Protocol):
    """What is needed of stderr."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


def console_of(stream: TextStream) -> "Console | None":
    """Give a console for a live display; None for a pipe, a file, or a terminal that cannot move its cursor."""
    if not stream.isatty():
        return None
    from rich.console import Console

    console = Console(file=cast("IO[str]", stream), highlight=False, markup=False)
    return None if console.is_dumb_terminal else console


class Lines:
    """Plain lines, as long as somebody reads them."""

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream
        self._is_heard = True

    def note(self, text: str) -> None:
        """Print a line."""
        if not self._is_heard:
            return
        try:
            print(text, file=self._stream, flush=True)
        except OSError:  # the reader is gone
            self._is_heard = False


class Display:
    """A picture at the bottom of a terminal that is drawn anew a few times a second; lines scroll away above it."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._live: Live | None = None

    def start(self, render: Callable[[], "RenderableType"]) -> None:
        """Begin to show what `render` gives."""
        from rich.live import Live

        self._live = Live(
            console=self._console,
            get_renderable=render,
            refresh_per_second=REFRESHES_PER_SECOND,
            redirect_stdout=False,
            transient=True,
        )
        self._live.start()

    def note(self, text: str) -> None:
        """Print a line above it."""
        self._console.print(text, soft_wrap=True)

    def close(self) -> None:
        """Take it away."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def duration(seconds: float) -> str:
    """Write a length of time as a clock does.

    >>> duration(75.2), duration(3725)
    ('1:15', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
