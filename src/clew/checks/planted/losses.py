"""Planted faults of losses: shifts, ignored targets and weights."""

import torch
from torch.nn.functional import cross_entropy

from clew.checks.planted.plant import Plant, SmallModel, ids, plain

END = 3


def shifted_targets():
    """Targets that are shifted already: the last step of each row has none."""
    return torch.cat([ids()[:, 1:], torch.full((len(ids()), 1), -100)], dim=1)


def mean_loss(outputs, targets):
    """Mean over targets that are not ignored."""
    return cross_entropy(outputs.flatten(0, 1), targets.flatten())


def shifting_loss(outputs, targets):
    """Shift once, then the mean."""
    return mean_loss(outputs[:, :-1], targets[:, 1:])


def twice_shifting_loss(outputs, targets):
    """Shift twice."""
    return mean_loss(outputs[:, :-2], targets[:, 2:])


def flat_shifting_loss(outputs, targets):
    """Shift after rows were joined."""
    return cross_entropy(outputs.flatten(0, 1)[:-1], targets.flatten()[1:])


def counting_ignored_loss(outputs, targets):
    """Ignored targets become id 0."""
    return mean_loss(outputs, targets.clamp(min=0))


def forgetting_end_loss(outputs, targets):
    """The end id is taken for padding."""
    return mean_loss(outputs, targets.masked_fill(targets == END, -100))


def sum_loss(outputs, targets):
    """Sum over targets."""
    return cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="sum")


def row_mean_loss(outputs, targets):
    """Mean of row means."""
    return torch.stack([cross_entropy(*row) for row in zip(outputs, targets, strict=True)]).mean()


def padded_mean_loss(outputs, targets):
    """Sum over targets divided by all positions."""
    return sum_loss(outputs, targets) / targets.numel()


def other_way_loss(outputs, targets):
    """Shift the wrong way: each output is scored on the step before."""
    return mean_loss(outputs[:, 1:], targets[:, :-1])


def next_row_loss(outputs, targets):
    """Each row is scored on the targets of the next one."""
    return mean_loss(outputs, targets.roll(1, dims=0))


def forgetting_zero_loss(outputs, targets):
    """Id 0 is taken for padding."""
    return mean_loss(outputs, targets.masked_fill(targets == 0, -100))


def first_row_loss(outputs, targets):
    """Only the first row counts."""
    return mean_loss(outputs[:1], targets[:1])


def forgetting_last_loss(outputs, targets):
    """Cut once more than was shifted: the last real target never counts."""
    return mean_loss(outputs[:, :-2], targets[:, :-2])


def smoothed_loss(outputs, targets):
    """Labels smoothed by 0.1, over targets that are not ignored."""
    return cross_entropy(outputs.flatten(0, 1), targets.flatten(), label_smoothing=0.1)


def smoothed_by_two_counts_loss(outputs, targets):
    """The smoothing term is divided by all positions, the rest by targets that count."""
    smoothing = -outputs.log_softmax(dim=-1).mean(dim=-1) * (targets != -100)
    return 0.9 * mean_loss(outputs, targets) + 0.1 * smoothing.sum() / targets.numel()


def mean_of_parts_loss(outputs, targets):
    """Mean of the means of the first row and of the others, as accumulation without counts gives."""
    if len(outputs) == 1:
        return mean_loss(outputs, targets)
    return (mean_loss(outputs[:1], targets[:1]) + mean_loss(outputs[1:], targets[1:])) / 2


def per_row_loss(outputs, targets):
    """Sum over targets divided by rows."""
    return sum_loss(outputs, targets) / len(outputs)


def with_end():
    """Targets of which one is the end id."""
    targets = shifted_targets()
    targets[1, 2] = END
    return targets


def with_zero():
    """Targets of which one is id 0."""
    targets = shifted_targets()
    targets[1, 2] = 0
    return targets


def some_ignored():
    """Targets of which rows have different numbers."""
    targets = shifted_targets()
    targets[0, 2:] = -100
    targets[2, :2] = -100
    return targets


def scored(loss, targets=shifted_targets):
    """Audit the plain model with a loss."""
    return lambda: plain(SmallModel)() | {"loss": loss, "targets": targets()}


PLANTS = (
    Plant("shift done twice", "target_shift", scored(shifting_loss), scored(mean_loss), "transformers PR #37830"),
    Plant("shift not done", "target_shift", scored(mean_loss, ids), scored(shifting_loss, ids), "transformers #27517"),
    Plant("shift by two", "target_shift", scored(twice_shifting_loss, ids), scored(shifting_loss, ids)),
    Plant("shift the other way", "target_shift", scored(other_way_loss, ids), scored(shifting_loss, ids)),
    Plant("shift over joined rows", "target_shift", scored(flat_shifting_loss, ids), scored(shifting_loss, ids),
          "transformers #47394"),
    Plant("targets of the next row", "target_shift", scored(next_row_loss), scored(mean_loss)),
    Plant("ignored targets count", "ignored_targets", scored(counting_ignored_loss), scored(mean_loss)),
    Plant("end taken for padding", "ignored_targets", scored(forgetting_end_loss, with_end),
          scored(mean_loss, with_end)),
    Plant("id 0 taken for padding", "ignored_targets", scored(forgetting_zero_loss, with_zero),
          scored(mean_loss, with_zero)),
    Plant("only the first row counts", "ignored_targets", scored(first_row_loss), scored(mean_loss)),
    Plant("last target never counts", "ignored_targets", scored(forgetting_last_loss), scored(mean_loss)),
    Plant("sum", "loss_weight", scored(sum_loss), scored(mean_loss)),
    Plant("mean of row means", "loss_weight", scored(row_mean_loss), scored(mean_loss), "transformers #24725"),
    Plant("mean of two means", "loss_weight", scored(mean_of_parts_loss, some_ignored),
          scored(mean_loss, some_ignored), "transformers PR #34191"),
    Plant("sum divided by rows", "loss_weight", scored(per_row_loss, some_ignored), scored(mean_loss, some_ignored)),
    Plant("smoothing divided by another count", "loss_weight", scored(smoothed_by_two_counts_loss, some_ignored),
          scored(smoothed_loss, some_ignored), "transformers PR #47261"),
    Plant("mean over padded counts", "loss_weight", scored(padded_mean_loss), scored(mean_loss),
          "IBM/pytorch-seq2seq #125"),
)  # fmt: skip
