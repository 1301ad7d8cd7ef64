"""The page of one training: what was selected, predictions of what may be seen, the test beside its references."""

import numpy as np
import pytest
import torch

from clew.data import SequenceData
from clew.report.class_views import class_table
from clew.report.example_views import examples_part
from clew.report.forecast_views import forecasts_of, forecasts_part
from clew.report.training import training_page, write_training_report
from runs.small_runs import small, train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train("classification", tmp_path_factory.mktemp("runs") / "run", audit="refuse")


def test_the_page_says_what_was_selected_and_that_the_test_is_not_scored(run):
    page = training_page(run)
    assert f"Epoch {run.selected_epoch} of 3 was selected: it has the lowest loss in nats on validation" in page
    assert "The test has not been scored." in page
    assert "the model: passed." in page and "the data: passed." in page
    assert page.count('class="chart"') == 5 and "Classes, on" not in page
    assert "http://" not in page and "https://" not in page and "<script" not in page


def test_validation_stands_beside_references_and_shows_its_classes(run):
    page = training_page(run, validation=small("classification").validation)
    assert "nearest neighbour" in page
    assert "Classes, on validation" in page and "Examples, from validation" in page


def test_pictures_of_the_test_wait_until_it_is_scored(tmp_path):
    one = train("classification", tmp_path / "run")
    test = small("classification").train.part(range(20))
    test.save(one.path / "test")
    assert ", on test" not in training_page(one)
    one.evaluate(SequenceData.open(one.path / "test"))
    page = write_training_report(one).read_text()
    assert "Classes, on test" in page and "Examples, from test" in page
    assert "Test: 20 sequences, scored once, at 20" in page
    assert "On the test its accuracy is" in page and "The best of the simple references," in page


@pytest.mark.parametrize("name", ["forecasting", "next_token", "regression", "tagging"])
def test_every_task_has_a_page_with_examples(name, tmp_path):
    one = train(name, tmp_path / "run", training={"epochs": 1, "batch_size": 30})
    page = training_page(one, validation=small(name).validation)
    assert "Highest loss" in page and "One epoch makes no curve." in page
    assert ("Forecasts, on validation" in page) == (name == "forecasting")


def test_rows_of_the_class_table_follow_from_the_counts():
    table = class_table([[6, 2, 1], [3, 9, 0], [1, 1, 0]], ["a", "b"])
    first, second, third = table.groups[0].rows
    text = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in (first, second, third)]
    assert text[0] == ["b", "12", digits(9 / 12), digits(9 / 12), digits(18 / 24), "a (3)"]
    assert text[1] == ["a", "9", digits(6 / 10), digits(6 / 9), digits(12 / 19), "b (2)"]
    assert text[2][:2] == ["not in training", "2"]


def digits(value: float) -> str:
    return f"{value:.4g}"


def test_examples_are_sorted_by_their_loss(run):
    data = small("classification").validation
    page = str(examples_part(run, data))
    losses = -np.log(run.task.predict(run.model, data)["probabilities"][np.arange(30), data.targets])
    worst = int(losses.argmax())
    first = page.split("<tbody>")[1].split('<th scope="row"')[1]
    assert f">{data.ids[worst]}<" in first and digits(losses[worst]) in first


def test_the_drawn_forecast_is_the_last_window_in_its_own_units(tmp_path):
    one, data = train("forecasting", tmp_path / "run"), small("forecasting").validation
    found = forecasts_of(one, one.task, data)
    scaling = one.task.scaling
    last = data.select(torch.tensor([len(data) - 1])).inputs[0, :, 0].double().numpy()
    units = last * scaling.scale[0] + scaling.center[0]
    assert np.allclose(found.truth[-1, :, 0], units[-4:]) and np.allclose(found.history[:, 0], units[:-4])
    assert np.allclose(found.middle[-1], one.task.predict(one.model, data)["rollout"][-1])
    assert np.allclose(found.seasonal[-1, :, 0], units[-16:-12])
    assert str(forecasts_part(one, one.task, data)).count('class="chart"') == 2
