"""The table that `clew evaluate` shows: the model's figures, and those of the reference predictors below it."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from clew.rendering.tables import Cell, Column, Group, Row, Table

WORDS = {
    "loss_nats": "Loss, nats",
    "accuracy": "Accuracy",
    "macro_f1": "Macro F1",
    "calibration_error": "Calibration error",
    "truncated_fraction": "Truncated",
    "bits_per_byte": "Bits a byte",
    "squared_error": "Squared error",
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R2",
    "mase": "MASE",
    "quantile_loss": "Quantile loss",
    "coverage": "Coverage",
    "cue_accuracy": "Accuracy at RECALL",
    "cue_loss_nats": "Loss at RECALL, nats",
    "all_loss_nats": "Loss of all tokens, nats",
    "move_accuracy": "Accuracy on random moves",
}
SHOWN_CONFUSIONS = 6
MODES = {"one_step": "One step ahead", "rollout": "Rollout"}
"""Figures with these beginnings answer different questions and get a group of rows each."""


def evaluation_table(result: Mapping[str, Any], model: str, caption: str) -> Table:
    """Describe the table.

    Args:
        result: What `Run.evaluate` gave.
        model: What the model is called.
        caption: What was scored.
    """
    metrics = result["metrics"]
    modes = [mode for mode in MODES if any(name.startswith(f"{mode}_") for name in metrics)] or [""]
    names = _names(metrics, modes[0])
    references = result.get("references") or []
    groups = []
    for mode in modes:
        rows: list[Row] = [[model, *(figure(metrics.get(_key(mode, name))) for name in names)]]
        for reference in references:
            cells = [Cell((figure(reference.get(_key(mode, name))),), "muted") for name in names]
            rows.append([Cell((str(reference["name"]).replace("_", " "),), "muted"), *cells])
        groups.append(Group(rows, MODES.get(mode, "")))
    columns = [Column("Predictor", "left"), *(Column(WORDS.get(name, name)) for name in names)]
    notes = [] if result.get("references") is not None else ["References need the training part, which is not here."]
    return Table(caption, columns, groups, notes)


def assessment_lines(assessment: Mapping[str, Any]) -> list[str]:
    """Say what an assessment shows: the most frequent confusions, the use of order, intervals of forecasts."""
    lines = []
    if "confusion" in assessment:
        names = [*assessment["classes"], "unseen"]
        wrong = [
            (count, names[true], names[said] if said < len(names) - 1 else "nothing")
            for true, row in enumerate(assessment["confusion"])
            for said, count in enumerate(row)
            if count and (true != said or true == len(names) - 1)
        ]
        shown = sorted(wrong, key=lambda one: -one[0])[:SHOWN_CONFUSIONS]
        if shown:
            words = ", ".join(f"{true} as {said} ({count:,})" for count, true, said in shown)
            lines.append(f"Most frequent errors: {words}{', ...' if len(wrong) > len(shown) else ''}")
    if "order" in assessment:
        lines.append(f"Order of steps: {assessment['order']['words']}")
    if assessment.get("free_running"):
        lines.append(f"Free running: {assessment['free_running']['words']}")
    lines += [f"Intervals, {line}" for line in assessment.get("words", [])]
    return lines + list(assessment.get("notes", []))


def figure(value: Any) -> str:
    """Write a figure with four digits; what is not known stays empty.

    >>> figure(0.97345), figure(None), figure(21345.678)
    ('0.9734', '', '21,346')
    """
    if value is None or not isinstance(value, int | float):
        return "" if value is None else str(value)
    if not isfinite(value):
        return "none" if value != value else str(value)
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def words_of(name: str) -> str:
    """Name a figure within a sentence.

    >>> words_of("accuracy"), words_of("one_step_mae")
    ('accuracy', 'MAE one step ahead')
    """
    for mode, words in (("one_step_", "one step ahead"), ("rollout_", "of rollouts")):
        if name.startswith(mode):
            return f"{words_of(name.removeprefix(mode))} {words}"
    known = str(WORDS.get(name, name.replace("_", " "))).replace(", nats", " in nats")
    return known if known[:2].isupper() else known[0].lower() + known[1:]


def _names(metrics: Mapping[str, Any], mode: str) -> list[str]:
    return [name.removeprefix(f"{mode}_") for name in metrics if not mode or name.startswith(f"{mode}_")]


def _key(mode: str, name: str) -> str:
    return f"{mode}_{name}" if mode else name
