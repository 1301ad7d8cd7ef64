"""Each planted fault fails its own check and no other; its repaired twin fails none."""

import pytest
import torch

from clew.checks import CHECKS, audit
from clew.checks.planted import PLANTED, Plant

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
NAMES = [plant.name for plant in PLANTED]
FIRST = {plant.check: plant for plant in reversed(PLANTED)}
PLANTS = [pytest.param(p, id=p.name, marks=() if FIRST[p.check] is p else pytest.mark.slow) for p in PLANTED]
"""The first of each check is tried in every run, all of them in the slow ones."""


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_told_once_under_its_name(plant: Plant) -> None:
    assert audit(**plant.faulty()).failures == [plant.check]


@pytest.mark.parametrize("plant", PLANTS)
def test_the_repaired_twin_passes(plant: Plant) -> None:
    report = audit(**plant.repaired())
    assert report.failures == []
    assert report[plant.check].status == "passed"


def test_every_check_has_a_planted_fault() -> None:
    assert {plant.check for plant in PLANTED} == set(CHECKS)


def test_planted_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 60
