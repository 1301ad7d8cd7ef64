"""Multi-head self-attention: every position builds a row from the positions that it may read.

Start with `MultiHeadAttention`; the equations of a head are `attention_step` in `clew.layers.attention_kernels`. Who
may read whom is a bool tensor from `clew.visibility`. Padding, causality and positions are not known here.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from clew.errors import ConfigError, complain
from clew.layers.attention_kernels import attention_step, derived_context, fused_context
from clew.layers.dropout import Dropout
from clew.layers.linear import Linear
from clew.ledger import recording
from clew.ledger.description import Described
from clew.shapes import resolve_visible

NARROW_HEAD = 8
DERIVED_PAIRS = (60_000, 3_000_000)
"""Where the derived kernel was measured faster than the fused one, forward and backward on one thread of a CPU: heads
at most that wide, and (query, source) pairs of all rows and heads in that range. At batch 64, two heads of six and 36
steps it takes about half the time; with wide heads, or so many pairs that they leave the cache, up to twice."""

SOURCE = "Vaswani et al. 2017, arXiv:1706.03762, section 3.2"
Kernel = Literal["derived", "fused", "explicit"]


class KeysValues(NamedTuple):
    """What a layer keeps of the steps that it has read, so that later steps can read them."""

    key: Float[Tensor, "batch heads source head_dim"]
    value: Float[Tensor, "batch heads source value_dim"]


class MultiHeadAttention(nn.Module):
    """Self-attention with several heads, whose widths need not divide the width of the rows.

        Q, K, V = x W_Q' + b_Q, x W_K' + b_K, x W_V' + b_V        split into heads
        C = softmax(Q K' / sqrt(head_dim)) V                      for each head, over the visible sources
        y = [C of head 1 | C of head 2 | ...] W_O' + b_O

    Attributes:
        input_map: The three maps as one: all heads' queries, then keys, then values.
        output_map: From the joined heads back to the width.
        weights_dropout: Dropout on the attention weights.
    """

    described: ClassVar[Mapping[str, Described]] = {
        "query": Described(("batch", "heads", "time", "head_dim"), "Q = x W_Q' + b_Q", SOURCE),
        "key": Described(("batch", "heads", "time", "head_dim"), "K = x W_K' + b_K", SOURCE),
        "value": Described(("batch", "heads", "time", "value_dim"), "V = x W_V' + b_V", SOURCE),
        "scores": Described(("batch", "heads", "query", "source"), "R = Q K'", SOURCE),
        "scaled_scores": Described(("batch", "heads", "query", "source"), "S = R / sqrt(head_dim)", SOURCE),
        "weights": Described(
            ("batch", "heads", "query", "source"), "A = exp(S) / sum over visible sources of exp(S)", SOURCE
        ),
        "factor": Described(("batch", "heads", "query", "source"), "m = 0 or 1 / (1 - fraction), as drawn"),
        "context": Described(("batch", "heads", "time", "value_dim"), "C = A V", SOURCE),
        "joined": Described(("batch", "time", "joined"), "[C of head 1 | C of head 2 | ...]", SOURCE),
        "output": Described(("batch", "time", "features"), "0 for a query that reads nothing"),
    }

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int | None = None,
        value_dim: int | None = None,
        generator: torch.Generator | None = None,
        dropout: float = 0.0,
    ) -> None:
        """Make the layer with the initial distribution of torch.nn.MultiheadAttention.

        Args:
            width: Features of a row.
            heads: Number of heads.
            head_dim: Features of a query and of a key in one head; by default width / heads.
            value_dim: Features of a value in one head; by default as many.
            generator: Draws the initial weights; by default a new one seeded with 0.
            dropout: Fraction of the weights dropped while training.

        Raises:
            ConfigError: If a size is below 1, or `head_dim` is left out and `heads` does not divide `width`.
        """
        super().__init__()
        self.width, self.heads = width, heads
        self.head_dim = _default_head_dim(width, heads) if head_dim is None else head_dim
        self.value_dim = self.head_dim if value_dim is None else value_dim
        if min(width, heads, self.head_dim, self.value_dim) < 1:
            got = f"width={width}, heads={heads}, head_dim={self.head_dim}, value_dim={self.value_dim}"
            raise ConfigError(complain("MultiHeadAttention", "sizes", "at least 1", got))
        generator = generator if generator is not None else torch.Generator().manual_seed(0)
        self.input_map = Linear(width, heads * (2 * self.head_dim + self.value_dim), generator=generator)
        self.output_map = Linear(heads * self.value_dim, width, generator=generator)
        self.weights_dropout = Dropout(dropout)
        nn.init.xavier_uniform_(self.input_map.weight, generator=generator)
        for linear in (self.input_map, self.output_map):
            assert linear.bias is not None
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        rows: Float[Tensor, "batch time width"],
        visible: Shaped[Tensor, "*batch query source"] | None = None,
        kernel: Kernel | None = None,
    ) -> Float[Tensor, "batch time width"]:
        """Mix rows.

        Args:
            rows: Finite values; a hidden source gets a weight of zero, and zero times NaN is NaN.
            visible: True where a query may read a source, (query, source) or (batch, query, source); None if nothing
                is hidden. A query that may read nothing gives a row of zeros and takes no part in any gradient.
            kernel: How to compute; by default the fastest for the device. Dropout needs "explicit".

        Raises:
            ShapeError: If `visible` is not bool or does not fit the rows.
            ConfigError: If another kernel than "explicit" is asked for while dropout is active.
        """
        batch, time, _ = rows.shape
        visible = resolve_visible("MultiHeadAttention", visible, batch, time)
        return self._mix(rows, visible, self._choose_kernel(rows, kernel), None)[0]

    def extend(
        self,
        rows: Float[Tensor, "batch time width"],
        visible: Bool[Tensor, "*batch time source"] | None = None,
        past: KeysValues | None = None,
    ) -> tuple[Float[Tensor, "batch time width"], KeysValues]:
        """Mix new rows with each other and with earlier ones, of which keys and values were kept.

        Args:
            rows: The new rows, the last of the sources.
            visible: True where a new row may read a source, earlier ones first; None if nothing is hidden.
            past: Keys and values of the earlier rows; None if there are none.

        Returns:
            What the new rows become, and keys and values of all rows.
        """
        return self._mix(rows, visible, "explicit" if self.weights_dropout.is_active else "fused", past)

    def _mix(
        self, rows: Tensor, visible: Tensor | None, kernel: Kernel, past: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        mapped = self.input_map(rows)
        earlier = {} if past is None else {"past_key": past.key, "past_value": past.value}
        query, key, value = self._sources(mapped, earlier)
        reads = _reads_something(visible)
        factor = self._draw_factor(query, key) if self.weights_dropout.is_active else None
        if kernel == "explicit":
            context = attention_step(query, key, value, visible, factor).context
        else:
            run = derived_context if kernel == "derived" else fused_context
            context = run(query, key, value, visible if reads is None or visible is None else visible | ~reads)
        joined = _join_heads(context)
        if recording.is_on():
            facts = {"visible": visible, "factor": factor, "filled": reads}
            recording.report(self, "", {"mapped": mapped, **earlier}, {"joined": joined}, **facts)
        return self._hide(self.output_map(joined), reads), KeysValues(key, value)

    def named(self, part: str, inputs: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
        """Explain a call to the ledger: what lies between the two maps, or the rows of queries that read nothing."""
        if part == "hide":
            return {"output": inputs["rows"].masked_fill(~facts["reads"], 0)}
        query, key, value = self._sources(inputs["mapped"], inputs)
        step = attention_step(query, key, value, facts["visible"], facts["factor"])
        drawn = {} if facts["factor"] is None else {"factor": facts["factor"]}
        named = {"query": query, "key": key, "value": value, **step._asdict(), **drawn}
        return named | {"joined": _join_heads(step.context)}

    def quantities(
        self, rows: Float[Tensor, "batch time width"], visible: Shaped[Tensor, "*batch query source"] | None = None
    ) -> dict[str, Tensor]:
        """Compute every quantity from the equations, without dropout.

        Returns:
            query, key (batch, heads, time, head_dim), value, context (batch, heads, time, value_dim), scores,
            scaled_scores, weights (batch, heads, query, source), joined (batch, time, heads * value_dim) and output
            (batch, time, width). Scores are those of hidden sources too.
        """
        batch, time, _ = rows.shape
        visible = resolve_visible("MultiHeadAttention", visible, batch, time)
        query, key, value = self._split(self.input_map(rows))
        step = attention_step(query, key, value, visible)
        joined = _join_heads(step.context)
        output = self._hide(self.output_map(joined), _reads_something(visible))
        return {"query": query, "key": key, "value": value, **step._asdict(), "joined": joined, "output": output}

    def _choose_kernel(self, rows: Tensor, asked: Kernel | None) -> Kernel:
        if self.weights_dropout.is_active:
            if asked not in (None, "explicit"):
                raise ConfigError(complain("MultiHeadAttention", "kernel", "'explicit' with dropout", f"'{asked}'"))
            return "explicit"
        if asked is not None:
            return asked
        pairs = len(rows) * self.heads * rows.shape[1] ** 2
        is_narrow = max(self.head_dim, self.value_dim) <= NARROW_HEAD
        is_plain = rows.device.type == "cpu" and rows.dtype in (torch.float32, torch.float64)
        is_derived_faster = is_plain and is_narrow and DERIVED_PAIRS[0] <= pairs <= DERIVED_PAIRS[1]
        is_traced = torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
        return "derived" if is_derived_faster and not is_traced else "fused"

    def _split(self, mapped: Tensor) -> list[Tensor]:
        """Give query, key and value their axis of heads."""
        sizes = [self.heads * size for size in (self.head_dim, self.head_dim, self.value_dim)]
        parts = mapped.split(sizes, dim=-1)
        return [rearrange(part, "batch time (heads dim) -> batch heads time dim", heads=self.heads) for part in parts]

    def _sources(self, mapped: Tensor, earlier: Mapping[str, Tensor]) -> list[Tensor]:
        """Give the queries of the new rows, and the keys and values of the earlier rows and the new ones."""
        query, key, value = self._split(mapped)
        if "past_key" in earlier:
            key = torch.cat([earlier["past_key"], key], dim=2)
            value = torch.cat([earlier["past_value"], value], dim=2)
        return [query, key, value]

    def _hide(self, rows: Tensor, reads: Tensor | None) -> Tensor:
        """Let a query that reads nothing give zeros, no bias either."""
        if reads is None:
            return rows
        output = rows.masked_fill(~reads, 0)
        if recording.is_on():
            recording.report(self, "hide", {"rows": rows}, {"output": output}, reads=reads)
        return output

    def _draw_factor(self, query: Tensor, key: Tensor) -> Tensor:
        """Draw the dropout mask of the weights."""
        batch, heads, time, _ = query.shape
        return self.weights_dropout.draw(query.new_empty(batch, heads, time, key.shape[2]))

    def multiply_adds(self, time: int) -> int:
        """Multiply-adds of one forward pass over one sequence, every (query, source) pair counted, hidden or not.

        The sum of the input map, time * width * heads * (2 head_dim + value_dim); the scores, time^2 * heads *
        head_dim; the mixing, time^2 * heads * value_dim; and the output map, time * heads * value_dim * width.
        """
        maps = time * self.width * self.heads * (2 * self.head_dim + 2 * self.value_dim)
        return maps + time**2 * self.heads * (self.head_dim + self.value_dim)

    def state_size(self, time: int) -> int:
        """Floats of the keys and values of `time` steps of one sequence."""
        return time * self.heads * (self.head_dim + self.value_dim)

    def extra_repr(self) -> str:
        return f"width={self.width}, heads={self.heads}, head_dim={self.head_dim}, value_dim={self.value_dim}"


def _join_heads(context: Float[Tensor, "batch heads time dim"]) -> Float[Tensor, "batch time joined"]:
    """Put the heads of each position side by side."""
    return rearrange(context, "batch heads time dim -> batch time (heads dim)")


def _reads_something(visible: Tensor | None) -> Tensor | None:
    """Give for each query whether it has a source; None if nothing is hidden."""
    return None if visible is None else visible.any(dim=-1, keepdim=True)


def _default_head_dim(width: int, heads: int) -> int:
    if heads < 1 or width % heads:
        remedy = "Give head_dim, which need not be width / heads."
        raise ConfigError(complain("MultiHeadAttention", "heads", f"a divisor of width={width}", heads, remedy))
    return width // heads
