"""Every file in examples/data is what its reader takes, small, and named with its licence."""

from pathlib import Path

import pytest

from clew.data import (
    ImagePreparation,
    Preparation,
    TextPreparation,
    read_conllu,
    read_documents,
    read_images,
    read_table,
)

DATA = Path(__file__).parents[2] / "examples" / "data"
FILES = sorted(path for path in DATA.iterdir() if path.name != "README.md")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_sample_is_small_and_has_a_licence(path: Path) -> None:
    assert path.stat().st_size < 200_000
    row = next(line for line in (DATA / "README.md").read_text().splitlines() if line.startswith(f"| `{path.name}`"))
    assert any(licence in row for licence in ("CC BY 4.0", "public domain", "MIT", "Apache-2.0"))


def test_the_utterances_have_the_same_columns_with_and_without_labels() -> None:
    table = read_table(DATA / "japanese-vowels.csv", task="classification")
    preparation = Preparation.fit(table, "classification")
    assert (len(table), preparation.features, len(preparation.classes)) == (81, 12, 9)
    fresh = read_table(DATA / "japanese-vowels-new.csv", task="classification", needs_label=False)
    data = preparation.apply(fresh)
    assert len(data) == 18 and data.targets is None


@pytest.mark.parametrize(
    ("name", "series", "steps"), [("electricity", "demand", 4 * 7 * 48), ("simulated-returns", "return", 1500)]
)
def test_the_series_can_be_forecast(name: str, series: str, steps: int) -> None:
    table = read_table(DATA / f"{name}.csv", task="forecasting")
    assert Preparation.fit(table, "forecasting").series == (series,)
    assert len(table) == 1 and table.frame.height == steps


def test_the_treebank_has_tags_and_whole_documents() -> None:
    table = read_conllu(DATA / "portuguese.conllu")
    assert len(table) == 250 and table.columns.group == "document"
    assert len(Preparation.fit(table, "tagging").classes) >= 14


def test_the_text_has_a_paragraph_a_book() -> None:
    documents = read_documents(DATA / "bible.txt", "paragraphs")
    assert len(documents) == 8 and all(text.endswith(".\n\n") for text in documents.texts[:1])
    data = TextPreparation.fit(documents, context=100).apply(documents)
    assert len(data) == -(-(documents.characters - 1) // 100)


def test_the_images_are_ten_classes_of_one_size() -> None:
    images = read_images(DATA / "digits.npz")
    fitted = ImagePreparation.fit(images)
    assert len(images) == 600 and fitted.shape == (1, 8, 8) and fitted.classes == tuple("0123456789")
