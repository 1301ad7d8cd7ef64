"""A real browser before the real command: `clew explore` as a process of its own, Debian's Chromium, a watched page.

Whoever visits a page is watched: at the end of each test nothing may stand in the console, and no request may have left
this machine. Without Chromium these tests are skipped, and fail where everything must be there (CI=true).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import torch

import clew
from clew.data.recall_episodes import sample_recall_splits
from clew.tasks import CueRecall

SECONDS = 60_000.0
"""That a step may take, in milliseconds; a busy machine is slow, and a page that never comes is a failure anyway."""
BUSY = ".htmx-request, .htmx-swapping, .htmx-settling"
LOOPBACK = ("127.0.0.1", "localhost")


def require_browser() -> str:
    """Give the path of Chromium; skip without it, and fail where everything must be there (CI=true)."""
    found = shutil.which("chromium")
    if found is not None:
        return found
    reason = "chromium is not installed: `make browser` installs it"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(frozen=True)
class Explored:
    """A running `clew explore`: its address, and the entrance that holds the token."""

    url: str
    entrance: str


@dataclass(eq=False)
class Visitor:
    """A person with a browser of their own before a page, and what the browser had to say."""

    explored: Explored
    page: Any
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Open a page of the explorer, such as "/way?model=gru"."""
        self.page.goto(self.explored.url + address)

    def settled(self) -> None:
        """Wait until a click has been answered."""
        from playwright.sync_api import expect

        expect(self.page.locator(BUSY)).to_have_count(0)


@pytest.fixture(scope="session")
def explore() -> Iterator[Callable[..., Explored]]:
    """Start `clew explore` with some arguments, once for each of them; all end with the tests."""
    started: dict[tuple[str, ...], tuple[subprocess.Popen[str], Explored]] = {}

    def start(*arguments: str) -> Explored:
        if arguments not in started:
            command = [sys.executable, "-m", "clew", "explore", *arguments, "--no-browser"]
            settings = {**os.environ, "OMP_NUM_THREADS": "1"}
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings)
            assert process.stdout is not None
            entrance = process.stdout.readline().strip()
            assert "?token=" in entrance, f"{' '.join(command)} printed no address: {entrance!r}"
            started[arguments] = process, Explored(entrance.partition("/?token=")[0], entrance)
        return started[arguments][1]

    yield start
    for process, _ in started.values():
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="session")
def explored(explore: Callable[..., Explored]) -> Explored:
    """`clew explore` as it starts without arguments."""
    return explore()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    path = require_browser()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SECONDS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any, explored: Explored) -> Iterator[Callable[..., Visitor]]:
    """Let a new person in, with a browser context of their own; options are those of `browser.new_context`."""
    visitors: list[Visitor] = []

    def come(address: str | None = None, at: Explored = explored, enters: bool = True, **options: Any) -> Visitor:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 1000}} | options)
        visitor = Visitor(at, context.new_page())
        watch(visitor)
        visitors.append(visitor)
        if enters:
            visitor.page.goto(at.entrance)
        if address is not None:
            visitor.open(address)
        return visitor

    yield come
    for visitor in visitors:
        visitor.page.context.close()
    assert [fault for visitor in visitors for fault in visitor.faults] == []
    hosts = {urlsplit(url).hostname for visitor in visitors for url in visitor.requests if not url.startswith("file:")}
    assert hosts <= set(LOOPBACK)


def watch(visitor: Visitor) -> None:
    """Write down what a page says in its console, and each request, of other pages that it opens too."""
    page = visitor.page
    page.set_default_timeout(SECONDS)

    def heard(message: Any) -> None:
        if message.type in ("error", "warning"):
            visitor.faults.append(f"{page.url}: {message.text}")

    page.on("console", heard)
    page.on("pageerror", lambda error: visitor.faults.append(f"{page.url}: {error}"))
    page.context.on("request", lambda request: visitor.requests.append(request.url))


@pytest.fixture
def visitor(visit: Callable[..., Visitor]) -> Visitor:
    """A person at the first page."""
    return visit()


@pytest.fixture(scope="session")
def recall_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the memory experiment, trained for a second."""
    train, validation, _ = sample_recall_splits(4, (64, 32, 16), seeds=(1, 2, 3))
    model = {"preset": "gru", "vocab": 7, "outputs": 7, "hidden": 6, "embedding": 4}
    out = tmp_path_factory.mktemp("runs") / "recall"
    clew.fit(CueRecall(4), model, train, validation, training={"epochs": 3}, out=out, seed=1, audit="skip")
    return out


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)
