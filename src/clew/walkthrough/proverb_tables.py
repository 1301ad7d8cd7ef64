"""How rows of the proverb become tables and pictures: a label for each word, a column for each feature."""

from collections.abc import Sequence

from jaxtyping import Float, Shaped
from torch import Tensor

from clew.walkthrough.items import Cell, HeatMap, Item, labelled_rows
from clew.walkthrough.proverb import LABELS

POSITION = "Position: token"
SOURCE = "Source j: token"


def feature_names(count: int, word: str = "Feature") -> tuple[str, ...]:
    """Name features by their index.

    >>> feature_names(2)
    ('Feature 0', 'Feature 1')
    """
    return tuple(f"{word} {index}" for index in range(count))


def feature_table(
    id: str,
    title: str,
    chapter: str,
    values: Float[Tensor, "rows features"],
    labels: Sequence[str] = LABELS,
    first: str = POSITION,
    word: str = "Feature",
    notes: Sequence[str] = (),
    caption: str = "",
) -> Item:
    """Tabulate rows of features; with a caption they are drawn as a heat map too."""
    names = feature_names(values.shape[1], word)
    panels = [heat_map(title, values, labels, names)] if caption else []
    return Item(id, title, chapter, (first, *names), labelled_rows(labels, values), notes, panels, caption)


def pair_table(
    id: str,
    title: str,
    chapter: str,
    values: Float[Tensor, "query source"],
    visible: Shaped[Tensor, "query source"] | None = None,
    is_weight: bool = True,
    labels: Sequence[str] = LABELS,
    notes: Sequence[str] = (),
    caption: str = "",
) -> Item:
    """Tabulate and draw what each query has for each source; hidden sources read "hidden"."""
    cells: list[list[Cell]] = [
        [value if visible is None or visible[query, source] else "hidden" for source, value in enumerate(row)]
        for query, row in enumerate(values.tolist())
    ]
    scale = "sequential" if is_weight else "diverging"
    panel = HeatMap(title, cells, labels, labels, "queries", "sources", scale)
    rows = [[label, *row] for label, row in zip(labels, cells, strict=True)]
    return Item(id, title, chapter, ("Query: token", *labels), rows, notes, [panel], caption or title)


def heat_map(
    title: str, values: Float[Tensor, "rows features"], labels: Sequence[str], names: Sequence[str]
) -> HeatMap:
    """Draw rows of features with zero at the middle of the colours."""
    return HeatMap(title, values.tolist(), labels, names)


def distance(one: Float[Tensor, "*shape"], other: Float[Tensor, "*shape"]) -> float:
    """Give the greatest absolute difference of any two entries."""
    return (one - other).abs().max().item()


def shape_text(tensor: Shaped[Tensor, "..."]) -> str:
    """Write a shape as the text does.

    >>> import torch
    >>> shape_text(torch.zeros(7, 5))
    '7 x 5'
    """
    return " x ".join(str(size) for size in tensor.shape)
