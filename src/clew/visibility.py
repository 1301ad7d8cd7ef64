"""Who may read whom: plain bool tensors, True = this query may read this source.

`full`, `causal` and `windowed` give (query, source); `from_lengths`, `from_valid` and `from_documents` give (batch,
query, source). Combine them with `&`. Every other convention is converted once, at the border where it enters or
leaves: the `to_...` and `from_...` functions below name that border. Nothing else takes a float mask.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from clew.errors import ConfigError, ShapeError, complain
from clew.shapes import describe, valid_from_lengths

HIDDEN_AT_MOST = -1e4
"""What additive masks in use hold at hidden places: -inf, the lowest number of the type, or -10000."""


def full(time: int, sources: int | None = None, device: torch.device | None = None) -> Bool[Tensor, "query source"]:
    """Let every query read every source."""
    return torch.ones_like(_distances("full", time, sources, device), dtype=torch.bool)


def causal(time: int, sources: int | None = None, device: torch.device | None = None) -> Bool[Tensor, "query source"]:
    """Let a query read its own position and earlier ones.

    Args:
        time: Number of queries.
        sources: Number of sources, by default as many. With more, as when earlier keys come from a cache, the queries
            are the last positions: a single query then reads everything, not only the first source.
        device: Where the tensor is to be.

    Raises:
        ShapeError: If there are fewer sources than queries.

    >>> causal(2, sources=4).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]
    """
    return _distances("causal", time, sources, device) >= 0


def windowed(
    time: int, window: int, causal: bool = True, sources: int | None = None, device: torch.device | None = None
) -> Bool[Tensor, "query source"]:
    """Let a query read positions fewer than `window` steps away; its own position is the first of them.

    Args:
        time: Number of queries.
        window: Positions that a query reads backwards, its own included; as many forwards if not causal.
        causal: Whether later positions are hidden.
        sources: Number of sources; see `causal`.
        device: Where the tensor is to be.

    Raises:
        ConfigError: If the window is below 1.
        ShapeError: If there are fewer sources than queries.

    >>> windowed(3, window=2).int().tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """
    if window < 1:
        raise ConfigError(complain("windowed", "window", "at least 1, the position itself", window))
    distances = _distances("windowed", time, sources, device)
    return (distances < window) & (distances >= 0 if causal else distances > -window)


def _distances(where: str, time: int, sources: int | None, device: torch.device | None) -> Int[Tensor, "query source"]:
    """How many steps each source lies before each query; the last query stands at the last source."""
    sources = time if sources is None else sources
    if sources < time:
        remedy = "The queries are the last of the sources."
        raise ShapeError(complain(where, "sources", f"at least time={time}", sources, remedy))
    positions = torch.arange(sources, device=device)
    return positions[sources - time :].unsqueeze(1) - positions


def from_lengths(lengths: Tensor | Sequence[int], time: int) -> Bool[Tensor, "batch query source"]:
    """Let every query read the real steps of its row, the first `lengths[row]` ones.

    Raises:
        ShapeError: If a length is not a whole number in [1, time].
    """
    return from_valid(valid_from_lengths(lengths, time, "from_lengths"))


def from_valid(valid: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch query source"]:
    """Let every query read the real steps of its row.

    Queries at padding read them too: what they give is finite, means nothing and is for others to leave out.
    """
    batch, time = valid.shape
    return valid.unsqueeze(1).expand(batch, time, time)


def from_documents(document_ids: Int[Tensor, "batch time"]) -> Bool[Tensor, "batch query source"]:
    """Let the steps of one document read each other, where several are packed into a row.

    Args:
        document_ids: Which document a step belongs to. A negative id marks padding, which reads nothing and which
            nobody reads. Equal ids are one document, even with something between.

    >>> from_documents(torch.tensor([[0, 0, 1, -1]])).int().tolist()
    [[[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]]
    """
    is_same = document_ids.unsqueeze(2) == document_ids.unsqueeze(1)
    return is_same & (document_ids >= 0).unsqueeze(2)


def to_multihead_attention(
    visible: Bool[Tensor, "*batch query source"], heads: int | None = None
) -> Bool[Tensor, "*batch_heads query source"]:
    """Give `attn_mask` of torch.nn.MultiheadAttention and the Transformer layers of torch.nn, where True hides.

    Note that torch.nn.MultiheadAttention gives NaN for a query without any source if it is asked for weights.

    Args:
        visible: (query, source), or (batch, query, source), which is repeated for every head.
        heads: Number of heads; needed for three axes.

    Raises:
        ShapeError: If there are three axes and `heads` is missing, or another number of axes.
    """
    if visible.ndim == 2:
        return ~visible
    if visible.ndim != 3 or heads is None:
        got = f"{tuple(visible.shape)} with heads={heads}"
        rule = "(query, source), or (batch, query, source) with heads= given"
        raise ShapeError(complain("to_multihead_attention", "visible", rule, got))
    return (~visible).repeat_interleave(heads, dim=0)


def to_key_padding_mask(valid: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch time"]:
    """Give `key_padding_mask` or `src_key_padding_mask` of torch.nn, where True hides."""
    return ~valid


def to_scaled_dot_product_attention(
    visible: Bool[Tensor, "*batch query source"],
) -> Bool[Tensor, "*batch_heads query source"]:
    """Give `attn_mask` of torch's functional attention: the same meaning, with an axis for the heads."""
    return visible.unsqueeze(1) if visible.ndim == 3 else visible


def to_additive(
    visible: Bool[Tensor, "*batch query source"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*batch query source"]:
    """Give what is added to scores: 0 where a source may be read, -inf where not.

    Combine masks before this, as bool: sums of additive masks overflow in narrow types.
    """
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill_(~visible, -torch.inf)


def from_multihead_attention(attn_mask: Tensor, heads: int | None = None) -> Bool[Tensor, "*batch query source"]:
    """Read `attn_mask` of torch.nn.MultiheadAttention, where True hides.

    Args:
        attn_mask: (query, source), or (batch * heads, query, source).
        heads: Number of heads; needed for three axes. All heads must hide the same.

    Raises:
        ShapeError: If the mask is not bool, the axes do not fit, or heads differ.
    """
    _require_bool("from_multihead_attention", "attn_mask", attn_mask)
    if attn_mask.ndim == 2:
        return ~attn_mask
    if attn_mask.ndim != 3 or heads is None or len(attn_mask) % heads:
        got = f"{tuple(attn_mask.shape)} with heads={heads}"
        rule = "(query, source), or (batch * heads, query, source) with heads= given"
        raise ShapeError(complain("from_multihead_attention", "attn_mask", rule, got))
    by_head = attn_mask.unflatten(0, (-1, heads))
    if not torch.equal(by_head, by_head[:, :1].expand_as(by_head)):
        rule = "equal in all heads of a row"
        raise ShapeError(complain("from_multihead_attention", "attn_mask", rule, "a difference"))
    return ~by_head[:, 0]


def from_key_padding_mask(mask: Tensor) -> Bool[Tensor, "batch time"]:
    """Read `key_padding_mask` of torch.nn, where True hides; gives `valid`.

    Raises:
        ShapeError: If the mask is not bool.
    """
    _require_bool("from_key_padding_mask", "mask", mask)
    return ~mask


def from_attention_mask(mask: Tensor) -> Bool[Tensor, "batch time"]:
    """Read the `attention_mask` that Hugging Face tokenizers give, where 1 or True keeps; gives `valid`.

    Raises:
        ShapeError: If the mask is not of shape (batch, time), is not integer or bool, or holds anything but 0 and 1.
    """
    if mask.ndim != 2 or mask.is_floating_point():
        remedy = "A float mask is additive, 0 = keep: read it with from_additive." if mask.is_floating_point() else ""
        rule = "integers or bool of shape (batch, time), 1 = keep"
        raise ShapeError(complain("from_attention_mask", "mask", rule, describe(mask), remedy))
    wrong = ((mask != 0) & (mask != 1)).nonzero()
    if len(wrong):
        row, step = wrong[0].tolist()
        got = f"{mask[row, step].item()} at row {row}, step {step}"
        raise ShapeError(complain("from_attention_mask", "mask", "0 or 1 everywhere", got))
    return mask.bool()


def from_additive(mask: Tensor) -> Bool[Tensor, "*batch query source"]:
    """Read a mask that is added to scores: 0 may be read, -inf or at most -10000 is hidden.

    Raises:
        ShapeError: If the mask is not float, or holds anything else; a bias on scores is no mask.
    """
    if not mask.is_floating_point():
        raise ShapeError(complain("from_additive", "mask", "float, added to the scores", describe(mask)))
    wrong = (~((mask == 0) | (mask <= HIDDEN_AT_MOST))).nonzero()
    if len(wrong):
        place = tuple(wrong[0].tolist())
        remedy = "0 may be read and -inf is hidden; for 0/1 flags use from_attention_mask or bool."
        got = f"{mask[place].item():g} at {place}"
        raise ShapeError(complain("from_additive", "mask", "0, or at most -10000, everywhere", got, remedy))
    return mask == 0


def _require_bool(where: str, what: str, mask: Tensor) -> None:
    if mask.dtype == torch.bool:
        return
    remedy = "Read a float mask that is added with from_additive, integers with 1 = keep with from_attention_mask."
    raise ShapeError(complain(where, what, "bool, True = hidden", describe(mask), remedy))
