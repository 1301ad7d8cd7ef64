"""From a word that a person typed to its id, or a line that says which word may have been meant."""

from collections.abc import Sequence
from difflib import get_close_matches

from clew.errors import DataError, complain

LISTED = 24
"""A vocabulary of at most so many words is listed where a word is unknown."""
SEARCHED = 20_000
SPELLED = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def id_of_word(where: str, word: str, vocabulary: Sequence[str]) -> int:
    """Find the id of a word, also of one in other case if only one word fits.

    Raises:
        DataError: If the model does not know it, with the nearest word, or all words if they are few.
    """
    spelled = word if word in vocabulary else "".join(SPELLED.get(letter, letter) for letter in word)
    if spelled in vocabulary:
        return list(vocabulary).index(spelled)
    folded = [place for place, known in enumerate(vocabulary) if known.casefold() == spelled.strip().casefold()]
    if len(folded) == 1:
        return folded[0]
    remedy = _remedy(spelled, vocabulary)
    raise DataError(complain(where, "word", "known to the model", f"'{word[:60]}'", remedy))


def _remedy(word: str, vocabulary: Sequence[str]) -> str:
    near = get_close_matches(word.casefold(), vocabulary[:SEARCHED], n=1, cutoff=0.6)
    meant = f"Did you mean '{near[0]}'? " if near else ""
    if len(vocabulary) <= LISTED:
        return f"{meant}Known words: {', '.join(vocabulary)}."
    return meant or f"It knows {len(vocabulary)} of them, such as {', '.join(vocabulary[:5])}."
