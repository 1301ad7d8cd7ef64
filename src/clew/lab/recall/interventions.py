"""Interventions on a trained model: does it use what it needs, and nothing else?

Each changes one thing about the test episodes or about what the model may read, and looks at the answer to the recall
query. The changed episodes depend on the generator alone, so that equal seeds give every model the same ones. What a
kind of model cannot undergo is reported as not applicable, with the reason.

An answer is the most probable of the four moves. So a model that copies a blank in place of the cue is asked which move
it would rather give, and no knowledge of the cue scores 1/4 and neither more nor less.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from clew.data.batch import Batch
from clew.data.recall_episodes import BOS, MOVES, cue_places, sample_episodes
from clew.errors import ConfigError, complain
from clew.models.recurrent_encoder import RecurrentEncoder
from clew.models.sequence_model import SequenceModel
from clew.models.transformer_encoder import TransformerEncoder
from clew.tasks.cue_recall import CueRecall
from clew.tasks.task import Task, evaluation_mode

CHUNK = 512
SEED = 62064
AT_CHANCE = "accuracy near 1/4: the cue is out of reach; a higher one would mean that the answer is read elsewhere"


@dataclass(frozen=True)
class Intervention:
    """What one intervention did to the answers.

    Attributes:
        intervention: Its name.
        applicable: False where this kind of model cannot undergo it.
        reason: Why not; None where it is applicable.
        accuracy: Fraction of answers equal to the original cue.
        followed: Fraction of answers that the intervention should lead to: the new cue after a swap, the answer given
            before after a change of moves; None where no answer is to be expected.
        expected: What a model that uses the cue, and only the cue, does.
    """

    intervention: str
    applicable: bool
    reason: str | None
    accuracy: float | None
    followed: float | None
    expected: str


def intervene(model: nn.Module, task: Task, test: Batch) -> list[dict[str, Any]]:
    """Run every intervention with the seed that all runs of a comparison share.

    Raises:
        ConfigError: If the task is not cue recall.
    """
    if not isinstance(task, CueRecall):
        raise ConfigError(complain("intervene", "task", "'cue_recall'", f"'{task.name}'"))
    return run_interventions(model, task, test, torch.Generator().manual_seed(SEED))


def run_interventions(
    model: nn.Module, task: CueRecall, test: Batch, generator: torch.Generator, reset_step: int | None = None
) -> list[dict[str, Any]]:
    """Run every intervention on a selected model.

    Args:
        model: A trained model; evaluation mode is set for the time being.
        task: The task that it was trained on.
        test: Episodes of that task.
        generator: Draws the new cues, moves and episodes.
        reset_step: Input step before which the state is reset; by default half-way between cue and query.

    Raises:
        ConfigError: If `reset_step` is not a step up to the query.
    """
    task.align(test)
    results = [
        swap_cue(model, task, test, generator),
        blank_cue(model, task, test),
        resample_distractors(model, task, test, generator),
        reset_state(model, task, test, reset_step),
        hide_cue(model, task, test),
        *(run_at_delay(model, task, other, test, generator) for other in other_delays(task.delay)),
    ]
    return [asdict(result) for result in results]


def swap_cue(model: nn.Module, task: CueRecall, test: Batch, generator: torch.Generator) -> Intervention:
    """Put another cue in the place of the cue; the answer must become the new one."""
    inputs, cues = _inputs_and_cues(task, test)
    others = (cues + _random_moves(cues.shape, generator, low=1).to(cues.device)) % MOVES
    answers = _answers(model, task, _with_cue(inputs, others))
    expected = "followed near 1 and accuracy near 0: the answer is the new cue"
    return _result("swap_cue", answers == cues, answers == others, expected)


def blank_cue(model: nn.Module, task: CueRecall, test: Batch) -> Intervention:
    """Put BOS in the place of the cue: a token whose row is trained and which names no move.

    EOS would be a row that no input ever trained, and RECALL a second request. Any token does for the test, since the
    cue is then nowhere before the query.
    """
    inputs, cues = _inputs_and_cues(task, test)
    answers = _answers(model, task, _with_cue(inputs, torch.full_like(cues, BOS)))
    return _result("blank_cue", answers == cues, None, AT_CHANCE)


def resample_distractors(model: nn.Module, task: CueRecall, test: Batch, generator: torch.Generator) -> Intervention:
    """Draw all moves but the cue anew; the answer must stay as it was."""
    inputs, cues = _inputs_and_cues(task, test)
    moves = _random_moves(inputs.shape, generator).to(inputs.device)
    step = torch.arange(inputs.shape[1], device=inputs.device)
    is_distractor = (inputs < MOVES) & (step < task.query) & (step != cue_places(inputs).unsqueeze(1))
    answers = _answers(model, task, torch.where(is_distractor, moves, inputs))
    expected = "accuracy unmoved and followed near 1: the answer does not depend on the moves"
    return _result("resample_distractors", answers == cues, answers == _answers(model, task, inputs), expected)


def reset_state(model: nn.Module, task: CueRecall, test: Batch, step: int | None = None) -> Intervention:
    """Start afresh from a step, so that nothing before it is remembered.

    Raises:
        ConfigError: If `step` is not in [1, query].
    """
    inputs, cues = _inputs_and_cues(task, test)
    last_cue = int(cue_places(inputs).max())
    step = (last_cue + 1 + task.query) // 2 if step is None else step
    if not 1 <= step <= task.query:
        raise ConfigError(complain("reset_state", "step", f"in [1, query={task.query}]", step))
    name = f"reset_state_before_step_{step}"
    if not isinstance(_encoder(model), RecurrentEncoder):
        return _not_applicable(name, "only a recurrent encoder carries a state from step to step", AT_CHANCE)
    answers = _answers(model, task, inputs[:, step:], query=task.query - step)
    is_forgotten = step > last_cue
    expected = AT_CHANCE if is_forgotten else "accuracy unmoved where the cue comes after the reset"
    return _result(name, answers == cues, None, expected)


def hide_cue(model: nn.Module, task: CueRecall, test: Batch) -> Intervention:
    """Hide the cue from all later queries, in every block; the cue may still read itself."""
    if not isinstance(_encoder(model), TransformerEncoder):
        reason = "only attention has a mask; the state of a recurrent model is its one path, see reset_state"
        return _not_applicable("hide_cue", reason, AT_CHANCE)
    inputs, cues = _inputs_and_cues(task, test)
    step = torch.arange(inputs.shape[1], device=inputs.device)
    is_cue = step == cue_places(inputs).unsqueeze(1)
    visible = ~is_cue.unsqueeze(1) | (step.unsqueeze(1) == step)
    answers = _answers(model, task, inputs, visible=visible)
    return _result("hide_cue", answers == cues, None, AT_CHANCE)


def run_at_delay(
    model: nn.Module, task: CueRecall, delay: int, test: Batch, generator: torch.Generator
) -> Intervention:
    """Ask for the cue after another delay than the trained one, on as many fresh episodes."""
    name = f"run_at_delay_{delay}"
    expected = f"no promise: the model was trained at delay {task.delay} only; at best accuracy stays as it was"
    other = CueRecall(delay, task.cue_position)
    count = MOVES * max(1, len(test) // MOVES)
    episodes = sample_episodes(count, delay, generator, task.cue_position)
    table = _position_table(model)
    if table is not None and other.input_steps > table:
        reason = f"delay {delay} has {other.input_steps} input steps, the position table {table} rows"
        return _not_applicable(name, reason, expected)
    inputs, cues = _inputs_and_cues(other, Batch(episodes.to(test.inputs.device)))
    return _result(name, _answers(model, other, inputs) == cues, None, expected)


def other_delays(delay: int) -> list[int]:
    """Half and twice the trained delay, where these are delays.

    >>> other_delays(8), other_delays(1)
    ([4, 16], [2])
    """
    return [other for other in (delay // 2, 2 * delay) if other >= 1]


def _inputs_and_cues(task: CueRecall, test: Batch) -> tuple[Int[Tensor, "episodes time"], Int[Tensor, " episodes"]]:
    inputs = task.align(test).inputs
    return inputs, inputs.gather(1, cue_places(inputs).unsqueeze(1)).squeeze(1)


def _with_cue(inputs: Int[Tensor, "episodes time"], cues: Int[Tensor, " episodes"]) -> Int[Tensor, "episodes time"]:
    return inputs.scatter(1, cue_places(inputs).unsqueeze(1), cues.unsqueeze(1))


def _random_moves(shape: tuple[int, ...], generator: torch.Generator, low: int = 0) -> Int[Tensor, "..."]:
    return torch.randint(low, MOVES, shape, generator=generator)


def _answers(
    model: nn.Module,
    task: CueRecall,
    inputs: Int[Tensor, "episodes time"],
    query: int | None = None,
    visible: Bool[Tensor, "episodes query source"] | None = None,
) -> Int[Tensor, " episodes"]:
    """Give the most probable move at the query."""
    query = task.query if query is None else query
    answers = []
    with evaluation_mode(model), torch.no_grad():
        for start in range(0, len(inputs), CHUNK):
            part = slice(start, start + CHUNK)
            options = {} if visible is None else {"visible": visible[part]}
            answers.append(model(inputs[part], **options).logits[:, query, :MOVES].argmax(dim=-1))
    return torch.cat(answers)


def _encoder(model: nn.Module) -> nn.Module | None:
    return model.encoder if isinstance(model, SequenceModel) else None


def _position_table(model: nn.Module) -> int | None:
    """Rows of the model's position table; None where it has none."""
    positions = getattr(_encoder(model), "positions", None)
    return None if positions is None else positions.max_positions


def _result(
    name: str,
    is_cue: Bool[Tensor, " episodes"],
    is_followed: Bool[Tensor, " episodes"] | None,
    expected: str,
) -> Intervention:
    followed = None if is_followed is None else is_followed.double().mean().item()
    return Intervention(name, True, None, is_cue.double().mean().item(), followed, expected)


def _not_applicable(name: str, reason: str, expected: str) -> Intervention:
    return Intervention(name, False, reason, None, None, expected)
