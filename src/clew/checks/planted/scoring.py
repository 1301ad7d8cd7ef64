"""Planted faults of losses and of incremental decoding."""

from functools import partial

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, ids, plain

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


def with_end():
    """Targets of which one is the end id."""
    targets = shifted_targets()
    targets[1, 2] = END
    return targets


class Decoder(SmallModel):
    """A recurrent model; its cache is the state."""

    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.window = nn.Conv1d(WIDTH, WIDTH, 3)

    def convolved(self, rows, before):
        joined = torch.cat([before, rows], dim=1)
        return self.window(joined.mT).mT, joined[:, -2:]

    def run(self, ids, start, before, state):
        rows = self.tokens(ids) + self.positions[start : start + ids.shape[1]]
        rows = torch.tanh(self.inner(rows))
        near, before = self.convolved(rows, before)
        mixed, state = self.recurrent(near, state)
        return self.head(rows + mixed), before, state

    def empty(self, ids):
        return self.positions.new_zeros(len(ids), 2, WIDTH)

    def forward(self, ids, valid=None):
        return self.run(ids, 0, self.empty(ids), None)[0]


def decode(model, new, cache, fault=""):
    """Go on from a cache of place, last two rows and state; `fault` says what is forgotten."""
    start, before, state = cache or (0, model.empty(new), None)
    scores, after, state = model.run(
        new,
        0 if fault == "place" else start,
        model.empty(new) if fault == "window" else before,
        None if fault == "state" else state,
    )
    return scores, (start + new.shape[1], after, state)


def decode_single_steps(model, new, cache):
    """Right for chunks of one step, wrong for longer ones: only their last step is run."""
    scores, cache = decode(model, new[:, -1:], cache)
    return scores.expand(-1, new.shape[1], -1), cache


def scored(loss, targets=shifted_targets):
    """Audit the plain model with a loss."""
    return lambda: plain(SmallModel)() | {"loss": loss, "targets": targets()}


def decoded(fault):
    """Audit the decoder with a step that forgets something."""
    return plain(Decoder, step=partial(decode, fault=fault))


PLANTS = (
    Plant("shift done twice", "target_shift", scored(shifting_loss), scored(mean_loss)),
    Plant("shift not done", "target_shift", scored(mean_loss, ids), scored(shifting_loss, ids)),
    Plant("shift by two", "target_shift", scored(twice_shifting_loss, ids), scored(shifting_loss, ids)),
    Plant("shift over joined rows", "target_shift", scored(flat_shifting_loss, ids), scored(shifting_loss, ids)),
    Plant("ignored targets count", "ignored_targets", scored(counting_ignored_loss), scored(mean_loss)),
    Plant("end taken for padding", "ignored_targets", scored(forgetting_end_loss, with_end),
          scored(mean_loss, with_end)),
    Plant("sum", "loss_weight", scored(sum_loss), scored(mean_loss)),
    Plant("mean of row means", "loss_weight", scored(row_mean_loss), scored(mean_loss)),
    Plant("mean over padded counts", "loss_weight", scored(padded_mean_loss), scored(mean_loss)),
    Plant("positions start again", "cache", decoded("place"), decoded("")),
    Plant("window forgets", "cache", decoded("window"), decoded("")),
    Plant("state forgets", "cache", decoded("state"), decoded("")),
    Plant("last step of a chunk only", "cache", plain(Decoder, step=decode_single_steps), decoded("")),
)  # fmt: skip
