"""One attention head on the positioned rows, step by step: projections, scores, weights, outputs (Tables 10 to 15)."""

import torch
from jaxtyping import Float
from torch import Tensor

from clew.layers.attention_kernels import attention_step
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb import BEGINS, HEAD_ONE, LABELS, PREFIX, attention, embedded_rows, positioned_rows
from clew.walkthrough.proverb_tables import SOURCE, feature_table, pair_table, shape_text


def one_head() -> dict[str, Float[Tensor, "time ..."]]:
    """Compute every quantity of the first head, without its batch and head axes."""
    found = attention((HEAD_ONE,)).quantities(positioned_rows())
    names = ("query", "key", "value", "scores", "scaled_scores", "weights", "context")
    return {name: found[name][0, 0].detach() for name in names}


def contributions_to(query: int) -> Float[Tensor, "source value_dim"]:
    """Give what each source alone adds to a query's output: the head run with all other values at zero."""
    found = one_head()
    alone = torch.diag_embed(found["value"].T).permute(1, 2, 0).unsqueeze(1)  # (which source, 1, source, value_dim)
    queries, keys = (found[name].expand(len(PREFIX), 1, -1, -1) for name in ("query", "key"))
    return attention_step(queries, keys, alone).context[:, 0, query]


def head_route() -> Item:
    """Follow the shapes from token ids to the head's output."""
    found, layer = one_head(), attention((HEAD_ONE,))
    queries = layer.input_map.weight[: layer.head_dim]
    rows: list[list[Cell]] = [
        ["embeddings of the seven tokens", shape_text(embedded_rows()[0])],
        ["positioned rows", shape_text(positioned_rows()[0])],
        ["right multiplier of the queries", shape_text(queries.T)],
        ["queries", shape_text(found["query"])],
        ["keys, transposed", shape_text(found["key"].T)],
        ["scaled scores", shape_text(found["scaled_scores"])],
        ["weights", shape_text(found["weights"])],
        ["values", shape_text(found["value"])],
        ["output of the head", shape_text(found["context"])],
    ]
    notes = ("Positions are added once, before the head; the three projections read the same rows.",)
    title = "From embeddings to one head's output"
    return Item("head-route", title, "Figure 7", ("Stage", "Shape"), rows, notes)


def projected_queries() -> Item:
    """Project the rows to queries."""
    title = "Queries: what each position matches sources with"
    return feature_table("projected-queries", title, "Table 10", one_head()["query"])


def projected_keys() -> Item:
    """Project the rows to keys."""
    return feature_table("projected-keys", "Keys: what each source is matched by", "Table 11", one_head()["key"])


def projected_values() -> Item:
    """Project the rows to values."""
    return feature_table("projected-values", "Values: what each source hands over", "Table 12", one_head()["value"])


def begins_dot_product() -> Item:
    """Spell out the dot product of the begins query with the first key."""
    found = one_head()
    query, key = found["query"][BEGINS], found["key"][0]
    rows: list[list[Cell]] = [
        [f"Feature {feature}", *parts]
        for feature, parts in enumerate(zip(query.tolist(), key.tolist(), (query * key).tolist(), strict=True))
    ]
    rows.append(["Raw score", None, None, found["scores"][BEGINS, 0].item()])
    rows.append(["Divided by the root of 3", None, None, found["scaled_scores"][BEGINS, 0].item()])
    columns = ("Step", "q_6", "k_0", "Product")
    notes = ("The raw score is the layer's own; the three products above it add up to it.",)
    title = "The begins query meets the first key"
    return Item("begins-dot-product", title, "Formula: dot product and scale", columns, rows, notes)


def begins_scores() -> Item:
    """Score all sources for the begins query and normalize."""
    found = one_head()
    parts = [found[name][BEGINS].tolist() for name in ("scores", "scaled_scores", "weights")]
    columns = (SOURCE, "Raw dot product", "S_6j", "A_6j")
    rows = [list(row) for row in zip(LABELS, *parts, strict=True)]
    notes = (f"The weights add up to {sum(parts[2]):.15g}.",)
    return Item("begins-scores", "Begins scores the seven sources", "Table 13", columns, rows, notes)


def begins_contributions() -> Item:
    """Weigh each source's whole value vector."""
    title = "What each source adds to the output of begins"
    values = contributions_to(BEGINS)
    return feature_table("begins-contributions", title, "Table 14", values, first=SOURCE, word="Contribution")


def begins_output_sum() -> Item:
    """Put the layer's output below the contributions that it is the sum of."""
    found, title = one_head(), "Contributions and their sum"
    stacked = torch.cat((contributions_to(BEGINS), found["context"][BEGINS : BEGINS + 1]))
    labels = (*LABELS, "sum o_6")
    caption = "Seven weighted value vectors; read down a column. The last row is the head's output for begins."
    return feature_table("begins-output-sum", title, "Figure 8", stacked, labels, SOURCE, caption=caption)


def scores_of_all_queries() -> Item:
    """Score every source for every query."""
    title, scores = "Scaled scores of all queries", one_head()["scaled_scores"]
    caption = "Scores before the softmax: they may be negative, and nothing makes a row add up to one."
    return pair_table("scores-of-all-queries", title, "Figure 9", scores, is_weight=False, caption=caption)


def weights_of_all_queries() -> Item:
    """Normalize every query's scores over the sources."""
    title, weights = "Weights of all queries", one_head()["weights"]
    caption = "Weights after the softmax: each row adds up to one over the seven sources. The last row is begins."
    return pair_table("weights-of-all-queries", title, "Figure 10", weights, caption=caption)


def head_outputs() -> Item:
    """Mix the values for all queries."""
    return feature_table("head-outputs", "Output rows of the head", "Table 15", one_head()["context"])


def what_weights_multiply() -> Item:
    """Count what seven weights index and what they multiply."""
    found = one_head()
    weights, part = found["weights"][BEGINS], contributions_to(BEGINS)[2]
    rows: list[list[Cell]] = [
        ["weights of the begins query", len(weights)],
        ["source positions", len(found["value"])],
        ["sum of the weights over sources", weights.sum().item()],
        ["A_62, the weight of source 2: of", weights[2].item()],
        *([f"A_62 times feature {feature} of v_2", value] for feature, value in enumerate(part.tolist())),
        ["features of the output row", found["context"].shape[1]],
    ]
    title = "Seven weights, three features"
    chapter = "Pause: what do the seven weights multiply?"
    return Item("what-weights-multiply", title, chapter, ("Quantity", "Value"), rows)


ITEMS: tuple[Builder, ...] = (
    head_route,
    projected_queries,
    projected_keys,
    projected_values,
    begins_dot_product,
    begins_scores,
    begins_contributions,
    begins_output_sum,
    scores_of_all_queries,
    weights_of_all_queries,
    head_outputs,
    what_weights_multiply,
)
