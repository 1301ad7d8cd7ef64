"""A worker process: reads jobs from its standard input, trains or scores on one thread, reports on standard output.

Started by `clew.lab.pool` as `python -m clew.lab.worker`. It ends at once when its standard input closes, which is what
happens when its parent dies, however that dies; so no worker outlives its comparison.
"""

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.errors import RunError, complain
from clew.lab.messages import decode_batch, encode_message, failure_reason


def main() -> None:
    """Work until the parent closes standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_until_parent_ends, args=(jobs,), daemon=True).start()
    output, sys.stdout = sys.stdout, sys.stderr  # a stray print must not be taken for a message
    import torch

    torch.set_num_threads(1)

    def send(message: dict[str, Any]) -> None:
        try:
            output.write(encode_message(message))
            output.flush()
        except BrokenPipeError:  # the parent has ended
            os._exit(0)

    while True:
        job = json.loads(jobs.get())
        try:
            run_job(job, send)
            send({"event": "done"})
        except Exception as error:
            send({"event": "failed", "reason": failure_reason(error)})


def run_job(job: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> None:
    """Do one job, given in plain values; epochs are reported as they end."""
    from clew.lab.examinations import examination_named
    from clew.lab.jobs import score_run, train_run
    from clew.lab.plan import RunPlan

    plan, root = RunPlan.from_mapping(job["plan"]), Path(job["root"])
    if plan.identity != job["identity"]:
        remedy = "Start the same command again."
        raise RunError(complain("worker", "package sources", "those of its parent", "others, edited meanwhile", remedy))
    if job["kind"] == "score":
        score_run(plan, root, decode_batch(job["test"]), examination_named(job["examination"]))
        return
    train, validation = decode_batch(job["train"]), decode_batch(job["validation"])
    train_run(
        plan,
        root,
        train,
        validation,
        lambda record, seconds: report({"event": "epoch", "record": record.to_mapping(), "seconds": seconds}),
    )


def _read_until_parent_ends(jobs: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
