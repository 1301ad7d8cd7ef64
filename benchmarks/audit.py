"""What an audit costs: the default one, the quick one, and a search for the future with one pass a position.

    python benchmarks/audit.py [--time 256]

The model is a causal Transformer of torch.nn, 4 layers of width 128, on a batch of 4 rows. The search in the audit asks
whether any output moves when everything from a step on is varied, for every step; one pass a position varies one step
in the whole batch, for every step, in the same number type. The ratio of the two is taken in one run, in turn. Claimed:
a default audit at time 256 in under 60 seconds on two cores.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from clew.checks import audit, quick_audit

ROWS, WIDTH, LAYERS, HEADS, VOCAB = 4, 128, 4, 4, 64
LIMIT_SECONDS = 60


class Causal(nn.Module):
    """Ids to scores, each step reading those up to itself."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Embedding(steps, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids: Tensor) -> Tensor:
        """Give scores for each step."""
        steps = ids.shape[1]
        mask = torch.full((steps, steps), -torch.inf, dtype=self.head.weight.dtype).triu(1)
        return self.head(self.layers(self.tokens(ids) + self.positions(torch.arange(steps)), mask=mask))


def future_by_position(model: nn.Module, ids: Tensor) -> bool:
    """Vary one step a pass and say whether an earlier output moved."""
    other = (ids + 1) % VOCAB
    with torch.no_grad():
        before = model(ids)
        for step in range(1, ids.shape[1]):
            after = ids.clone()
            after[:, step] = other[:, step]
            if not torch.allclose(model(after)[:, :step], before[:, :step], rtol=1e-10, atol=1e-12):
                return True
    return False


def future_by_audit(model: nn.Module, ids: Tensor) -> bool:
    """Run everything that the audit runs to find sources that outputs must not read."""
    from clew.checks.examination import Options, examine
    from clew.checks.influence import measure_influence
    from clew.checks.reading import read_sample
    from clew.checks.reading_ahead import check_future

    sample, _ = read_sample(ids, None, None, VOCAB, None)
    exam = examine(model, sample, "causal", Options(), torch.Generator().manual_seed(0))
    return check_future(exam, measure_influence(exam)).status == "failed"


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Time one call."""
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=int, default=256, help="steps of a row")
    steps = parser.parse_args().time
    torch.manual_seed(0)
    model = Causal(steps)
    ids = torch.randint(VOCAB, (ROWS, steps))
    precise = Causal(steps).double().eval()
    precise.load_state_dict(model.state_dict())
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {ROWS} rows of {steps} steps")
    for name, function in (("quick", quick_audit), ("default", audit)):
        elapsed, report = seconds(lambda function=function: function(model, ids))
        assert report.passed, report.failures
        print(f"{name + ' audit':40} {elapsed:8.1f} s", flush=True)
        if name == "default" and steps <= 256:
            assert elapsed < LIMIT_SECONDS, f"the default audit took {elapsed:.1f} s"
    naive, is_leaking = seconds(lambda: future_by_position(precise, ids))
    ours, is_ours_leaking = seconds(lambda: future_by_audit(model, ids))
    assert not is_leaking and not is_ours_leaking
    print(f"{'future, one pass a position':40} {naive:8.1f} s")
    print(f"{'future, as the audit looks for it':40} {ours:8.1f} s   {naive / ours:.2f} times as fast")


if __name__ == "__main__":
    main()
