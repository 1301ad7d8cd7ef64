"""`loss_weight`: the loss of a batch is the target-weighted mean of the losses of its parts.

Varied: a batch is cut into its rows and into two parts; some targets are ignored so that rows count unequally. Must
hold: loss(batch) * targets(batch) = the sum of loss(part) * targets(part), and the same for the gradient at the outputs
of each part, so that accumulated gradients are those of one batch. A mean over targets fulfils it; a sum, a
mean of row means, and a division by padded counts do not.
"""

import math

import torch
from torch import Tensor

from clew.checks.examination import Examination
from clew.checks.finding import Finding, failed, not_applicable, passed
from clew.checks.loss_probe import LossProbe, probe_loss
from clew.checks.sample import IGNORED

NAME = "loss_weight"
RELATIVE = 256


def check_loss_weight(exam: Examination) -> Finding:
    """Compare a batch with its parts."""
    if exam.options.loss is None or exam.options.targets is None:
        return not_applicable(NAME, "no loss and targets were given")
    probe = probe_loss(exam)
    if len(probe.targets) < 2:
        return not_applicable(NAME, "one row cannot be cut into parts; give two rows or more")
    shift = exam.found.get("target_shift")
    if shift is not None and shift.status == "failed" and "of another row" in shift.reason:
        return not_applicable(NAME, "the loss ties rows to each other: told under target_shift")
    is_told = exam.has_failed("ignored_targets") or exam.has_failed("target_shift")
    tried = 0
    for targets, counts in _variants(probe):
        counts = _pulled(probe, targets) if is_told else counts
        for parts in _cuts(len(targets)):
            kept = [part for part in parts if float(counts[part].sum()) > 0]
            if len(kept) < 2:
                continue
            tried += 1
            found = _difference(probe, targets, counts, kept)
            if found is not None:
                return found
    if not tried:
        return not_applicable(NAME, "fewer than two rows have a target that counts")
    reason = "a batch weighs its parts by their targets, in the loss and in its gradient"
    return passed(NAME, reason, changed="how the batch is cut")


def _variants(probe: LossProbe) -> list[tuple[Tensor, Tensor]]:
    """Targets, and how many of them count in each row: as given, and with rows that count unequally."""
    counted = probe.counted if probe.has_steps else probe.counted.unsqueeze(1)
    variants = [(probe.targets, counted.sum(dim=1).double())]
    if probe.targets.is_floating_point() or not probe.has_steps:
        return variants
    targets, kept = probe.targets.clone(), counted.clone()
    for row in range(0, len(targets), 2):
        places = counted[row].nonzero().flatten()
        dropped = places[: max(len(places) - 1, 0)] if row == 0 else places[: len(places) // 2]
        targets[row, dropped], kept[row, dropped] = IGNORED, False
    return [*variants, (targets, kept.sum(dim=1).double())]


def _pulled(probe: LossProbe, targets: Tensor) -> Tensor:
    """Count the outputs that the loss pulls at, where it is known to count the wrong targets."""
    is_pulled = probe.pull(targets) != 0
    per_output = is_pulled.any(dim=-1) if probe.has_steps and is_pulled.ndim > 2 else is_pulled
    return per_output.flatten(1).sum(dim=1).double() if probe.has_steps else is_pulled.flatten(1).any(dim=1).double()


def _cuts(rows: int) -> list[list[Tensor]]:
    every = torch.arange(rows)
    return [[every[row : row + 1] for row in range(rows)], [every[:1], every[1:]]]


def _difference(probe: LossProbe, targets: Tensor, counts: Tensor, parts: list[Tensor]) -> Finding | None:
    together = torch.cat(parts)
    whole = probe.value(probe.outputs[together], targets[together])
    losses = [probe.value(probe.outputs[part], targets[part]) for part in parts]
    weights = [float(counts[part].sum()) for part in parts]
    expected = sum(loss * weight for loss, weight in zip(losses, weights, strict=True)) / sum(weights)
    limit = RELATIVE * torch.finfo(probe.outputs.dtype).eps * max(map(abs, [whole, *losses]))
    if math.isnan(whole) or any(map(math.isnan, losses)):
        return None
    if abs(whole - expected) <= limit:
        return _difference_of_gradients(probe, targets, weights, parts)
    sizes = ", ".join(f"{int(weight)}" for weight in weights)
    return failed(
        NAME,
        f"a batch has loss {whole:.6g}; its parts with {sizes} targets give {expected:.6g}{_reading(whole, losses)}. "
        "Usual causes: a sum, a mean of row means, a division by padded positions, a mean of micro-batch means in "
        "accumulation.",
        changed="how the batch is cut",
        moved="the loss",
        movement=abs(whole - expected),
        floor=limit,
    )


def _reading(whole: float, losses: list[float]) -> str:
    """Say what the loss of the batch is instead, if it is one of the usual things."""

    def is_near(value: float) -> bool:
        return math.isclose(whole, value, rel_tol=1e-6)

    if is_near(sum(losses)):
        return "; it is their sum"
    return "; it is their mean, whatever their targets" if is_near(sum(losses) / len(losses)) else ""


def _difference_of_gradients(
    probe: LossProbe, targets: Tensor, weights: list[float], parts: list[Tensor]
) -> Finding | None:
    """Compare how a batch pulls at the outputs of each part with how the part alone does, weighted by its targets."""
    whole = probe.pull(targets, torch.cat(parts)).split([len(part) for part in parts])
    alone = [probe.pull(targets, part) * weight / sum(weights) for part, weight in zip(parts, weights, strict=True)]
    scale = max(float(pull.abs().max()) for pull in whole)
    limit = RELATIVE * torch.finfo(probe.outputs.dtype).eps * scale
    moved = max(float((new - old).abs().max()) for new, old in zip(whole, alone, strict=True))
    if math.isnan(moved) or moved <= limit:
        return None
    return failed(
        NAME,
        "the loss of a batch is the weighted mean of its parts, its gradient is not: accumulated gradients differ from "
        "those of one batch. Usual causes: a denominator that is detached or counted elsewhere, a weight per batch.",
        changed="how the batch is cut",
        moved="the gradient with respect to the outputs",
        movement=moved,
        floor=limit,
    )
