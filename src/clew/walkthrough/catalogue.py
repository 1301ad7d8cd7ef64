"""All items of the worked example in reading order, in parts, and the way to one of them by its identifier.

An item is made when it is asked for; the others are not. Start with `build_items`.
"""

from dataclasses import dataclass

from clew.errors import ConfigError, complain, did_you_mean
from clew.walkthrough import (
    activation_slopes,
    attention_confusions,
    attention_cost,
    attention_exercises,
    clipping,
    encoder_block,
    gru_by_hand,
    images,
    lstm_by_hand,
    matrix_paths,
    next_tokens,
    one_head,
    padding_rules,
    path_sensitivity,
    pytorch_example,
    recall_results,
    recurrent_confusions,
    scalar_rnn,
    scalar_variants,
    score_scale,
    sequence_tasks,
    stacks,
    task_heads,
    tokens,
    two_heads,
    vector_rnn,
    visibility_rules,
)
from clew.walkthrough.items import Builder, Item, id_of


@dataclass(frozen=True)
class Part:
    """A stretch of the worked example under one heading; `identifier` is its address on a page."""

    identifier: str
    heading: str
    builders: tuple[Builder, ...]


TOKENS = tuple(builder for builder in tokens.ITEMS if builder != tokens.rise_and_fall)  # that one comes first of all
CONFUSIONS = (
    *recurrent_confusions.ITEMS,
    *attention_confusions.ITEMS,
    *recurrent_confusions.AFTER_ATTENTION,
)
EXERCISES = (*scalar_variants.EXERCISES, *path_sensitivity.EXERCISES, *attention_exercises.ITEMS)

PARTS: tuple[Part, ...] = (
    Part("order", "Order and available context", (tokens.rise_and_fall, *sequence_tasks.ITEMS)),
    Part("scalar", "A recurrent model of one number", scalar_rnn.ITEMS),
    Part("products", "Products along a path, activations", (*path_sensitivity.ITEMS, *activation_slopes.ITEMS)),
    Part("update", "An update", scalar_rnn.UPDATE),
    Part("vectors", "Vectors", (*vector_rnn.FORWARD, *scalar_variants.BIASES, *vector_rnn.BACKWARD)),
    Part("targets-everywhere", "A target at every position", scalar_variants.ITEMS),
    Part("matrices", "Matrix paths", matrix_paths.ITEMS),
    Part("paths", "Path length and saturation", path_sensitivity.FIGURE),
    Part("clipping", "Clipping", clipping.ITEMS),
    Part("gates", "Gated memory", (*gru_by_hand.ITEMS, *lstm_by_hand.ITEMS)),
    Part("pytorch", "The PyTorch example", pytorch_example.ITEMS),
    Part("tokens", "Tokens, embeddings, positions", TOKENS),
    Part("head", "One attention head", (*one_head.ITEMS, *score_scale.ITEMS)),
    Part("visibility", "What a query may read", visibility_rules.ITEMS),
    Part("heads", "Two heads, joined", two_heads.ITEMS),
    Part("block", "A pre-norm encoder block", encoder_block.ITEMS),
    Part("stacks", "Depth, order, residual paths", stacks.ITEMS),
    Part("task-heads", "Task heads and padding", (*task_heads.ITEMS, *padding_rules.ITEMS)),
    Part("generation", "Next-token targets and generation", next_tokens.ITEMS),
    Part("evidence", "What an experiment shows", recall_results.ITEMS),
    Part("cost", "Cost of attention", attention_cost.ITEMS),
    Part("images", "Images as tokens", images.ITEMS),
    Part("confusions", "Twelve confusions", CONFUSIONS),
    Part("exercises", "Six exercises", EXERCISES),
)


def known_ids() -> list[str]:
    """List the identifiers of all items in reading order."""
    return [id_of(builder) for part in PARTS for builder in part.builders]


def build_items(only: str | None = None) -> list[Item]:
    """Make all items in reading order, or the one of an identifier.

    Raises:
        ConfigError: If there is no item of that identifier.
    """
    if only is None:
        return [_built(builder) for part in PARTS for builder in part.builders]
    found = [builder for part in PARTS for builder in part.builders if id_of(builder) == only]
    if not found:
        remedy = did_you_mean(only, known_ids())
        raise ConfigError(complain("walkthrough", "item", "a known one", f"'{only}'", remedy))
    return [_built(builder) for builder in found]


def _built(builder: Builder) -> Item:
    item = builder()
    assert item.id == id_of(builder), f"{item.id} is made by {id_of(builder)}"
    return item
