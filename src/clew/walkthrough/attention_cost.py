"""What attention costs: pairs, multiply-adds, and the bytes that each way to compute it keeps for the backward pass."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Float
from torch import Tensor

from clew.layers import MLP, MultiHeadAttention
from clew.layers.attention_kernels import attention_step, fused_context
from clew.walkthrough.items import Builder, Cell, Item
from clew.walkthrough.proverb_tables import distance

TIMES = (64, 128, 256, 512)
HEADS, HEAD_DIM = 2, 16
TIMED_RUNS = 5


def attention_counts() -> Item:
    """Count pairs and multiply-adds from the layers' own shapes as the sequence doubles."""
    width = HEADS * HEAD_DIM
    layer, mlp = MultiHeadAttention(width, HEADS), MLP(width, 4 * width)
    rows: list[list[Cell]] = []
    for time in TIMES:
        pairs = HEADS * time**2
        mixing = pairs * 2 * HEAD_DIM
        rows.append([time, pairs, mixing, layer.multiply_adds(time) - mixing, mlp.multiply_adds(time)])
    columns = ("T", "Pairs, all heads", "Scores and mixing", "Projections", "MLP")
    notes = (
        f"Multiply-adds of one sequence: {HEADS} heads of {HEAD_DIM}, width {width}, MLP {4 * width}. Twice the "
        "length: four times the pairs, twice the projections and the MLP.",
    )
    title = "Attention's work by length"
    return Item("attention-counts", title, "Formula: cost of attention, counted", columns, rows, notes)


def attention_memory() -> Item:
    """Measure what the explicit path and torch's tiled kernel keep for the backward pass."""
    rows: list[list[Cell]] = []
    for time in TIMES:
        parts = _drawn(time)
        explicit, kept_explicit = _kept_bytes(_explicit, parts)
        tiled, kept_tiled = _kept_bytes(fused_context, parts)
        materialized = sum(part.nbytes for part in attention_step(*parts)[:3])
        rows.append([time, HEADS * time**2, materialized, kept_explicit, kept_tiled, distance(explicit, tiled)])
    columns = (
        "T", "Pairs, all heads", "Scores, scaled scores, weights: bytes", "Kept by the explicit path, bytes",
        "Kept by the tiled kernel, bytes", "Distance of the outputs",
    )  # fmt: skip
    notes = (
        "Bytes of the distinct tensors that autograd keeps, in float32. The tiled kernel keeps queries, keys, values, "
        "outputs and a number a query, and does all pairs over again in the backward pass.",
    )
    title = "Attention's memory by length"
    return Item("attention-memory", title, "Formula: cost of attention, bytes", columns, rows, notes)


def attention_time() -> Item:
    """Time both ways, forward and backward, on this machine."""
    rows: list[list[Cell]] = []
    for time in TIMES:
        parts = _drawn(time)
        explicit, tiled = _milliseconds(_explicit, parts), _milliseconds(fused_context, parts)
        rows.append([time, explicit, tiled, explicit / tiled])
    columns = ("T", "Explicit, ms", "Tiled, ms", "Explicit / tiled")
    notes = (
        f"Median of {TIMED_RUNS} runs on {torch.get_num_threads()} threads of this machine, forward and backward. "
        "They differ from run to run, unlike all other numbers of the walkthrough.",
    )
    title = "Attention's time by length"
    return Item("attention-time", title, "Formula: cost of attention, timed", columns, rows, notes)


def _drawn(time: int) -> list[Float[Tensor, "1 heads time head_dim"]]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(1, HEADS, time, HEAD_DIM, generator=generator).requires_grad_() for _ in range(3)]


def _explicit(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attention_step(query, key, value).context


def _kept_bytes(run: Callable[..., Tensor], parts: list[Tensor]) -> tuple[Tensor, int]:
    """Run and add up the distinct storages that autograd keeps."""
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        context = run(*parts)
    return context.detach(), sum(kept.values())


def _milliseconds(run: Callable[..., Tensor], parts: list[Tensor]) -> float:
    taken = []
    for _ in range(TIMED_RUNS + 1):
        start = perf_counter()
        torch.autograd.grad(run(*parts).sum(), parts)
        taken.append(1000 * (perf_counter() - start))
    return median(taken[1:])  # the first run prepares


ITEMS: tuple[Builder, ...] = (attention_counts, attention_memory, attention_time)
