"""What is wrong with a request, and the status that says so."""

from clew.errors import ClewError


class ExplorerError(ClewError):
    """A request cannot be answered as it stands; the text is one line for whoever sent it.

    Attributes:
        status: 400 for what is malformed, 404 for what is not there, 413 for what is too large.
    """

    def __init__(self, words: str, status: int = 400) -> None:
        super().__init__(words)
        self.status = status
