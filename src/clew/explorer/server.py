"""The server: a port of this machine, a token, and the application behind them.

Start with `open_port` and `serve`.
"""

import errno
import secrets
import socket

import uvicorn

from clew.errors import ConfigError, complain
from clew.explorer import limits
from clew.explorer.address import Address
from clew.explorer.application import make_application
from clew.explorer.guard import ANY_HOST, LOOPBACK, Access
from clew.explorer.page import Shell
from clew.explorer.studio import Studio
from clew.explorer.views import VIEWS

MOST_CONNECTIONS = 64
MOST_HEADER_BYTES = 2 * limits.MOST_QUERY_BYTES + 16_384
"""Of a request: htmx names the present address beside the one that is asked for, and cookies come along."""
WHERE = "clew explore"


def open_port(host: str, port: int) -> socket.socket:
    """Take a port.

    Args:
        host: Name or number of this machine; 127.0.0.1 for itself alone.
        port: 0 for a free one.

    Raises:
        ConfigError: If the port is in use or not allowed, or the host is none of this machine's.
    """
    if not 0 <= port <= 65535:
        raise ConfigError(complain(WHERE, "--port", "in [0, 65535]", port, "Leave it out for a free one."))
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            listener.close()
            raise
        listener.listen(MOST_CONNECTIONS)
        return listener
    except OSError as error:
        raise _no_port(host, port, error) from error


def _no_port(host: str, port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        remedy = "Name another one, or leave --port out for a free one."
        return ConfigError(complain(WHERE, "--port", "free", f"{port}, which is in use", remedy))
    if error.errno == errno.EACCES:
        return ConfigError(complain(WHERE, "--port", "one that you may use", port, "Take one above 1023."))
    remedy = "Leave --host out to listen on this machine alone."
    return ConfigError(complain(WHERE, "--host", "a name or number of this machine", f"'{host}'", remedy))


def access_to(listener: socket.socket, host: str) -> Access:
    """Draw a token for a port."""
    return Access(secrets.token_urlsafe(24), listener.getsockname()[1], host)


def address_of(access: Access) -> str:
    """Write the address that opens the explorer, the token in it."""
    name = access.host if access.host not in ANY_HOST else LOOPBACK[1]
    return f"http://{f'[{name}]' if ':' in name else name}:{access.port}/?token={access.token}"


def make_server(studio: Studio, access: Access) -> uvicorn.Server:
    """Make the server, which reads no environment and writes no log but of errors."""
    config = uvicorn.Config(
        make_application(studio, access), log_level="error", access_log=False, server_header=False, lifespan="off",
        http="h11", ws="none", proxy_headers=False, limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=30,
        timeout_graceful_shutdown=1, h11_max_incomplete_event_size=MOST_HEADER_BYTES,
    )  # fmt: skip
    return uvicorn.Server(config)


def warm_up(studio: Studio) -> None:
    """Make the first page once, so that it comes quickly, and so that what is wrong with a run is said at the start."""
    view = VIEWS[0]
    Shell(studio, VIEWS).view_page(view, Address(view.name, next(iter(studio.sources))))


def serve(studio: Studio, listener: socket.socket, access: Access) -> None:
    """Answer until the process is interrupted."""
    try:
        make_server(studio, access).run(sockets=[listener])
    except KeyboardInterrupt:
        return
    finally:
        listener.close()
