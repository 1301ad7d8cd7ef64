"""The page of one training: what was selected, the test beside its references, nothing from outside."""

import pytest

from clew.report.training import figures_table, training_report, write_training_report
from runs.small_runs import small, train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train("classification", tmp_path_factory.mktemp("runs") / "run", audit="refuse")


def test_the_page_says_what_was_selected_and_that_the_test_is_sealed(run):
    page = training_report(run)
    assert f"Epoch {run.selected_epoch} of 3 was selected: loss_nats on validation" in page
    assert "The test has not been scored." in page
    assert "the model: passed." in page and "the data: passed." in page
    assert "Learning curves" in page and page.count('class="chart"') == 2
    assert "http://" not in page and "https://" not in page


def test_references_stand_beside_the_test(run):
    result = run.evaluate(small("classification").train.part(range(20)))
    table = figures_table(run, result)
    names = [row[0] for group in table.groups for row in group.rows]
    assert names[:2] == ["this model", "this model"]
    assert {"majority", "nearest_neighbour"} <= set(names)
    assert table.groups[1].title == "Test, 20 sequences"
    path = write_training_report(run)
    assert path.name == "report.html" and "The test was scored once, at 20" in path.read_text()


@pytest.mark.parametrize("name", ["forecasting", "next_token", "regression", "tagging"])
def test_every_task_has_a_page(name, tmp_path):
    one = train(name, tmp_path / "run", training={"epochs": 1, "batch_size": 30})
    assert one.task.selection in training_report(one)
