"""The catalogue: identifiers, reading order, one item alone, and the pictures that items describe."""

from xml.etree import ElementTree

import pytest

from clew.errors import ConfigError
from clew.rendering.page import standalone_svg
from clew.walkthrough import PARTS, Item, build_items, known_ids
from clew.walkthrough.charts import chart_of, panel_pictures
from clew.walkthrough.items import CurveChart

NUMBERED = [7, 8, *range(10, 21), *range(23, 32), 33, 34]


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return build_items()


def test_identifiers_are_unique_and_in_the_order_of_the_items(items: list[Item]) -> None:
    assert [item.id for item in items] == known_ids()
    assert len(set(known_ids())) == len(known_ids())
    assert len({part.identifier for part in PARTS} | set(known_ids())) == len(PARTS) + len(known_ids())


def test_every_numbered_table_with_numbers_is_one_item_in_the_texts_order(items: list[Item]) -> None:
    tables = [int(item.chapter.split()[1]) for item in items if item.chapter.startswith("Table ")]
    assert tables == sorted(set(tables))
    assert set(NUMBERED) <= set(tables)


def test_exercises_confusions_and_pauses_are_complete(items: list[Item]) -> None:
    chapters = [item.chapter for item in items]
    assert [name for name in chapters if name.startswith("Exercise ")] == [f"Exercise {n}" for n in range(1, 7)]
    assert [name for name in chapters if name.startswith("Confusion ")] == [f"Confusion {n}" for n in range(1, 13)]
    assert sum(name.startswith("Pause: ") for name in chapters) == 5


def test_one_item_is_made_alone_and_alike(items: list[Item]) -> None:
    (alone,) = build_items("scalar-columns")
    assert alone == next(item for item in items if item.id == "scalar-columns")


def test_an_unknown_item_comes_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError) as caught:
        build_items("gru-mixtur")
    words = "walkthrough: item must be a known one, got 'gru-mixtur'. Did you mean 'gru-mixture'?"
    assert str(caught.value) == words


def test_every_picture_is_well_formed_and_names_what_it_shows(items: list[Item]) -> None:
    drawn = [item for item in items if item.panels]
    assert "sensitivity-curves" in {item.id for item in drawn}
    for item in drawn:
        pictures = panel_pictures(item)
        assert len(pictures) == len(item.panels)
        for picture in pictures:
            root = ElementTree.fromstring(standalone_svg(picture))
            assert root.get("aria-label")
        assert str(chart_of(item)).count("<svg") >= len(pictures)


def test_every_picture_is_as_wide_as_its_title(items: list[Item]) -> None:
    for item in items:
        for panel, picture in zip(item.panels, panel_pictures(item), strict=True):
            width = float(str(ElementTree.fromstring(standalone_svg(picture)).get("width")))
            assert width >= 7.2 * len(panel.title), item.id


def test_an_item_without_panels_has_no_chart(items: list[Item]) -> None:
    assert chart_of(next(item for item in items if not item.panels)) is None


def test_the_figures_curves_hold_the_tables_numbers(items: list[Item]) -> None:
    item = next(item for item in items if item.id == "sensitivity-curves")
    curves = [curve for panel in item.panels if isinstance(panel, CurveChart) for curve in panel.curves]
    assert [curve.name for curve in curves] == list(item.columns[1:])
    for place, curve in enumerate(curves, start=1):
        assert [value for _, value in curve.points] == [row[place] for row in item.rows]
