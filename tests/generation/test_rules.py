"""Sampling rules: each against a plain twin in Python floats, drawn frequencies, and errors."""

import math

import pytest
import torch
from torch import Tensor

from clew.errors import ConfigError, DataError
from clew.generation import Choice, forbid, keep_top_k, keep_top_p, pick

ROWS = 6


def scores(ids: int = 9) -> Tensor:
    found = torch.randn(ROWS, ids, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2
    found[1, 3] = found[1, 5] = found[1].max()  # ties
    found[2] = 0.25
    return found


def softmax(row: list[float]) -> list[float]:
    greatest = max(row)
    parts = [math.exp(score - greatest) for score in row]
    return [part / sum(parts) for part in parts]


def by_rank(row: list[float]) -> list[int]:
    return sorted(range(len(row)), key=lambda place: (-row[place], place))


def dropped(row: list[float], kept: set[int]) -> list[float]:
    return [score if place in kept else -math.inf for place, score in enumerate(row)]


def twin_top_p(row: list[float], mass: float) -> list[float]:
    probabilities, kept, total = softmax(row), set(), 0.0
    for place in by_rank(row):
        if kept and total >= mass:
            break
        kept.add(place)
        total += probabilities[place]
    return dropped(row, kept)


@pytest.mark.parametrize("count", [1, 2, 5, 9, 30])
def test_top_k_keeps_that_many_and_of_equal_scores_the_lower_ids(count: int) -> None:
    for row, found in zip(scores().tolist(), keep_top_k(scores(), count).tolist(), strict=True):
        assert found == dropped(row, set(by_rank(row)[:count]))


@pytest.mark.parametrize("mass", [1e-9, 0.3, 0.5, 0.9, 0.9999])
def test_top_p_keeps_the_fewest_ids_that_reach_the_mass(mass: float) -> None:
    for row, found in zip(scores().tolist(), keep_top_p(scores(), mass).tolist(), strict=True):
        assert found == twin_top_p(row, mass)


def test_a_mass_of_one_drops_nothing() -> None:
    assert torch.equal(keep_top_p(scores(), 1.0), scores())


def test_forbidden_ids_are_dropped() -> None:
    found = forbid(scores(), (0, 4))
    assert bool((found[:, [0, 4]] == -torch.inf).all())
    assert torch.equal(found[:, [1, 2, 3, 5, 6, 7, 8]], scores()[:, [1, 2, 3, 5, 6, 7, 8]])


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_rules_follow_each_other_in_the_stated_order(temperature: float) -> None:
    choice = Choice("sample", temperature, top_k=5, top_p=0.8, forbidden=(2,))
    for row, found in zip(scores().tolist(), choice.probabilities(scores()).tolist(), strict=True):
        scaled = [score / temperature for score in dropped(row, set(range(9)) - {2})]
        scaled = twin_top_p(dropped(scaled, set(by_rank(scaled)[:5])), 0.8)
        assert found == pytest.approx(softmax(scaled), abs=1e-14)


def test_greedy_takes_the_first_of_the_most_probable_that_are_allowed() -> None:
    found = Choice(forbidden=(3,)).probabilities(scores())
    for row, chosen in zip(scores().tolist(), found.argmax(dim=-1).tolist(), strict=True):
        assert chosen == by_rank(dropped(row, set(range(9)) - {3}))[0]
    assert found.sum(dim=-1).tolist() == [1.0] * ROWS


def test_pick_inverts_the_distribution_and_never_draws_the_impossible() -> None:
    probabilities = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64)
    for uniform, expected in ((0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1 - 2**-53, 4)):
        drawn = pick(probabilities.unsqueeze(0), torch.tensor([uniform], dtype=torch.float64))
        assert drawn.tolist() == [expected]


def test_drawn_ids_come_as_often_as_their_probability_says() -> None:
    probabilities = Choice("sample", 0.8, top_k=4).probabilities(scores()[:1])
    uniform = torch.rand(20_000, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    counts = torch.bincount(pick(probabilities.expand(20_000, -1), uniform), minlength=9) / 20_000
    spread = (probabilities[0] * (1 - probabilities[0]) / 20_000).sqrt()
    assert bool(((counts - probabilities[0]).abs() <= 4 * spread).all())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rule": "gredy"}, "generate: rule must be 'greedy' or 'sample', got 'gredy'. Did you mean 'greedy'?"),
        ({"rule": "sample", "temperature": 0.0}, "generate: temperature must be greater than 0 and finite, got 0.0."),
        ({"rule": "sample", "temperature": -1.0}, "generate: temperature must be greater than 0 and finite, got -1.0."),
        (
            {"rule": "sample", "temperature": math.nan},
            "generate: temperature must be greater than 0 and finite, got nan.",
        ),
        ({"rule": "sample", "top_k": 0}, "generate: top_k must be at least 1, or left out, got 0."),
        ({"rule": "sample", "top_p": 1.5}, "generate: top_p must be in (0, 1], or left out, got 1.5."),
        (
            {"top_k": 3, "temperature": 2.0},
            "generate: temperature, top_k must be left out for rule='greedy', got a value.",
        ),
    ],
)
def test_wrong_options_are_one_clear_line(options: dict, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Choice(**options)
    assert str(raised.value).startswith(said)


def test_scores_that_are_not_numbers_are_told() -> None:
    broken = scores()
    broken[1, 2] = torch.nan
    with pytest.raises(DataError, match="scores must be numbers below infinity, got nan for id 2 of row 1"):
        Choice().probabilities(broken)
