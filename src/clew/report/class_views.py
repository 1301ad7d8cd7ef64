"""How a classifier errs: each class in a row, and which class is taken for which, as a picture."""

from collections.abc import Sequence
from math import nan

from jaxtyping import Int
from markupsafe import Markup
from torch import Tensor

from clew.rendering.colours import sequential
from clew.rendering.heat_maps import HeatAxis, heat_map, left_out_words
from clew.rendering.page import figure, fragments
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html
from clew.report.evaluation_table import figure as digits

MOST_CLASSES = 40
MOST_IN_PICTURE = 48
PICTURE = 300.0


def classes_part(confusion: Int[Tensor, "true said"], classes: Sequence[str]) -> Markup:
    """Show the table and the picture.

    Args:
        confusion: Counts, true classes as rows; a last row for classes that training lacks, a last column for targets
            without an answer.
        classes: Names of the classes.
    """
    counts: list[list[int]] = confusion.tolist()
    return fragments(table_html(class_table(counts, classes)), _picture(counts, classes))


def class_table(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> Table:
    """Describe each class: how often it occurs, is found and is right where it is said; the most frequent first."""
    known = range(len(classes))
    order = sorted(known, key=lambda place: -sum(counts[place]))
    rows = [_class_row(counts, classes, place) for place in order[:MOST_CLASSES]]
    unseen = sum(counts[len(classes)]) if len(counts) > len(classes) else 0
    if unseen:
        rows.append([Cell(("not in training",), "muted"), f"{unseen:,}", "", "0", "", ""])
    notes = [
        "Recall: of its targets, the share that is found. Precision: where it is said, the share that is right. "
        "F1: their harmonic mean."
    ]
    left_out = len(classes) - MOST_CLASSES
    if left_out > 0:
        notes.append(f"{left_out} rarer classes are left out.")
    columns = [Column("Class", "left"), Column("Targets"), Column("Precision"), Column("Recall"), Column("F1")]
    return Table("Each class", [*columns, Column("Most often taken for", "left")], [Group(rows)], notes)


def _class_row(counts: Sequence[Sequence[int]], classes: Sequence[str], place: int) -> Row:
    right, targets = counts[place][place], sum(counts[place])
    said = sum(row[place] for row in counts)
    precision = right / said if said else nan
    recall = right / targets if targets else nan
    f1 = 2 * right / (said + targets) if said + targets else nan
    others = [(count, other) for other, count in enumerate(counts[place]) if other != place and count]
    names = [*classes, "no answer"]
    taken = "" if not others else f"{names[max(others)[1]]} ({max(others)[0]:,})"
    figures = [Cell((digits(value),), "muted" if value != value else "plain") for value in (precision, recall, f1)]
    return [classes[place], f"{targets:,}", *figures, taken]


def _picture(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> Markup:
    size = len(classes)
    values = [[count / sum(row) if sum(row) else nan for count in row[:size]] for row in counts[:size]]
    cell = min(max(PICTURE / size, 10.0), 60.0)
    rows, columns = HeatAxis("true class", classes, cell=cell), HeatAxis("said", classes, cell=cell)
    title = "Share of each true class"
    drawn = heat_map(title, values, rows, columns, sequential(), "Confusion of classes", most=MOST_IN_PICTURE)
    caption = (
        "Rows are true classes and add up to 1, columns are what the model says; the diagonal is right. A class "
        "without targets is not computed."
    )
    left_out = left_out_words(size, MOST_IN_PICTURE)
    return figure(drawn, f"{caption} Classes {left_out}." if left_out else caption)
