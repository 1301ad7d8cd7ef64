"""HTML and SVG elements as escaped strings: the one place where text becomes markup.

Plain strings are data and are escaped; `Markup` is markup already and is kept. A fragment made here is valid in an HTML
page and, for SVG, as XML of its own. No element carries an inline style, so that pages can forbid them.
Start with `element`.
"""

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

_SELF_CLOSING = {"circle", "line", "path", "polygon", "polyline", "rect", "use"}
_UNPRINTABLE = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], "\N{REPLACEMENT CHARACTER}")


def text(content: str) -> Markup:
    """Escape `content` unless it is markup; control characters, which XML forbids, become replacement characters."""
    return content if isinstance(content, Markup) else escape(content.translate(_UNPRINTABLE))


def element(tag: str, attributes: Mapping[str, str | float | int | None] | None = None, *content: str) -> Markup:
    """Write one element; attributes that are None are left out, numbers keep at most two decimals.

    >>> print(element("td", {"class": "number", "title": None}, "a < b"))
    <td class="number">a &lt; b</td>
    """
    written = "".join(
        f' {name}="{text(_attribute(value))}"' for name, value in (attributes or {}).items() if value is not None
    )
    if tag in _SELF_CLOSING and not content:
        return Markup(f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>{joined(content)}</{tag}>")


def joined(parts: Iterable[str], separator: str = "") -> Markup:
    """Escape and join the parts of a fragment."""
    return text(separator).join(text(part) for part in parts)


def _attribute(value: str | float | int) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
