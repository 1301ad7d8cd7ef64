"""Who may ask, and how: this machine's browser with the token, by GET, under a loopback name, in bounded size.

The token comes once, in the address that `clew explore` prints, and is then kept in a cookie that no script can read.
The browser sends it within this server's pages and with a link that is followed from elsewhere, not with what another
site asks for by itself. A name other than a loopback one is refused, so that no other site's name can be pointed at
this server. Every answer carries the strict content security policy. Start with `Guard`.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.errors import complain
from clew.explorer import limits
from clew.explorer.address import WHERE
from clew.explorer.page import refusal_page

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_HOST = ("0.0.0.0", "::")
MOST_PATH = 200
_OWN_PATH = re.compile(r"(/[a-z][a-z.]*)+")
"""What a redirect may lead to: a path such as //elsewhere would be another server's address."""
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
NO_TOKEN = complain(
    WHERE, "page", "opened by the address with its token", "none", "Open the address that `clew explore` printed."
)
OLD_TOKEN = complain(
    WHERE, "token", "that of the running command", "another one",
    "The command was started again: open the address that it printed.",
)  # fmt: skip
TITLES = {403: "This browser was not let in", 405: "Nothing can be sent here", 413: "This is too large"}
_HOST = re.compile(r"(?:\[([0-9a-f.]*:[0-9a-f:.]*)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")
"""A Host header: a number of IPv6 in brackets, or a name or another number, and perhaps a port."""


@dataclass(frozen=True)
class Access:
    """Who may look.

    Attributes:
        token: What the printed address holds.
        port: Tells the cookies of several servers apart.
        host: What the server listens on.
    """

    token: str
    port: int
    host: str = "127.0.0.1"

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token; browsers share cookies between ports."""
        return f"clew-explore-{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether this machine alone can reach the server."""
        return self.host.lower() in LOOPBACK

    def is_name_allowed(self, host: str) -> bool:
        """Say whether a request may call the server by this name: a loopback one, or the one that was asked for.

        A server that listens everywhere is called by any number, and never by a name that a stranger could point here.
        """
        name = _host_name(host)
        if name in LOOPBACK or name == self.host.lower():
            return True
        return self.host in ANY_HOST and _is_number(name)

    def is_token(self, given: str | None) -> bool:
        """Compare in constant time."""
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """Lets a request pass to the application, or answers it with one line."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the security headers on whatever is sent."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._refuse(scope) or self._let_in(scope)
        await (answer or self.app)(scope, receive, send_with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            remedy = "Nothing can be sent to this server."
            words = complain(WHERE, "method", "GET or HEAD", f"'{scope['method'][:20]}'", remedy)
            return _refusal(scope, 405, words, {"Allow": "GET, HEAD"})
        path, query = len(scope["path"]), len(scope["query_string"])
        if path > MOST_PATH or query > limits.MOST_QUERY_BYTES:
            rule = f"at most {MOST_PATH} characters and {limits.MOST_QUERY_BYTES} bytes behind them"
            return _refusal(scope, 413, complain(WHERE, "address", rule, f"{path} and {query}", "Shorten it."))
        if not self.access.is_name_allowed(Headers(scope=scope).get("host", "")):
            rule = "this machine's own name, such as 127.0.0.1"
            return _refusal(scope, 403, complain(WHERE, "host", rule, "another one", "Use the printed address."))
        return None

    def _let_in(self, scope: Scope) -> Response | None:
        """Turn the token of an address into a cookie; without either there is nothing to see."""
        query = _query(scope)
        given = [value for name, value in query if name == "token"]
        if given and self.access.is_token(given[-1]):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = scope["path"] if _OWN_PATH.fullmatch(scope["path"]) else "/"
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self.access.cookie, self.access.token, httponly=True, samesite="lax", path="/")
            return answer
        kept = cookie_parser(Headers(scope=scope).get("cookie", "")).get(self.access.cookie)
        if not given and self.access.is_token(kept):
            return None
        return _refusal(scope, 403, OLD_TOKEN if given or kept else NO_TOKEN)


def _refusal(scope: Scope, status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    """Refuse in one line; what asks for a page gets one, since htmx would put anything else in the place of nothing."""
    if scope["path"].startswith("/static/"):
        return PlainTextResponse(words + "\n", status, headers)
    return HTMLResponse(refusal_page(TITLES[status], words), status, headers)


def _query(scope: Scope) -> Iterable[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _host_name(host: str) -> str:
    """Take the name out of a Host header, without a port and the brackets of a number; "" if it is none."""
    found = _HOST.fullmatch(host.lower())
    return "" if found is None else found[1] or found[2]


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
