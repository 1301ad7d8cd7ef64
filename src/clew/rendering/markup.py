"""HTML and SVG elements as escaped strings: the one place where text becomes markup.

Plain strings are data and are escaped; `Markup` is markup already and is kept. A fragment made here is valid in an HTML
page and, for SVG, as XML of its own. No element carries an inline style, so that pages can forbid them.
Start with `element`.
"""

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

_SELF_CLOSING = {"circle", "line", "path", "polygon", "polyline", "rect", "use"}
_VOID = {"br", "hr", "img", "input"}
_UNPRINTABLE = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], "\N{REPLACEMENT CHARACTER}")


def text(content: str) -> Markup:
    """Escape `content` unless it is markup; control characters, which XML forbids, become replacement characters."""
    return content if isinstance(content, Markup) else escape(content.translate(_UNPRINTABLE))


def element(tag: str, attributes: Mapping[str, str | float | int | None] | None = None, *content: str) -> Markup:
    """Write one element; attributes that are None are left out, numbers keep at most two decimals.

    >>> print(element("td", {"class": "number", "title": None}, "a < b"))
    <td class="number">a &lt; b</td>
    """
    parts = [f"<{tag}"]
    for name, value in (attributes or {}).items():
        if isinstance(value, str):
            parts.append(f' {name}="{escape(value.translate(_UNPRINTABLE))}"')
        elif value is not None:
            parts.append(f' {name}="{short_decimal(value)}"')
    if tag in _SELF_CLOSING and not content:
        return Markup("".join([*parts, "/>"]))
    if tag in _VOID:
        return Markup("".join([*parts, ">"]))
    return Markup("".join([*parts, ">", joined(content), f"</{tag}>"]))


def joined(parts: Iterable[str], separator: str = "") -> Markup:
    """Escape and join the parts of a fragment."""
    written = (part if isinstance(part, Markup) else escape(part.translate(_UNPRINTABLE)) for part in parts)
    return Markup(text(separator).join(written))


def short_decimal(value: float | int) -> str:
    """Write a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
