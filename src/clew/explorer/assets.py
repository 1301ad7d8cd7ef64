"""The files beside a page: style, script, licence. Each is read once and served under a name that holds its hash."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clew.rendering.page import stylesheet

_TYPES = {".css": "text/css", ".js": "text/javascript", ".txt": "text/plain", ".svg": "image/svg+xml"}
_OWN = ("views.css", "explorer.css", "explorer.js", "htmx.min.js", "htmx.LICENSE.txt", "icon.svg")


@dataclass(frozen=True)
class Asset:
    """One file: its name, its bytes and its type."""

    name: str
    content: bytes
    media_type: str

    @property
    def url(self) -> str:
        """Its address, which changes with its content, so that it may be kept for as long as one likes."""
        return f"/static/{self.name}?v={hashlib.sha256(self.content).hexdigest()[:12]}"


@cache
def assets() -> dict[str, Asset]:
    """Give all files by name; `page.css` holds what everything that `clew.rendering` draws needs."""
    folder = files("clew.explorer").joinpath("static")
    read = {name: folder.joinpath(name).read_bytes() for name in _OWN}
    read["page.css"] = stylesheet().encode()
    return {name: Asset(name, content, _TYPES[name[name.rindex(".") :]]) for name, content in read.items()}
