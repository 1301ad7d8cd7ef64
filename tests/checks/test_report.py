"""What the report shows."""

import json

import pytest
import torch

from checks.models import Recurrent, TinyLeak
from clew.checks import CHECKS, audit
from clew.checks.report import AuditReport
from clew.errors import AuditError

torch.set_num_threads(1)
VALUES = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def leaking() -> AuditReport:
    return audit(TinyLeak(), VALUES)


def test_there_is_one_finding_a_check(leaking: AuditReport) -> None:
    assert tuple(finding.name for finding in leaking.findings) == CHECKS


def test_the_error_says_what_leaks_from_where_to_where_and_in_which_module(leaking: AuditReport) -> None:
    with pytest.raises(AuditError) as told:
        leaking.raise_if_failed()
    text = str(told.value)
    for part in (
        "audit: every check must pass, got 1 failed: future.",
        "Usual causes:",
        "moved row",
        "recurrent (GRU)",
    ):
        assert part in text


def test_a_model_that_passes_raises_nothing() -> None:
    report = audit(Recurrent(), VALUES)
    report.raise_if_failed()
    assert report.passed and report.table().startswith("audit passed")


def test_the_table_lists_every_check_and_the_power(leaking: AuditReport) -> None:
    table = leaking.table()
    assert all(name in table for name in CHECKS)
    assert "a leak of 0.0001" in table and "was seen" in table and "are no rounding" in table


def test_json_is_strict_and_complete(leaking: AuditReport) -> None:
    read = json.loads(leaking.to_json(), parse_constant=pytest.fail)
    assert read["failures"] == ["future"] and read["passed"] is False
    assert len(read["findings"]) == len(CHECKS)
    assert len(read["influence"]) == 6


def test_an_unknown_check_is_a_key_error(leaking: AuditReport) -> None:
    with pytest.raises(KeyError):
        _ = leaking["futures"]
