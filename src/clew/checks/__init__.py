"""The audit: prove what information a sequence model uses, on anyone's model, and what splits of data share.

Start with `audit` and `audit_data`. Each check says in its module what it varies, what must not move and what must.
"""

from clew.checks.data_runner import DATA_CHECKS, audit_data
from clew.checks.finding import Counterexample, Finding, Place
from clew.checks.report import AuditReport, Power, Report
from clew.checks.runner import CHECKS, audit, quick_audit

__all__ = [
    "CHECKS",
    "DATA_CHECKS",
    "AuditReport",
    "Counterexample",
    "Finding",
    "Place",
    "Power",
    "Report",
    "audit",
    "audit_data",
    "quick_audit",
]
