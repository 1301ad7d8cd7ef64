"""Free-running figures follow the model's own tokens, teacher-forced ones those of the text."""

import torch

from clew.data.batch import Batch
from clew.models import build
from clew.models.sequence_model import SequenceModel
from clew.runs.free_running import LEAST_PROMPT, PROMPTS, TOKENS, free_running

TIME = LEAST_PROMPT + TOKENS + 3


def counting() -> SequenceModel:
    """A model that always says the id after the one it reads, of five: h = embedding, no memory."""
    model = build("rnn", vocab=5, outputs=5, hidden=5, activation="identity")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.inputs.embedding.weight.copy_(torch.eye(5))
        model.encoder.recurrent[0].weight_ih.copy_(torch.eye(5))
        model.head.linear.weight.copy_(torch.eye(5).roll(1, 0))
    return model


def test_a_model_that_knows_the_text_is_right_in_both() -> None:
    ids = (torch.arange(TIME) + torch.arange(6).unsqueeze(1)) % 5
    found = free_running(counting(), Batch(ids))
    assert found is not None
    assert (found["prompts"], found["accuracy"], found["teacher_forced_accuracy"]) == (6, 1.0, 1.0)


def test_after_one_wrong_token_only_the_text_brings_it_back() -> None:
    """In the text one id is left out in the middle of what is scored: free running is wrong ever after."""
    place = TIME - TOKENS // 2
    ids = torch.arange(TIME)
    ids[place:] += 1
    found = free_running(counting(), Batch((ids % 5).repeat(3, 1)))
    assert found is not None
    assert found["accuracy"] == 0.5 and found["first_accuracy"] == 1.0
    assert found["teacher_forced_accuracy"] == 1 - 1 / TOKENS


def test_short_windows_and_packed_documents_are_left_out() -> None:
    ids = torch.zeros(4, TIME, dtype=torch.long)
    assert free_running(counting(), Batch(ids[:, : LEAST_PROMPT + TOKENS - 1])) is None
    documents = torch.zeros_like(ids)
    documents[:3, 20:] = 1
    found = free_running(counting(), Batch(ids, None, None, documents))
    assert found is not None and found["prompts"] == 1


def test_at_most_so_many_prompts_are_taken() -> None:
    found = free_running(counting(), Batch(torch.zeros(3 * PROMPTS, TIME, dtype=torch.long)))
    assert found is not None and found["prompts"] == PROMPTS
