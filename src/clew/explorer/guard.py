"""Who may ask, and how: this machine's browser with the token, by GET, under a loopback name, in bounded size.

The token comes once, in the address that `clew explore` prints, and is then kept in a cookie that no script can read
and no other site can send. A name other than a loopback one is refused, so that no other site's name can be pointed at
this server. Every answer carries the strict content security policy. Start with `Guard`.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.explorer import limits

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
NO_TOKEN = "clew explore: this page needs the address with its token, as `clew explore` printed it. Open that one.\n"
NO_METHOD = "clew explore: method must be GET or HEAD. Nothing can be sent to this server.\n"


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
            return PlainTextResponse(NO_METHOD, 405, {"Allow": "GET, HEAD"})
        if len(scope["path"]) > MOST_PATH or len(scope["query_string"]) > limits.MOST_QUERY_BYTES:
            words = f"clew explore: address must be at most {limits.MOST_QUERY_BYTES} bytes. Shorten it.\n"
            return PlainTextResponse(words, 413)
        if not self.access.is_name_allowed(Headers(scope=scope).get("host", "")):
            words = "clew explore: host must be this machine's own name, such as 127.0.0.1. Use the printed address.\n"
            return PlainTextResponse(words, 403)
        return None

    def _let_in(self, scope: Scope) -> Response | None:
        """Turn the token of an address into a cookie; without either there is nothing to see."""
        query = _query(scope)
        given = [value for name, value in query if name == "token"]
        if given and self.access.is_token(given[-1]):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = scope["path"] if _OWN_PATH.fullmatch(scope["path"]) else "/"
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self.access.cookie, self.access.token, httponly=True, samesite="strict", path="/")
            return answer
        cookies = cookie_parser(Headers(scope=scope).get("cookie", ""))
        if not given and self.access.is_token(cookies.get(self.access.cookie)):
            return None
        return PlainTextResponse(NO_TOKEN, 403)


def _query(scope: Scope) -> Iterable[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _host_name(host: str) -> str:
    """Take the name out of a Host header: without a port, without the brackets of a number."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
