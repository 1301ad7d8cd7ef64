"""One episode of cue recall under intervention: what the model answers when the cue, its mask or its state is changed.

Each intervention changes one thing about the episode on show, and the model of the scene reads it again. Start with
`interventions_part`; `interventions` gives the numbers.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from markupsafe import Markup
from torch import Tensor

from clew.data.recall_episodes import BOS, MOVES, RECALL, TOKEN_WORDS
from clew.explorer import limits
from clew.explorer.edits.parsing import with_edit
from clew.explorer.scene import Scene
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.transformer_encoder import TransformerEncoder
from clew.rendering.colours import sequential
from clew.rendering.markup import element
from clew.rendering.numbers import format_number, format_signed
from clew.rendering.page import fragments, paragraph
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html
from clew.tasks.task import evaluation_mode

SEED = 0
"""Draws the other moves, the same ones each time."""


@dataclass(frozen=True)
class Episode:
    """Where the parts of an episode stand.

    Attributes:
        inputs: What the model reads.
        cue: Step of the cue.
        query: Step of RECALL, where the cue is predicted.
    """

    inputs: Int[Tensor, " time"]
    cue: int
    query: int

    @property
    def cue_id(self) -> int:
        """The cue."""
        return int(self.inputs[self.cue])


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model predicts at RECALL.

    Attributes:
        words: What was changed.
        expected: What a model that uses the cue, and nothing else, does.
        probabilities: Of each token after RECALL; None where this kind of model cannot undergo it.
        reason: Why not.
        edits: Edits that make the same change to the scene; empty where there are none.
    """

    words: str
    expected: str
    probabilities: Float[Tensor, " tokens"] | None = None
    reason: str = ""
    edits: tuple[str, ...] = ()


def episode_of(scene: Scene) -> Episode | None:
    """Find cue and query in the row on show; None where it is no episode."""
    ids = scene.subject.batch.inputs[scene.row][: len(scene.tokens)]
    begins, requests = (ids == BOS).nonzero().flatten().tolist(), (ids == RECALL).nonzero().flatten().tolist()
    if not begins or not requests or not begins[0] + 1 < requests[-1]:
        return None
    return Episode(ids, begins[0] + 1, requests[-1])


def interventions(scene: Scene, episode: Episode) -> list[Answer]:
    """Ask the model of a scene for the cue, first as the episode stands and then under each intervention."""
    ids, cue = episode.inputs, episode.cue
    as_it_is = Answer("Nothing", "the cue", _at_query(scene, ids, episode.query))
    others = [move for move in range(MOVES) if move != episode.cue_id]
    swaps = [
        Answer(
            f"Cue: {TOKEN_WORDS[move]} instead of {TOKEN_WORDS[episode.cue_id]}",
            f"{TOKEN_WORDS[move]}, the new cue",
            _at_query(scene, _with(ids, cue, move), episode.query),
            edits=(f"token:{cue}={TOKEN_WORDS[move]}",),
        )
        for move in others
    ]
    blank = Answer(
        "Cue: blanked with BOS",
        "a guess: the cue stands nowhere",
        _at_query(scene, _with(ids, cue, BOS), episode.query),
        edits=(f"token:{cue}={TOKEN_WORDS[BOS]}",),
    )
    return [as_it_is, *swaps, blank, _hidden(scene, episode), _reset(scene, episode), _redrawn(scene, episode)]


def _hidden(scene: Scene, episode: Episode) -> Answer:
    """Hide the cue from every query after it, and from those before it too where these may read it and pass it on."""
    words, expected = "Cue: hidden from all later queries", "a guess: no other step reads the cue"
    if not isinstance(scene.subject.model.encoder, TransformerEncoder):
        reason = "only attention has a mask; the state of a recurrent model is its one path"
        return Answer(words, expected, reason=reason)
    time, cue = len(episode.inputs), episode.cue
    visible = _visible(scene, time).clone()
    earlier: list[int] = [] if scene.is_causal else visible[:cue, cue].nonzero().flatten().tolist()
    if earlier:
        words = "Cue: hidden from all other queries"
    queries = [*earlier, *range(cue + 1, time)]
    visible[queries, cue] = False
    edits = tuple(f"hide:{query}.{cue}" for query in queries)
    return Answer(words, expected, _at_query(scene, episode.inputs, episode.query, visible), edits=edits)


def _visible(scene: Scene, time: int) -> Bool[Tensor, "query source"]:
    """Give what the scene allows besides the model's own rules."""
    return torch.ones(time, time, dtype=torch.bool) if scene.visible is None else scene.visible[:time, :time]


def _reads_answer(scene: Scene, episode: Episode) -> bool:
    """Say whether what comes after RECALL, the answer first, may reach the prediction there."""
    after = episode.query + 1
    return not scene.is_causal and bool(_visible(scene, len(episode.inputs))[:after, after:].any())


