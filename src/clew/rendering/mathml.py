"""Equations in the project's plain notation as MathML, so that a browser sets them and a screen reader speaks them.

    y = gamma * n + beta        elementwise products, Greek names
    Q = x W_Q' + b_Q            indices; a prime after a capital letter is a transpose
    S = R / sqrt(head_dim)      quotients, roots
    mu = sum_c x_c / width      sums; a name of several letters stands upright

Words stay words: `k_t, a row of the table` is a symbol and a text that wraps. An equation that has no such form stays
as it is written, in `<code>`. Start with `equation_html`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from markupsafe import Markup

from clew.rendering.markup import element, joined, text

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "mu": "μ", "phi": "φ",
    "rho": "ρ", "sigma": "σ",
}  # fmt: skip
_FUNCTIONS = ("exp", "log", "sqrt", "tanh", "sigmoid")
_SIGNS = {"-": "−", "*": "⊙", "...": "…"}
_APPLICATION, _PRODUCT = "\N{FUNCTION APPLICATION}", "\N{INVISIBLE TIMES}"
_TOKEN = re.compile(
    r"(?P<derivative>d[A-Z]/d\w[\w.]*\w)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z]{2,}'(?:s\b)?)"  # the table's, the documents'
    r"|(?P<name>[A-Za-z]+(?:_[A-Za-z0-9]+)?)"
    r"|(?P<sign>\.\.\.|[-+*/=()\[\]|,;^'])"
)
_Kind = Literal["derivative", "number", "word", "symbol", "sum", "sign", "end"]


class _UnreadableError(ValueError):
    """The text is no equation of this notation."""


class _Token(NamedTuple):
    kind: _Kind
    text: str
    start: int = 0
    is_glued: bool = False
    """Whether it follows the token before it without a space."""

    @property
    def end(self) -> int:
        """Where it ends in the equation."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class _Part:
    """A piece of an equation.

    Attributes:
        markup: Its MathML.
        inside: The same without the brackets around it, if there are any.
        words: Its text, if it is nothing else.
        span: Where it stands in the equation, if it stands by itself.
    """

    markup: Markup
    inside: Markup | None = None
    words: str = ""
    span: tuple[int, int] = (0, 0)


def equation_html(equation: str, is_displayed: bool = False) -> Markup:
    """Set an equation; one that is not understood is shown as it is written.

    Args:
        equation: In the plain notation.
        is_displayed: Whether it stands alone, with quotients and sums in full size.
    """
    found = mathml(equation, is_displayed)
    return element("code", None, equation) if found is None else found


@lru_cache(maxsize=1024)
def mathml(equation: str, is_displayed: bool = False) -> Markup | None:
    """Set an equation as MathML among its words, with the plain notation beside it; None where it is none.

    >>> print(mathml("k_t, a row"))
    <math alttext="k_t"><msub><mi>k</mi><mi>t</mi></msub></math>, a row
    >>> mathml("a # b") is None
    True
    """
    try:
        parts = _Reader(_tokens(equation)).everything()
    except _UnreadableError:
        return None
    css_class = "displayed" if is_displayed else None
    pieces = [
        text(part.words)
        if part.words
        else element("math", {"class": css_class, "alttext": equation[slice(*part.span)]}, part.markup)
        for part in parts
    ]
    written = [piece if _is_close(part) else text(" ") + piece for part, piece in zip(parts, pieces, strict=True)]
    return Markup(str(joined(written)).lstrip())


def _is_close(part: _Part) -> bool:
    return part.words in (",", ";")


def _tokens(equation: str) -> list[_Token]:
    found: list[_Token] = []
    place = 0
    while place < len(equation):
        start = place + len(equation[place:]) - len(equation[place:].lstrip())
        if start == len(equation):
            break
        match = _TOKEN.match(equation, start)
        if match is None:
            raise _UnreadableError(equation[start:])
        kind = match.lastgroup
        written = match.group()
        is_glued = start == place and place > 0
        found.append(_Token(_kind_of_name(written) if kind == "name" else kind, written, start, is_glued))  # pyright: ignore
        place = match.end()
    return found


