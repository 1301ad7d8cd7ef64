"""All that is wrong with a file, told at once: a line a problem, and a count where one kind repeats."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from clew.errors import DataError, complain

SHOWN = 5


class TableError(DataError):
    """A file cannot be used as it is.

    Attributes:
        problems: The lines of the text, one a problem.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Problems:
    """Collects what is wrong with one file.

    >>> problems = Problems("a.csv")
    >>> for row in (3, 5):
    ...     problems.add("column 'x'", f"row {row}", "value", "finite", "NaN", shown=1)
    >>> problems.lines()
    ["a.csv: column 'x', row 3: value must be finite, got NaN.", "a.csv: column 'x': 1 more value that must be finite."]
    """

    def __init__(self, path: Path | str) -> None:
        self.where = str(path)
        self._lines: list[tuple[tuple[str, str, str], str]] = []
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._shown: dict[tuple[str, str, str], int] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(
        self,
        place: str,
        detail: str,
        what: str,
        rule: str,
        got: object,
        remedy: str = "",
        *,
        count: int = 1,
        shown: int = SHOWN,
    ) -> None:
        """Note one problem, or `count` of a kind of which this is one.

        Args:
            place: The column, as "column 'x'"; may be empty.
            detail: Where in it, as "row 17"; may be empty.
            what: What is wrong.
            rule: What it must be.
            got: What it is.
            remedy: What to do.
            count: How many problems this stands for.
            shown: How many of a kind are shown in full.
        """
        kind = (place, what, rule)
        self._counts[kind] += count
        self._shown[kind] = self._shown.get(kind, 0) + 1
        if self._shown[kind] <= shown:
            parts = [part for part in (place, detail) if part]
            where = f"{self.where}: {', '.join(parts)}" if parts else self.where
            self._lines.append((kind, complain(where, what, rule, got, remedy)))
        else:
            self._shown[kind] -= 1

    def count_more(self, place: str, what: str, rule: str, count: int) -> None:
        """Count problems of a kind of which some were noted in full."""
        if count > 0:
            self._counts[(place, what, rule)] += count

    def add_line(self, line: str) -> None:
        """Note a text that is a whole line already."""
        self._counts[("", "", line)] += 1
        self._shown[("", "", line)] = 1
        self._lines.append((("", "", line), line))

    def lines(self) -> list[str]:
        """Give all problems in the order in which they were found, kind by kind."""
        text = []
        for kind in dict.fromkeys(kind for kind, _ in self._lines):
            text += [line for other, line in self._lines if other == kind]
            more = self._counts[kind] - self._shown[kind]
            if more > 0:
                place, what, rule = kind
                where = f"{self.where}: {place}" if place else self.where
                text.append(f"{where}: {more:,} more {what}{'' if more == 1 else 's'} that must be {rule}.")
        return text

    def raise_if_any(self) -> None:
        """Raise what was found as one error.

        Raises:
            TableError: If anything was noted.
        """
        if self:
            raise TableError(self.lines())


def shorten(value: object, width: int = 40) -> str:
    """Quote a value for an error text, cut where it is long.

    >>> shorten("abc" * 20, width=5)
    "'abcab...'"
    """
    text = str(value)
    return repr(text if len(text) <= width else f"{text[:width]}...")
