"""`audit_data`: what splits of a data set share that they must not share."""

from typing import Any

from clew.checks.data_columns import Column
from clew.checks.data_tables import read_splits
from clew.checks.duplicate_rows import check_duplicate_rows
from clew.checks.finding import not_applicable
from clew.checks.fitted_on_test import Statistics, check_fitted_on_test
from clew.checks.label_in_features import check_label_in_features
from clew.checks.report import Report
from clew.checks.split_overlap import check_split_overlap
from clew.checks.window_overlap import check_window_overlap

DATA_CHECKS = ("split_overlap", "window_overlap", "fitted_on_test", "duplicate_rows", "label_in_features")


def audit_data(
    train: Any,
    validation: Any,
    test: Any,
    *,
    time: Column | None = None,
    group: Column | None = None,
    label: Column | None = None,
    window: int | None = None,
    horizon: int | None = None,
    statistics: Statistics | None = None,
) -> Report:
    """Find out whether held-out data reaches what is trained.

    Args:
        train: A table (polars, or a mapping of arrays), or an array of rows.
        validation: Another of the same columns, or None.
        test: Another of the same columns, or None.
        time: Column of the time of a row; of a window, its last observed step.
        group: Column of the unit that a row belongs to.
        label: Column of what is predicted.
        window: Steps that a row reads, up to its time.
        horizon: Steps that are predicted, after its time.
        statistics: (train, validation, test) -> mapping of the arrays that were fitted.

    Returns:
        One finding a check.

    Raises:
        AuditError: If a split cannot be read, or a column is missing.

    >>> audit_data({"x": [1.0, 2.0]}, None, {"x": [2.0, 3.0]}).failures
    ['duplicate_rows']
    """
    data = read_splits((train, validation, test), time, group, label, window, horizon)
    findings = {
        "split_overlap": check_split_overlap(data),
        "window_overlap": check_window_overlap(data),
        "fitted_on_test": check_fitted_on_test(data, statistics),
        "duplicate_rows": check_duplicate_rows(data),
        "label_in_features": check_label_in_features(data),
    }
    if findings["window_overlap"].status == findings["split_overlap"].status == "failed":
        findings["split_overlap"] = not_applicable("split_overlap", "windows overlap: told under window_overlap")
    return Report(tuple(findings[name] for name in DATA_CHECKS))
