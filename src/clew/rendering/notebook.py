"""A whole page inside the output of a notebook's cell: in a frame of its own, so that two style sheets never mix.

The frame holds the page itself and asks for nothing. It is a sandbox: nothing in it can run a script, send a form or
reach the notebook, whatever the page holds. Objects give `framed(...)` from their `_repr_html_`.
"""

from markupsafe import Markup

from clew.rendering.markup import element

HEIGHT = 620
"""Pixels that show the head of a page and the top of its first table; the rest scrolls."""
_OWN_ADDRESS = '<base href="about:srcdoc">'
"""Without it, `#part` would mean a part of the notebook, and a click would open the notebook within the frame."""


def framed(page: str, title: str, height: int = HEIGHT) -> Markup:
    """Wrap a page for a notebook.

    >>> print(framed("<p>1 < 2</p>", "A page", height=90))
    <iframe title="A page" srcdoc="&lt;p&gt;1 &lt; 2&lt;/p&gt;" sandbox="" width="100%" height="90"></iframe>

    Args:
        page: A page of `clew.rendering.page.render_page`.
        title: Read out as the name of the frame.
        height: In pixels; the page scrolls within it.
    """
    attributes = {
        "title": title,
        "srcdoc": page.replace("<head>", f"<head>{_OWN_ADDRESS}", 1),
        "sandbox": "",
        "width": "100%",
        "height": height,
    }
    return element("iframe", attributes)