def _reset(scene: Scene, episode: Episode) -> Answer:
    step = (episode.cue + 1 + episode.query) // 2
    words, expected = f"State: started afresh before step {step}", "a guess: the state that held the cue is gone"
    if not isinstance(scene.subject.model.encoder, RecurrentEncoder):
        return Answer(words, expected, reason="only a recurrent model carries a state from step to step")
    return Answer(words, expected, _at_query(scene, episode.inputs[step:], episode.query - step))


def _redrawn(scene: Scene, episode: Episode) -> Answer:
    ids, step = episode.inputs, torch.arange(len(episode.inputs))
    is_other = (ids < MOVES) & (step != episode.cue) & (step < episode.query)
    moves = torch.randint(MOVES, ids.shape, generator=torch.Generator().manual_seed(SEED))
    changed = torch.where(is_other, moves, ids)
    edits = tuple(
        f"token:{place}={TOKEN_WORDS[changed[place]]}" for place in (changed != ids).nonzero().flatten().tolist()
    )
    return Answer(
        "Moves: all others drawn anew", "the cue, as before", _at_query(scene, changed, episode.query), edits=edits
    )


def _with(ids: Int[Tensor, " time"], place: int, token: int) -> Int[Tensor, " time"]:
    changed = ids.clone()
    changed[place] = token
    return changed


def _at_query(
    scene: Scene, ids: Int[Tensor, " time"], query: int, visible: Bool[Tensor, "query source"] | None = None
) -> Float[Tensor, " tokens"]:
    """Give the probability of each token after the query, from the model as it stands in the scene."""
    model = scene.subject.model
    if visible is None and scene.visible is not None:
        visible = scene.visible[: len(ids), : len(ids)]
    options = {} if visible is None else {"visible": visible}
    with evaluation_mode(model), torch.no_grad():
        return model(ids.unsqueeze(0), **options).logits[0, query].softmax(dim=-1)


def interventions_part(scene: Scene, episode: Episode) -> Markup:
    """Show what the model answers under each intervention, before and after."""
    answers = interventions(scene, episode)
    cue = TOKEN_WORDS[episode.cue_id]
    columns = [
        Column("Changed", "left"),
        Column("Answers", "left"),
        *(Column(f"{TOKEN_WORDS[move]}{', the cue' if move == episode.cue_id else ''}") for move in range(MOVES)),
        Column("Any other token"),
        Column("If it uses the cue alone", "left", wraps=True),
    ]
    rows = [_row(scene, answer, answers[0], len(columns)) for answer in answers]
    notes = [
        "The answer is the most probable of the four moves. Below a probability stands its change from the first row.",
        "A link makes the same change an edit, with its gradients, in every view.",
    ]
    if _reads_answer(scene, episode):
        notes.append("With these edits RECALL may read the answer that stands after it: a right one need be no guess.")
    caption = f"Probability of each token after RECALL, where {cue} is right"
    told = (
        f"The cue is {cue} at step {episode.cue}, RECALL asks for it at step {episode.query}. A right answer does not "
        "say what it rests on: each row changes one thing about this very episode, and the model reads it again."
    )
    return fragments(paragraph(told), table_html(Table(caption, columns, [Group(rows)], notes)))


def _row(scene: Scene, answer: Answer, first: Answer, width: int) -> Row:
    words = _linked(scene, answer)
    if answer.probabilities is None or first.probabilities is None:
        return [words, Cell((f"not applicable: {answer.reason}",), "muted", width - 1)]
    before, after = (_five(one.probabilities) for one in (first, answer))
    classes = sequential().classes_of(after)
    is_first = answer is first
    shown = [
        Cell((format_number(now),) if is_first else (format_number(now), _change(now - then)), css_class=css_class)
        for then, now, css_class in zip(before, after, classes, strict=True)
    ]
    chosen = TOKEN_WORDS[max(range(MOVES), key=lambda move: after[move])]
    return [words, Cell((chosen,), "strong"), *shown, answer.expected]


def _five(probabilities: Float[Tensor, " tokens"] | None) -> list[float]:
    assert probabilities is not None
    values: list[float] = probabilities.tolist()
    return [*values[:MOVES], sum(values[MOVES:])]


def _change(difference: float) -> Markup:
    return element("small", None, format_signed(difference))


def _linked(scene: Scene, answer: Answer) -> str:
    edits = scene.address.edits
    for edit in answer.edits:
        edits = with_edit(edits, edit)
    if not answer.edits or len(edits) > limits.MOST_EDITS:
        return answer.words
    return element("a", {"href": scene.address.link(view="change", edits=edits)}, answer.words)
