"""A studio, scenes by model and edits, and a running server for a browser."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from clew.explorer.address import Address
from clew.explorer.scene import Scene
from clew.explorer.server import access_to, make_server, open_port
from clew.explorer.studio import Studio

MakeScene = Callable[..., Scene]


@dataclass(frozen=True)
class Served:
    """A running server: where it is, and the token that lets a browser in."""

    url: str
    token: str

    @property
    def entrance(self) -> str:
        """The address that `clew explore` would print."""
        return f"{self.url}/?token={self.token}"

    def at(self, address: str) -> str:
        """The address of a page, such as "/way?model=gru", that lets a browser in."""
        return f"{self.url}{address}{'&' if '?' in address else '?'}token={self.token}"


@pytest.fixture(scope="session")
def studio() -> Studio:
    """The models that need no run."""
    return Studio()


@pytest.fixture(scope="session")
def scene(studio: Studio) -> MakeScene:
    """Make a scene of a model and what it reads."""

    def make(
        model: str = "worked",
        text: str | None = None,
        row: int = 0,
        edits: Sequence[str] = (),
        view: str = "way",
        **shown: str | int,
    ) -> Scene:
        given = {name: str(value) for name, value in shown.items()}
        return studio.scene(Address(view, model, text, row, tuple(edits), given))

    return make


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Studio], Served]]:
    """Start a server for a studio on a free port of this machine; all end with the tests."""
    started: list[tuple[object, threading.Thread]] = []

    def start(offered: Studio) -> Served:
        listener = open_port("127.0.0.1", 0)
        access = access_to(listener, "127.0.0.1")
        server = make_server(offered, access)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        started.append((server, thread))
        return Served(f"http://127.0.0.1:{access.port}", access.token)

    yield start
    for server, thread in started:
        server.should_exit = True  # type: ignore[attr-defined]
        thread.join(5)


@pytest.fixture(scope="session")
def served(serve: Callable[[Studio], Served], studio: Studio) -> Served:
    """The server of the models that need no run."""
    return serve(studio)
