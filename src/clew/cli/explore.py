"""`clew explore`: look around inside a model in the browser."""

import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clew.cli.faults import UsageError
from clew.cli.output import print_result
from clew.errors import ConfigError

_several = Parameter(consume_multiple=(1, None), negative=())
_switch = Parameter(negative=(), show_default=False)


def explore(
    model: str | None = None,
    /,
    *,
    beside: Annotated[list[Path] | None, _several] = None,
    text: str | None = None,
    port: int = 0,
    host: str = "127.0.0.1",
    no_browser: Annotated[bool, _switch] = False,
) -> None:
    """Look around inside a model in the browser: every quantity, attention, recurrence, edits, a run, its audit.

    Opens a page that this machine alone can reach, prints its address, and answers until Ctrl-C. Every number on it is
    computed here, by the model itself, for exactly what it reads; nothing is sent anywhere. The page offers the worked
    example, small untrained models of each preset and the chapter's scalar RNN, and the runs that are named here.

    Args:
        model: What the page opens with: a run folder, or worked, rnn, gru, lstm, transformer or scalar [default:
            worked, the worked example].
        beside: Further run folders, to compare with on the same input.
        text: What models read at first, words in quotes or a file with a sequence a line [default: the worked
            example's sentence; of a run, a sequence that it keeps].
        port: Port to listen on; 0 for a free one.
        host: Name or number to listen on; another than this machine's own lets others in who have the address.
        no_browser: Only print the address.
    """
    from clew.explorer.entrance import entrance_file
    from clew.explorer.server import access_to, address_of, open_port, serve, warm_up
    from clew.explorer.studio import Studio

    try:
        listener = open_port(host, port)
        studio = Studio.open(model, beside or (), text)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    warm_up(studio)
    access = access_to(listener, host)
    address = address_of(access)
    print_result(address)
    print("Open the address in a browser; Ctrl-C ends.", file=sys.stderr)
    if not access.is_loopback:
        print(f"Whoever reaches {host} and has the address can look at these models.", file=sys.stderr)
    if no_browser:
        serve(studio, listener, access)
        return
    with entrance_file(address) as entrance:
        threading.Thread(target=webbrowser.open, args=(entrance.as_uri(),), daemon=True).start()
        serve(studio, listener, access)