def _kind_of_name(name: str) -> _Kind:
    base, _, index = name.partition("_")
    if base == "sum" and index:
        return "sum"
    if name == "a" or (len(base) > 1 and base not in _GREEK and len(index) != 1):
        return "word"
    return "symbol"


class _Reader:
    """Reads tokens from left to right: relations, sums, quotients, products side by side, single factors."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = [*tokens, _Token("end", "")]
        self._place = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def _is_sign(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _expect(self, sign: str) -> None:
        if not self._is_sign(sign):
            raise _UnreadableError(self._next.text)
        self._take()

    def everything(self) -> list[_Part]:
        """Read all; words, commas and expressions one after the other."""
        parts = self._sequence()
        if self._next.kind != "end":
            raise _UnreadableError(self._next.text)
        return parts

    def _sequence(self) -> list[_Part]:
        parts: list[_Part] = []
        while self._next.kind != "end" and not self._is_sign(")", "]", "|"):
            if self._is_sign(",", ";"):
                parts.append(_words(self._take().text))
            elif self._next.kind == "word" and parts and parts[-1].words not in (",", ";"):
                parts.append(self._prose())
            else:
                start = self._next.start
                part = self._relation()
                parts.append(replace(part, span=(start, self._tokens[self._place - 1].end)))
        return parts

    def _prose(self) -> _Part:
        words = [self._take().text]
        while self._next.kind == "word" and not self._is_called():
            words.append(self._take().text)
        return _words(" ".join(words))

    def _relation(self) -> _Part:
        return self._chain(self._total, "=")

    def _total(self) -> _Part:
        return self._chain(self._elementwise, "+", "-")

    def _elementwise(self) -> _Part:
        return self._chain(self._quotient, "*")

    def _chain(self, read: Callable[[], _Part], *signs: str) -> _Part:
        """Read what stands between signs of equal strength."""
        first = read()
        if not self._is_sign(*signs):
            return first
        written = [first.markup]
        while self._is_sign(*signs):
            written += [_operator(self._take().text), read().markup]
        return _Part(_row(*written))

    def _quotient(self) -> _Part:
        above = self._signed()
        if not self._is_sign("/"):
            return above
        self._take()
        below = self._signed()
        return _Part(element("mfrac", None, *(_row(part.inside or part.markup) for part in (above, below))))

    def _signed(self) -> _Part:
        if not self._is_sign("-"):
            return self._product()
        sign = _operator(self._take().text)
        return _Part(_row(sign, self._product().markup))

    def _product(self) -> _Part:
        """Read factors side by side; words are a factor only by themselves."""
        first = self._factor()
        if first.words and not first.words.isdigit():
            return first
        factors = [first]
        while self._next.kind in ("symbol", "number", "derivative", "sum") or self._is_sign("(", "[", "..."):
            factors.append(self._factor())
        return first if len(factors) == 1 else _Part(_row(*_side_by_side(factors)))

    def _factor(self) -> _Part:
        token = self._next
        if self._is_sign("(", "["):
            return self._raised(self._bracketed())
        if self._is_sign("..."):
            return _Part(_operator(self._take().text))
        if token.kind == "sum" or (token.text == "sum" and self._tokens[self._place + 1].text == "over"):
            return self._sum()
        if token.text in _FUNCTIONS or self._is_called():
            return self._function()
        if token.kind == "word":
            return self._indexed(self._prose())
        if token.kind == "number":
            return _Part(element("mn", None, token.text), words=self._take().text)
        if token.kind == "symbol":
            return self._raised(self._indexed(_Part(_symbol(self._take().text))))
        if token.kind == "derivative":
            return _Part(_derivative(self._take().text))
        raise _UnreadableError(token.text)

    def _is_called(self) -> bool:
        if self._next.kind not in ("word", "symbol"):
            return False
        after = self._tokens[self._place + 1]
        return after.is_glued and after.text == "("

    def _function(self) -> _Part:
        name = self._take().text
        operand = self._bracketed() if self._is_sign("(") else self._factor()
        if name == "sqrt":
            return _Part(element("msqrt", None, operand.inside or operand.markup))
        space = Markup("") if operand.inside else element("mspace", {"width": "0.17em"})
        return _Part(_row(_symbol(name), element("mo", None, _APPLICATION), space, operand.markup))

    def _sum(self) -> _Part:
        """Read `sum_c x_c` or `sum over visible sources of exp(S)`: all that is multiplied behind it is summed."""
        _, _, index = self._take().text.partition("_")
        under = _index(index)
        if not index:
            self._take()
            words: list[str] = []
            while self._next.kind == "word" and self._next.text != "of":
                words.append(self._take().text)
            if self._take().text != "of" or not words:
                raise _UnreadableError("sum")
            under = element("mtext", None, " ".join(words))
        return _Part(_row(element("munder", None, element("mo", None, "∑"), under), self._signed().markup))

    def _bracketed(self) -> _Part:
        """Read what stands in brackets, with the bars between the items of a list."""
        closing = {"(": ")", "[": "]"}[self._next.text]
        opened = element("mo", None, self._take().text)
        items = [self._items()]
        while self._is_sign("|"):
            self._take()
            items.append(self._items())
        self._expect(closing)
        inside = _row(*_between(items, element("mo", None, "|")))
        return _Part(_row(opened, inside, element("mo", None, closing)), inside)

    def _items(self) -> Markup:
        return _row(*_between([part.markup for part in self._sequence()], element("mspace", {"width": "0.3em"})))

    def _indexed(self, part: _Part) -> _Part:
        """Read a place in a table, as in `E[k_t]`."""
        if not (self._next.is_glued and self._is_sign("[")):
            return part
        return _Part(_row(part.markup, self._bracketed().markup))

    def _raised(self, part: _Part) -> _Part:
        """Read what stands above: a power, or a prime, which on a capital letter is a transpose."""
        if self._is_sign("^"):
            self._take()
            power = self._take()
            if power.kind != "number":
                raise _UnreadableError(power.text)
            return _Part(element("msup", None, _row(part.markup), element("mn", None, power.text)))
        if self._is_sign("'") and self._next.is_glued:
            is_matrix = self._tokens[self._place - 1].text[0].isupper()
            self._take()
            mark = element("mi", {"mathvariant": "normal"}, "⊤") if is_matrix else element("mo", None, "′")
            return _Part(_above(part.markup, mark))
        return part


def _words(words: str) -> _Part:
    return _Part(element("mi", None, words), words=words)  # mtext is like a space: signs beside it would lose theirs


def _row(*parts: Markup) -> Markup:
    kept = [part for part in parts if part]
    return kept[0] if len(kept) == 1 else element("mrow", None, *kept)


def _between(parts: Sequence[Markup], between: Markup) -> list[Markup]:
    """Put a mark between parts."""
    return [piece for place, part in enumerate(parts) for piece in ((between, part) if place else (part,))]


def _side_by_side(factors: Sequence[_Part]) -> list[Markup]:
    product = element("mo", {"rspace": "0.17em"}, _PRODUCT)
    return _between([factor.markup for factor in factors], product)


def _operator(sign: str) -> Markup:
    return element("mo", None, _SIGNS.get(sign, sign))


def _symbol(name: str) -> Markup:
    base, _, index = name.partition("_")
    letter = element("mi", None, _GREEK.get(base, base))
    return element("msub", None, letter, _index(index)) if index else letter


def _index(index: str) -> Markup:
    """Set an index: a number, one or two letters, or a word."""
    if index.isdigit():
        return element("mn", None, index)
    return element("mtext", None, index) if len(index) > 2 else _row(*(element("mi", None, one) for one in index))


def _above(base: Markup, mark: Markup) -> Markup:
    """Put a mark above right of a symbol that may have an index below."""
    if base.startswith("<msub>"):
        return Markup("<msubsup>") + base.removeprefix("<msub>").removesuffix("</msub>") + mark + Markup("</msubsup>")
    return element("msup", None, base, mark)


def _derivative(written: str) -> Markup:
    above, below = (part[1:] for part in written.split("/"))
    quantity = element("mi", None, below) if len(below) == 1 else element("mtext", None, below)
    halves = (element("mi", None, above), quantity)
    return element("mfrac", None, *(_row(element("mi", {"mathvariant": "normal"}, "d"), half) for half in halves))
