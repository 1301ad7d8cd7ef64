"""Letters with indices in running words: `h_2`, `g^z_t,0` or `dL/dh_-1` become subscripts and superscripts on a page.

A terminal and JSON show the words as they stand. A name such as `weight_hh` is no letter with an index and is left
alone. Start with `with_indices`.
"""

import re

from markupsafe import Markup

from clew.rendering.markup import element, joined, text

_SYMBOL = re.compile(
    r"(?<![A-Za-z`_.])(d?[A-Za-zα-ωŷ])"  # one letter, or the d of a derivative and one letter
    r"(?:\^([a-z]))?"  # a label above, as in g^z
    r"_(-?\d+[a-z]?|[A-Za-z]|\([^()]*\))((?:,\w+)*)"  # an index, perhaps a second one after a comma
    r"(?![A-Za-z_])"
)


def with_indices(words: str) -> Markup:
    """Escape words and set the indices of their symbols lower, the labels higher.

    >>> print(with_indices("g^z_0 < w_x"))
    g<sup>z</sup><sub>0</sub> &lt; w<sub>x</sub>
    """
    parts: list[str] = []
    end = 0
    for found in _SYMBOL.finditer(words):
        letter, label, index, more = found.groups()
        above = element("sup", None, label) if label else ""
        parts += [text(words[end : found.start()]), text(letter), above, element("sub", None, index + more)]
        end = found.end()
    return joined([*parts, text(words[end:])])
