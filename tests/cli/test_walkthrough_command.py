"""`clew walkthrough`: tables, JSON, files, and what goes wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]


def test_a_single_item_is_printed_with_three_digits(clew: Command) -> None:
    exit_code, out, err = clew("walkthrough", "--only", "pytorch-example")
    assert (exit_code, err) == (0, "")
    assert "prediction |       -0.144" in out


def test_json_is_a_list_of_items_with_all_digits(clew: Command) -> None:
    exit_code, out, err = clew("walkthrough", "--only", "state-and-gradient-bounds", "--json")
    assert (exit_code, err) == (0, "")
    (item,) = json.loads(out)
    assert list(item) == ["id", "title", "chapter", "columns", "rows", "notes"]
    assert item["chapter"] == "Exercise 2"
    assert item["rows"][0][5] == pytest.approx(-0.32768, abs=1e-15)


def test_out_writes_the_page_and_the_figures(clew: Command, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pages"
    exit_code, out, err = clew("walkthrough", "--only", "sensitivity-curves", "--out", str(folder))
    assert exit_code == 0
    assert "Figure 3" in out
    assert err == f"Page: {folder / 'walkthrough.html'}\n"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["sensitivity-curves-1.svg", "sensitivity-curves-2.svg", "walkthrough.html"]


def test_without_out_nothing_is_written(clew: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clew("walkthrough", "--only", "gru-mixture")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_item_is_a_usage_error(clew: Command) -> None:
    exit_code, out, err = clew("walkthrough", "--only", "gru-mixtur")
    assert (exit_code, out) == (2, "")
    line = "Error: walkthrough: item must be a known one, got 'gru-mixtur'. Did you mean 'gru-mixture'?\n"
    assert err == line


def test_a_file_in_the_way_of_the_folder_is_one_line(clew: Command, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    exit_code, _, err = clew("walkthrough", "--only", "gru-mixture", "--out", str(tmp_path / "taken"))
    assert exit_code == 1
    assert err.count("\n") == 1
    assert "file exists" in err
    assert (tmp_path / "taken").read_text() == "mine"
