"""What is said of a text that has tokens which training did not have: all of them at once, and what may be meant."""

from difflib import get_close_matches

from clew.data.vocabulary import Vocabulary
from clew.errors import DataError, complain

SHOWN = 10
"""Unknown tokens that are named; the rest are counted."""
LISTED = {"characters": 150, "words": 24, "tokens": 24}
"""Known tokens are listed where there are no more than so many."""
SEARCHED = 20_000
EXAMPLES = 5


def refuse_unknown(vocabulary: Vocabulary, text: str, where: str, what: str) -> None:
    """Raise unless a vocabulary knows every token of a text.

    Args:
        vocabulary: What the text is encoded with.
        text: What somebody gave.
        where: Who reads it, for the error text.
        what: What it was given as, as "prompt".

    Raises:
        DataError: With the unknown tokens, each once, in their order.

    >>> from clew.data import fit_vocabulary
    >>> refuse_unknown(fit_vocabulary("words", ["a cat a cat"]), "a catt", "generate", "prompt")
    Traceback (most recent call last):
    ...
    clew.errors.DataError: generate: prompt must be of words that training had, got 'catt'. \
Did you mean 'cat'? Known words: a, cat.
    """
    unknown = vocabulary.unknown_tokens(text)
    if not unknown:
        return
    more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
    got = ", ".join(map(repr, unknown[:SHOWN])) + more
    apart = ", with spaces between them" if vocabulary.unit == "tokens" else ""
    rule = f"of {vocabulary.unit} that training had{apart}"
    raise DataError(complain(where, what, rule, got, _remedy(vocabulary, unknown[:SHOWN])))


def _remedy(vocabulary: Vocabulary, unknown: tuple[str, ...]) -> str:
    specials = set(vocabulary.specials.values())
    known = [_plain(vocabulary.token(number)) for number in range(vocabulary.size) if number not in specials]
    is_short, unit = len(known) <= LISTED.get(vocabulary.unit, 0), vocabulary.unit
    if unit == "characters":
        return f"Known {unit}: {''.join(known)}" if is_short else f"It knows {len(known):,} {unit}."
    near = {word: get_close_matches(word, known[:SEARCHED], n=1, cutoff=0.6) for word in unknown}
    meant = [f"'{found[0]}'" + (f" for '{word}'" if len(unknown) > 1 else "") for word, found in near.items() if found]
    parts = [f"Did you mean {', '.join(meant)}?"] if meant else []
    if is_short:
        parts.append(f"Known {unit}: {', '.join(sorted(known))}.")
    elif not meant:
        parts.append(f"It knows {len(known):,} {unit}, such as {', '.join(known[:EXAMPLES])}.")
    return " ".join(parts)


def _plain(token: str) -> str:
    """Write a token so that it stays in its line."""
    return token if token.isprintable() else repr(token)[1:-1]
