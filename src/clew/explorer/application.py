"""The web application: an address in, a page out.

A request names a view and what it shows; it is answered by one worker, one after the other, since the ledger hears
every layer that runs. What takes too long, is too large or is not there gets a page with one line. Start with
`make_application`.
"""

import asyncio
import os
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from clew.errors import ClewError, complain, did_you_mean
from clew.explorer import limits
from clew.explorer.address import EDIT_FIELD, WHERE, Address
from clew.explorer.assets import assets
from clew.explorer.faults import ExplorerError
from clew.explorer.guard import Access, Guard
from clew.explorer.page import Shell, words_of_fault
from clew.explorer.studio import Studio
from clew.explorer.views import BY_NAME, VIEWS

MOST_WAITING = 32
KEEP = "private, max-age=31536000, immutable"
DEBUG_VARIABLE = "CLEW_DEBUG"
TITLES = {400: "This cannot be shown", 404: "There is no such thing", 413: "This is too large", 503: "This takes long"}
Answer = Callable[[], Response]


def make_application(studio: Studio, access: Access) -> Starlette:
    """Make the application for the models of a studio, for whoever has the token."""
    explorer = Explorer(studio)
    routes = [
        Route("/", explorer.start),
        Route("/favicon.ico", explorer.icon),
        Route("/static/{name}", explorer.asset),
        Route("/{view}", explorer.view),
        Route("/{view}/file", explorer.file),
    ]
    middleware = [Middleware(Guard, access=access)]
    handlers = {404: explorer.nowhere, 405: explorer.nowhere}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)


class Explorer:
    """Answers requests."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.shell = Shell(studio, VIEWS)
        self.worker = ThreadPoolExecutor(1, "explorer")
        self.waiting = 0

    async def start(self, request: Request) -> Response:
        """Lead to the first view of the first model."""
        return RedirectResponse(f"/{VIEWS[0].name}?model={next(iter(self.studio.sources))}", 303)

    async def icon(self, request: Request) -> Response:
        """Lead browsers that ask by themselves to the icon."""
        return RedirectResponse(assets()["icon.svg"].url, 303)

    async def asset(self, request: Request) -> Response:
        """Give a file beside the pages."""
        asset = assets().get(request.path_params["name"])
        if asset is None:
            return await self.nowhere(request, None)
        return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": KEEP})

    async def nowhere(self, request: Request, error: Exception | None) -> Response:
        """Say that there is no such page."""
        known = did_you_mean(request.url.path.strip("/"), BY_NAME)
        return self._fault(404, complain(WHERE, "page", "one of the views", f"'{request.url.path[:60]}'", known), None)

    async def view(self, request: Request) -> Response:
        """Give a page."""
        return await self._answer(request, self._view_page)

    async def file(self, request: Request) -> Response:
        """Give the file that a view offers to keep."""
        return await self._answer(request, self._view_file)

    async def _answer(self, request: Request, make: Callable[[str, Address], Response]) -> Response:
        name, address = request.path_params["view"], None
        if name not in BY_NAME:
            return await self.nowhere(request, None)
        try:
            query = parse_qsl(request.url.query, keep_blank_values=True)
            address = Address.parse(name, query)
            if any(key.startswith(EDIT_FIELD) or key == "was" for key, _ in query):
                return RedirectResponse(self.studio.settle(address).url, 303)
            return await self._in_time(partial(make, name, address))
        except ExplorerError as error:
            return self._fault(error.status, words_of_fault(error), address)
        except ClewError as error:
            return self._fault(400, words_of_fault(error), address)
        except TimeoutError:
            rule = f"answered within {limits.MOST_SECONDS:g} seconds"
            remedy = "Shorten what is read, choose a smaller model, or ask again: what was computed is kept."
            return self._fault(503, complain(WHERE, "a page", rule, "no answer yet", remedy), address)
        except Exception as error:
            return self._unexpected(error, address)

    async def _in_time(self, make: Answer) -> Response:
        """Have the worker answer; give up on it after a while, or at once where too many wait."""
        if self.waiting >= MOST_WAITING:
            raise TimeoutError
        self.waiting += 1
        try:
            answer = asyncio.get_running_loop().run_in_executor(self.worker, make)
            return await asyncio.wait_for(answer, limits.MOST_SECONDS)
        finally:
            self.waiting -= 1

    def _view_page(self, name: str, address: Address) -> Response:
        with self.studio.lock:
            return HTMLResponse(self.shell.view_page(BY_NAME[name], address))

    def _view_file(self, name: str, address: Address) -> Response:
        download = BY_NAME[name].download
        if download is None:
            raise ExplorerError(complain(WHERE, "file", "one of a view that offers one", f"'{name}'"), 404)
        with self.studio.lock:
            made = download(self.studio.scene(address), self.studio)
        headers = {"Content-Disposition": f'attachment; filename="{made.name}"'}
        return Response(made.content, media_type=made.media_type, headers=headers)

    def _fault(self, status: int, words: str, address: Address | None) -> Response:
        return HTMLResponse(self.shell.fault_page(TITLES[status], words, address), status)

    def _unexpected(self, error: Exception, address: Address | None) -> Response:
        """Say that something is wrong with the program; the page shows no inside of it."""
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exception(error)
        else:
            print(f"clew explore: unexpected {type(error).__name__}: {error}"[:500], file=sys.stderr)
        words = f"clew explore: unexpected {type(error).__name__}. Start with --debug to see where."
        return HTMLResponse(self.shell.fault_page("Something went wrong", words, address), 500)
