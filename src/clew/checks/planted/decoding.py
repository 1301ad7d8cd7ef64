"""Planted faults of incremental decoding: what a cache forgets, or numbers wrongly."""

from functools import partial

import torch
from torch import nn

from clew.checks.planted.plant import WIDTH, Plant, SmallModel, plain


class Decoder(SmallModel):
    """A recurrent model; its cache is the state."""

    def extra(self) -> None:
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.window = nn.Conv1d(WIDTH, WIDTH, 3)

    def convolved(self, rows, before):
        joined = torch.cat([before, rows], dim=1)
        return self.window(joined.mT).mT, joined[:, -2:]

    def near(self, ids, start):
        return torch.tanh(self.inner(self.tokens(ids) + self.positions[start : start + ids.shape[1]]))

    def run(self, ids, start, before, state):
        rows = self.near(ids, start)
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
    if fault == "long chunks":
        after = torch.cat([model.empty(new) if cache is None else before, model.near(new, start)[:, -1:]], dim=1)[
            :, -2:
        ]
    return scores, (start + (1 if fault == "count" else new.shape[1]), after, state)


def decode_single_steps(model, new, cache):
    """Right for chunks of one step, wrong for longer ones: only their last step is run."""
    scores, cache = decode(model, new[:, -1:], cache)
    return scores.expand(-1, new.shape[1], -1), cache


class AttendingDecoder(SmallModel):
    """Causal attention over the last `reach` steps; its cache is the rows that were read."""

    reach = 16

    def rows(self, ids, start):
        return torch.tanh(self.inner(self.tokens(ids) + self.positions[start : start + ids.shape[1]]))

    def attend(self, rows, known, hidden):
        mixed = (rows @ known.mT).masked_fill(hidden, -torch.inf).softmax(dim=-1) @ known
        return self.head(rows + mixed)

    def hidden(self, new, known):
        distance = torch.arange(known - new, known).unsqueeze(1) - torch.arange(known)
        return (distance < 0) | (distance >= self.reach)

    def forward(self, ids, valid=None):
        rows = self.rows(ids, 0)
        return self.attend(rows, rows, self.hidden(rows.shape[1], rows.shape[1]))


class ShortReach(AttendingDecoder):
    """Attention over the last three steps."""

    reach = 3


def top_left(model, new, known):
    """A triangle that begins at the first key: a single new step sees the first key alone."""
    return torch.ones(new, known, dtype=torch.bool).triu(1)


def no_mask(model, new, known):
    """New steps of one chunk read each other."""
    return torch.zeros(new, known, dtype=torch.bool)


def attended(model, new, cache, hidden=None, kept=None):
    """Go on from a cache of place and rows; `kept` rows stay in it."""
    start, before = cache or (0, None)
    rows = model.rows(new, start)
    known = rows if before is None else torch.cat([before, rows], dim=1)
    mask = (hidden or type(model).hidden)(model, rows.shape[1], known.shape[1])
    return model.attend(rows, known, mask), (start + new.shape[1], known if kept is None else known[:, -kept:])


def decoded(fault):
    """Audit the decoder with a step that forgets something."""
    return plain(Decoder, step=partial(decode, fault=fault))


def cached(kind, **more):
    """Audit an attending decoder."""
    return plain(kind, step=partial(attended, **more))


PLANTS = (
    Plant("positions start again", "cache", decoded("place"), decoded(""), "x-transformers #187"),
    Plant("chunks counted in place of steps", "cache", decoded("count"), decoded("")),
    Plant("window forgets", "cache", decoded("window"), decoded("")),
    Plant("window moves by one a chunk", "cache", decoded("long chunks"), decoded(""), "fairseq #3908"),
    Plant("state forgets", "cache", decoded("state"), decoded(""), "transformers #46190"),
    Plant("last step of a chunk only", "cache", plain(Decoder, step=decode_single_steps), decoded("")),
    Plant("triangle at the top left", "cache", cached(AttendingDecoder, hidden=top_left), cached(AttendingDecoder),
          "pytorch #144858"),
    Plant("chunk without a mask", "cache", cached(AttendingDecoder, hidden=no_mask), cached(AttendingDecoder)),
    Plant("cache one step too short", "cache", cached(ShortReach, kept=1), cached(ShortReach, kept=2)),
    Plant("cache cut at its limit", "cache", cached(AttendingDecoder, kept=4), cached(AttendingDecoder),
          "ng-video-lecture #20"),
)  # fmt: skip
