"""What a view is: a name in the address, a heading, and the sections that it makes of a scene."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clew.explorer.address import Address
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.rendering.page import Section

MADE = "Every number was computed by the model in Python, for exactly this input"
OF = "of"
"""The parameter that names the view that was taken along."""


@dataclass(frozen=True)
class Download:
    """A file that a view offers: its name on the reader's disk, what it is, and its content."""

    name: str
    media_type: str
    content: str


@dataclass(frozen=True)
class View:
    """One way to look at a scene.

    Attributes:
        name: In the address.
        heading: In the navigation and above the view.
        words: One sentence on what it shows.
        missing: Says why a model has no such view, and what to choose instead; empty where it has one.
        sections: Makes the content.
        download: Makes a file to keep, served at `/NAME/file` with the same query; None where there is none.
        takes_along: Whether it is about the view that one came from, and so keeps what that one showed.
        made: Says below the view where its numbers came from, without the full stop.
    """

    name: str
    heading: str
    words: str
    missing: Callable[[Scene], str]
    sections: Callable[[Scene, Studio], Sequence[Section]]
    download: Callable[[Scene, Studio], Download] | None = None
    takes_along: bool = False
    made: str = MADE


def way_to(view: View, here: View, address: Address) -> str:
    """Write the address of a view as the navigation of another one leads to it."""
    if view is here:
        return address.url
    if view.takes_along:
        return replace(address, view=view.name, shown={OF: here.name, **address.shown}).url
    if here.takes_along and address.shown.get(OF) == view.name:
        shown = {name: value for name, value in address.shown.items() if name != OF}
        return replace(address, view=view.name, shown=shown).url
    return address.link(view=view.name)
