"""Each planted fault fails its own check and no other; its repaired twin fails none.

The audits of data and one plant of each check are tried in every run, all of them in the slow ones.
"""

from dataclasses import replace

import pytest
import torch

from clew.checks import CHECKS, DATA_CHECKS
from clew.checks.planted import PLANTED, Outcome, Plant, run_self_test, self_test_table

torch.set_num_threads(1)
NAMES = [plant.name for plant in PLANTED]
FIRST = {plant.check: plant for plant in reversed(PLANTED)}
BRIEF = ("future", "padding_content", "batch_mates", "loss_weight", "cache")
QUICK = [plant for plant in PLANTED if plant.kind == "data" or (FIRST[plant.check] is plant and plant.check in BRIEF)]
PLANTS = [pytest.param(p, id=p.name, marks=() if p in QUICK else pytest.mark.slow) for p in PLANTED]
BY_NAME = {plant.name: plant for plant in PLANTED}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_told_once_under_its_name(plant: Plant) -> None:
    assert plant.audit(plant.faulty()).failures == [plant.check]


@pytest.mark.parametrize("plant", PLANTS)
def test_the_repaired_twin_passes(plant: Plant) -> None:
    report = plant.audit(plant.repaired())
    assert report.failures == []
    assert report[plant.check].status == "passed"


def test_every_check_has_a_planted_fault() -> None:
    assert {plant.check for plant in PLANTED} == {*CHECKS, *DATA_CHECKS}
    assert {plant.check for plant in PLANTED if plant.kind == "data"} == set(DATA_CHECKS)


def test_planted_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 130


def test_the_self_test_gives_outcomes_as_they_come() -> None:
    plant, other = BY_NAME["row copied"], BY_NAME["label in other words"]
    outcomes = run_self_test([plant, other])
    first = next(outcomes)
    assert (first.plant, first.is_right, first.text) == (plant, True, "")
    assert first.elapsed_seconds > 0
    assert [outcome.plant for outcome in outcomes] == [other]


def test_the_table_counts_what_is_missed_and_explains_it() -> None:
    plant = BY_NAME["row copied"]
    blind = replace(plant, name="nothing wrong", faulty=plant.repaired)
    alarmed = replace(plant, name="wrong twin", repaired=BY_NAME["label in other words"].faulty)
    table = self_test_table(run_self_test([plant, blind, alarmed]))
    lines = table.splitlines()
    assert lines[1].split()[:5] == ["duplicate_rows", "3", "2", "1", "1"]
    assert lines[2].split()[:5] == ["all", "3", "2", "1", "1"]
    assert lines[4:] == [
        "nothing wrong: told nothing in place of duplicate_rows",
        "wrong twin: false alarm label_in_features on the twin",
    ]


def test_a_twin_that_was_not_judged_is_wrong() -> None:
    outcome = Outcome(BY_NAME["row copied"], ("duplicate_rows",), (), "not applicable", 0.0)
    assert outcome.is_found
    assert not outcome.is_right
    assert outcome.text == "row copied: duplicate_rows is not applicable on the twin"
