"""The one page shell: a whole HTML page that needs nothing from outside and lets nothing in.

The page holds one style block, and its content security policy allows that block by its hash and nothing else: no
script, no request, no inline style. It follows the reader's light or dark scheme, scales to a phone and prints.
Headings run from the title (h1) over sections (h2) to `subsection` (h3). Start with `render_page`.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from clew.rendering.colours import colour_rules
from clew.rendering.markup import element, joined


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading; `identifier` is its address within the page."""

    heading: str
    identifier: str
    content: Markup


@cache
def stylesheet() -> str:
    """Give the style rules of all that `clew.rendering` draws, for both colour schemes."""
    rules = files("clew.rendering").joinpath("page.css").read_text(encoding="utf-8")
    dark = colour_rules("dark")
    return f"{rules}\n{colour_rules('light')}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def render_page(title: str, top: Markup, sections: Sequence[Section], footer: str = "", rules: str = "") -> str:
    """Write a page: the title, `top` (the answer and any banner), a list of contents, the sections and a footer.

    Args:
        title: Heading of the page.
        top: What stands below it.
        sections: A list of contents stands before two or more.
        footer: How the page was made.
        rules: Style rules beyond `stylesheet()`, of what only this page draws.
    """
    contents = [element("li", None, element("a", {"href": f"#{part.identifier}"}, part.heading)) for part in sections]
    listing = element(
        "nav", {"aria-label": "Contents"}, element("h2", None, "Contents"), element("ol", None, *contents)
    )
    body = [
        element("a", {"class": "skip", "href": "#content"}, "Skip to the content"),
        element(
            "div",
            {"class": "page"},
            element("header", None, element("h1", None, title), top),
            listing if len(sections) > 1 else "",
            element("main", {"id": "content"}, *map(section_html, sections)),
            element("footer", None, footer) if footer else "",
        ),
    ]
    html = element("html", {"lang": "en"}, _head(title, rules), element("body", None, *body))
    return f"<!DOCTYPE html>\n{html}\n"


def section_html(part: Section) -> Markup:
    """Write a section under its heading, named by it."""
    heading = element("h2", {"id": f"{part.identifier}-heading"}, part.heading)
    attributes = {"id": part.identifier, "aria-labelledby": f"{part.identifier}-heading"}
    return element("section", attributes, heading, part.content)


def _head(title: str, rules: str) -> Markup:
    style = stylesheet() + rules
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    metadata = Markup(
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
    )
    return element("head", None, metadata, element("title", None, title), element("style", None, Markup(style)))


def standalone_svg(picture: Markup) -> str:
    """Make a picture of a page a file of its own: with its namespace and the style rules, in either colour scheme."""
    opening = Markup('<svg xmlns="http://www.w3.org/2000/svg" ')
    style = element("style", None, stylesheet())
    start, rest = picture.removeprefix("<svg ").split(">", 1)
    return f"{opening}{start}>{style}{rest}"


def subsection(heading: str) -> Markup:
    """Write a heading within a section."""
    return element("h3", None, heading)


def paragraph(*content: str) -> Markup:
    """Write a paragraph."""
    return element("p", None, *content)


def bullets(items: Sequence[str]) -> Markup:
    """Write a list."""
    return element("ul", None, *(element("li", None, item) for item in items))


def definitions(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Write a list of terms, each with what it is here."""
    return element("dl", None, *(element("dt", None, term) + element("dd", None, words) for term, words in pairs))


def banner(title: str, items: Sequence[str], label: str) -> Markup:
    """Write a notice that a reader must not miss: one sentence, and particulars below it."""
    content = [paragraph(element("strong", None, title)), *([bullets(items)] if items else [])]
    return element("aside", {"class": "banner", "aria-label": label}, *content)


def figure(content: Markup, caption: str, kind: str = "single") -> Markup:
    """Wrap pictures and their caption: `kind` is `single`, `panels` or `panels wide` for several side by side."""
    return element("figure", None, element("div", {"class": kind}, content), element("figcaption", None, caption))


def fragments(*parts: str) -> Markup:
    """Put parts one after another."""
    return joined(parts)
