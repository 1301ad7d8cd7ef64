"""What a run of cue recall adds to the view of a run: episodes by their loss, and the learning signal at the cue.

Episodes are those that the other views show by their numbers; none is of the sealed test. Start with `episodes_part`.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from markupsafe import Markup
from torch import Tensor

from clew.data.batch import Batch
from clew.data.recall_episodes import MOVES, TOKEN_WORDS, cue_places, sample_episodes
from clew.explorer.run.episode import Episode
from clew.explorer.scene import Scene
from clew.rendering.markup import element
from clew.rendering.numbers import format_number
from clew.rendering.page import fragments, paragraph
from clew.rendering.tables import Column, Group, Row, Table, table_html
from clew.report.trace_runs import EPISODE_SEED
from clew.runs import Run
from clew.tasks import CueRecall
from clew.tasks.memory_signal import memory_signal

EPISODES = 256
WORST, BEST = 10, 3


class EpisodeLosses(NamedTuple):
    """Episodes, what the model says at RECALL, and what that costs, a row each."""

    inputs: Int[Tensor, "episodes time"]
    probabilities: Float[Tensor, "episodes tokens"]
    losses_nats: Float[Tensor, " episodes"]


def drawn_episodes(task: CueRecall, count: int) -> Int[Tensor, "episodes time"]:
    """Draw the episodes that rows of the address stand for, in their order; `count` is divisible by 4."""
    generator = torch.Generator().manual_seed(EPISODE_SEED)
    return torch.cat([sample_episodes(4, task.delay, generator, task.cue_position) for _ in range(count // 4)])


@lru_cache(maxsize=4)
def episode_losses(run: Run) -> EpisodeLosses:
    """Ask the model of a run for the cue of each episode."""
    task = run.task
    assert isinstance(task, CueRecall)
    inputs = drawn_episodes(task, EPISODES)
    said = torch.from_numpy(task.predict(run.model, Batch(inputs))["probabilities"][:, task.query])
    return EpisodeLosses(inputs, said, task.episode_losses(run.model, Batch(inputs)).cue_nats)


def episodes_part(run: Run, scene: Scene) -> Markup:
    """Show the episodes with the highest loss at RECALL, and a few with the lowest, each with a link to it."""
    found = episode_losses(run)
    order: list[int] = found.losses_nats.argsort(descending=True, stable=True).tolist()
    columns = [Column("Episode", "left"), Column("Cue", "left"), Column("Answers", "left"), Column("Its probability")]
    columns += [Column("That of the cue"), Column("Loss at RECALL, nats"), Column("Moves between", "left", wraps=True)]
    groups = [Group([_row(found, scene, place) for place in order[:WORST]], "Highest loss")]
    groups.append(Group([_row(found, scene, place) for place in order[-BEST:]], "Lowest loss"))
    right = float((found.probabilities[:, :MOVES].argmax(dim=1) == _cues(found.inputs)).double().mean())
    told = (
        f"{EPISODES} episodes, drawn with a seed of their own: none is taken from the sealed test. The model gives the "
        f"cue back in {format_number(right)} of them, a guess in 0.25. A link opens the episode in all views."
    )
    return fragments(paragraph(told), table_html(Table("Episodes by their loss at RECALL", columns, groups)))


def _cues(inputs: Int[Tensor, "episodes time"]) -> Int[Tensor, " episodes"]:
    return inputs.gather(1, cue_places(inputs).unsqueeze(1)).squeeze(1)


def _row(found: EpisodeLosses, scene: Scene, place: int) -> Row:
    inputs, said = found.inputs[place], found.probabilities[place]
    cue, chosen = int(_cues(found.inputs[place : place + 1])), int(said[:MOVES].argmax())
    href = scene.address.link(row=place, text=None, edits=())
    link = element("a", {"href": href, "id": f"episode-{place}"}, f"episode {place}")
    moves = " ".join(TOKEN_WORDS[token] for token in inputs.tolist() if token < MOVES)
    chances = [format_number(float(said[token])) for token in (chosen, cue)]
    return [
        link,
        TOKEN_WORDS[cue],
        TOKEN_WORDS[chosen],
        *chances,
        format_number(float(found.losses_nats[place])),
        moves,
    ]


def signal_part(scene: Scene, episode: Episode) -> Markup:
    """Say how much of the loss at RECALL arrives at the cue of this very episode."""
    if scene.visible is not None:
        return paragraph("The learning signal at the cue is not computed for an edited mask; undo that edit to see it.")
    found = memory_signal(scene.subject.model, _whole(scene, episode), episode.query)
    if not found:
        return paragraph("No single representation carries the cue in a model that reads both directions.")
    columns = [Column("Loss at RECALL, differentiated with respect to", "left"), Column("Norm")]
    rows = [
        ["the representation at the cue (nats per unit of it)", format_number(found["cue_signal"])],
        ["all shared weights (nats per unit of weight)", format_number(found["shared_gradient_norm"])],
    ]
    told = (
        "To learn to recall, a model must get a learning signal from the answer back to the cue. A large gradient over "
        "all weights does not show that it does: most of it may come from the nearest steps."
    )
    table = table_html(Table("Learning signal of this episode", columns, [Group(rows)]))
    return fragments(paragraph(told), table)


def _whole(scene: Scene, episode: Episode) -> Int[Tensor, "one time"]:
    """Give the episode with the answer, which stands right after the query."""
    ids = scene.subject.batch.inputs[scene.row][: len(scene.subject.words[scene.row])]
    return ids[: episode.query + 2].unsqueeze(0)
