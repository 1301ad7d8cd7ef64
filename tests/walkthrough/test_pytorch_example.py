"""The PyTorch example against its published output."""

import torch

from clew.walkthrough import pytorch_example
from clew.walkthrough.rounding import round_to_three
from walkthrough import recurrent_published as published
from walkthrough.reading import rows_by_label


def test_the_pytorch_example_prints_the_published_lines() -> None:
    rows = rows_by_label(pytorch_example.pytorch_example())
    assert {
        name: [round_to_three(value) for value in values] for name, values in rows.items()
    } == published.PYTORCH_LINES


def test_the_printed_lines_are_the_texts_to_the_letter() -> None:
    assert "\n".join(str(row[-1]) for row in pytorch_example.pytorch_example().rows) == published.PYTORCH_OUTPUT


def test_the_example_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state()
    pytorch_example.pytorch_example()
    assert torch.equal(torch.get_rng_state(), before)
