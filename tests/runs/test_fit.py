"""`clew.fit`: what a run folder holds, what is filled in, what is refused, and what is told meanwhile."""

import json
from pathlib import Path

import pytest
import torch

import clew
from clew.data import SequenceData
from clew.data.batch import Batch
from clew.errors import AuditError, ConfigError, DataError, RunError
from clew.models import build
from clew.runs import RunFolder
from clew.runs import keeping as keeping_room
from clew.runs.fitting import differences
from clew.runs.model_options import complete_options
from clew.tasks import Classification, NextToken, Tagging
from clew.training import EpochRecord, SilentTraining, TrainConfig, TrainingError
from runs.small_runs import SILENT, small, train

ONE = {"training": TrainConfig(epochs=1, batch_size=16)}


class Heard(SilentTraining):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.notes: list[str] = []
        self.records: list[EpochRecord] = []

    def begin(self, epochs: int, steps: int, finished_steps: int) -> None:
        self.calls.append(f"begin {epochs} {steps} {finished_steps}")

    def step(self, epoch: int, step: int, loss: float) -> None:
        self.calls.append(f"step {epoch}.{step}")

    def epoch(self, record: EpochRecord, seconds: float) -> None:
        self.calls.append(f"epoch {record.epoch}")
        self.records.append(record)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train("classification", tmp_path_factory.mktemp("runs") / "run")


def test_a_run_folder_says_where_it_came_from(finished):
    names = {path.name for path in finished.path.iterdir()} - {".lock"}
    assert names == {
        "audit.json", "best.safetensors", "config.json", "environment.json", "last.safetensors", "metrics.jsonl",
        "timings.jsonl", "train",
    }  # fmt: skip
    config = json.loads((finished.path / "config.json").read_text())
    one = small("classification")
    assert config["task"] == {"name": "classification", "config": one.task.config()}
    assert config["model"]["outputs"] == 2 and config["model"]["features"] == 3 and config["model"]["head"] == "last"
    assert TrainConfig.from_mapping(config["training"]) == finished.training
    assert config["data"] == {"train": one.train.fingerprint(), "validation": one.validation.fingerprint()}
    assert config["seeds"] == {"initialization": 3, "order": 0, "dropout": 3}
    lines = finished.metrics()
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert [line["stopped"] for line in lines] == ["", "", "epochs"]


def test_the_selected_weights_are_those_of_the_best_epoch(finished):
    losses = [line["validation"]["loss_nats"] for line in finished.metrics()]
    assert finished.selected_epoch == losses.index(min(losses)) + 1
    assert finished.selection == {"metric": "loss_nats", "value": min(losses)}
    again = finished.task.evaluate(finished.model, small("classification").validation)
    assert again["loss_nats"] == pytest.approx(min(losses), abs=1e-12)
    assert not finished.model.training


def test_a_finished_run_is_given_back_and_not_trained_again(finished, monkeypatch):
    monkeypatch.setattr(keeping_room, "train_epoch", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr("clew.runs.fitting.audit_before_fit", lambda *_: pytest.fail("audited again"))
    assert train("classification", finished.path).metrics() == finished.metrics()


def test_listeners_hear_everything_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping_room, "SECONDS_BETWEEN_WORDS", -1.0)
    heard = Heard()
    one = small("tagging")
    run = clew.fit(one.task, one.model, one.train, one.validation, **ONE, out=tmp_path / "run", progress=heard)
    steps = [f"step 1.{number}" for number in range(1, 7)]
    assert heard.calls == ["begin 1 6 0", *steps, "epoch 1", "close"]
    assert heard.records[0].to_mapping() == run.metrics()[0]
    assert heard.notes == ["Audit before training: the model passed; the data passed"]


def test_a_model_may_be_given_with_its_weights(tmp_path):
    one = small("tagging")
    model = build("gru", features=3, outputs=2, hidden=4)
    first = clew.fit(one.task, model, one.train, one.validation, **ONE, out=tmp_path / "one")
    fresh = build("gru", features=3, outputs=2, hidden=4)
    again = clew.fit(one.task, fresh, one.train, one.validation, **ONE, out=tmp_path / "two")
    assert first.metrics() == again.metrics()
    assert first.config["initial_weights"] == again.config["initial_weights"] is not None
    other = build("gru", features=3, outputs=2, hidden=4, generator=torch.Generator().manual_seed(1))
    with pytest.raises(RunError, match="got another run: initial_weights differs"):
        clew.fit(one.task, other, one.train, one.validation, **ONE, out=tmp_path / "one")


def test_another_configuration_in_the_same_folder_is_refused(finished):
    before = sorted((path.name, path.stat().st_mtime_ns) for path in finished.path.iterdir() if path.name != ".lock")
    with pytest.raises(RunError) as caught:
        train("classification", finished.path, seed=4)
    assert "seeds.initialization is 3, not 4; seeds.dropout is 3, not 4. Choose another folder" in str(caught.value)
    with pytest.raises(RunError, match=r"task\.name is 'classification', not 'tagging'"):
        train("tagging", finished.path)
    with pytest.raises(RunError, match="run folder must be new, got one that holds a run"):
        train("classification", finished.path, resume=False)
    after = sorted((path.name, path.stat().st_mtime_ns) for path in finished.path.iterdir() if path.name != ".lock")
    assert after == before


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"new, empty or that of this run, got one with other things in it \(thesis"):
        train("tagging", tmp_path)
    with pytest.raises(RunError, match="run folder must be a folder, got a file"):
        train("tagging", tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_start_that_was_killed_before_the_configuration_stood_can_be_repeated(tmp_path, monkeypatch):
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    one = small("tagging")
    monkeypatch.setattr(RunFolder, "begin", killed)
    with pytest.raises(KeyboardInterrupt):
        clew.fit(one.task, one.model, one.train, one.validation, **ONE, out=tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"audit.json", "train"}
    monkeypatch.undo()
    assert clew.fit(one.task, one.model, one.train, one.validation, **ONE, out=tmp_path / "run").selected_epoch == 1


def test_a_finished_run_of_another_version_opens_and_an_unfinished_one_is_not_gone_on_with(tmp_path, monkeypatch):
    run = train("tagging", tmp_path / "run")
    monkeypatch.setattr("clew.runs.fitting.source_fingerprint", lambda: "others")
    assert train("tagging", tmp_path / "run").metrics() == run.metrics()
    lines = (run.path / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run.path / "metrics.jsonl").write_text("".join(lines[:1]))
    with pytest.raises(RunError, match="got another run: one that another version of clew or torch began"):
        train("tagging", tmp_path / "run")


def test_a_model_that_reads_ahead_is_not_trained(tmp_path):
    tokens = torch.randint(0, 5, (40, 8), generator=torch.Generator().manual_seed(0))
    leaking = build("transformer", vocab=5, outputs=5, hidden=8, causal=False)
    arguments = {"out": tmp_path / "run", **ONE}
    with pytest.raises(AuditError, match="without a leak before they are trained on, got 1 of 2") as caught:
        clew.fit(NextToken(5), leaking, tokens[:30], tokens[30:], **arguments)
    assert "the model: future:" in str(caught.value)
    assert not (tmp_path / "run").exists()
    heard = Heard()
    run = clew.fit(NextToken(5), leaking, tokens[:30], tokens[30:], audit="warn", progress=heard, **arguments)
    assert heard.notes[0] == "Audit before training: the model failed; the data passed"
    assert json.loads((run.path / "audit.json").read_text())["audits"][0]["failures"] == ["future"]


def test_sequences_that_validation_shares_with_training_are_refused_if_they_are_many(tmp_path):
    one = small("regression")
    rows = torch.arange(len(one.train))
    for count, is_fine in ((1, True), (10, False)):
        shared = SequenceData.from_batch(one.train.select(rows[:count]))
        whole = SequenceData(
            torch.cat([torch.tensor(part.inputs) for part in (one.validation, shared)]),
            torch.cat([torch.tensor([0]), torch.cat([one.validation.lengths, shared.lengths]).cumsum(0)]),
            torch.cat([torch.tensor(part.targets) for part in (one.validation, shared)]),
        )
        heard = Heard()
        arguments = {"out": tmp_path / f"run{count}", "progress": heard, **ONE}
        if is_fine:
            clew.fit(one.task, one.model, one.train, whole, **arguments)
            assert any("the data: " in note for note in heard.notes)
        else:
            with pytest.raises(AuditError, match="the data: "):
                clew.fit(one.task, one.model, one.train, whole, **arguments)


def test_the_time_limit_stops_after_a_step_and_counts_earlier_starts(tmp_path, monkeypatch):
    one = small("tagging")
    training = TrainConfig(epochs=500, batch_size=8, max_minutes=1e-9)
    run = clew.fit(one.task, one.model, one.train, one.validation, training=training, out=tmp_path / "run", **SILENT)
    line = run.metrics()[-1]
    assert (line["stopped"], line["steps"], line["epoch"]) == ("max_minutes", 1, 1)
    assert run.folder.seconds() > 0
    monkeypatch.setattr(keeping_room, "train_epoch", lambda *_: pytest.fail("trained on"))
    clew.fit(one.task, one.model, one.train, one.validation, training=training, out=tmp_path / "run")


def test_time_spent_by_a_start_that_was_stopped_counts(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    folder.append_seconds(1, 59.0)
    folder.append_seconds(1, 2.5)
    one = small("tagging")
    config = TrainConfig(max_minutes=1)
    state = keeping_room.TrainingState.start(build("rnn", features=3, outputs=2), config, 0, 0)
    assert keeping_room._Keeper(folder, state, config, None).after_step()
    assert not keeping_room._Keeper(folder, state, TrainConfig(max_minutes=2), None).after_step()
    assert one.train is not None


def test_a_validation_that_never_gives_a_number_is_an_error(tmp_path, monkeypatch):
    one = small("tagging")
    monkeypatch.setattr(one.task, "monitor", lambda model, batch: {"loss_nats": float("nan")})
    with pytest.raises(TrainingError, match="loss_nats on validation must be a number after some epoch, got nan"):
        clew.fit(one.task, one.model, one.train, one.validation, **ONE, out=tmp_path / "run")


def test_empty_parts_and_hand_made_models_are_refused(tmp_path):
    one = small("tagging")
    with pytest.raises(DataError, match="fit: validation must be at least one sequence, got none"):
        clew.fit(one.task, one.model, one.train, one.validation.part([]), out=tmp_path / "run")
    model = build("gru", features=3, outputs=2, hidden=4)
    model.config = None
    with pytest.raises(ConfigError, match=r"fit: model must be one from clew\.models\.build"):
        clew.fit(one.task, model, one.train, one.validation, out=tmp_path / "run")
    with pytest.raises(ConfigError, match="fit: audit must be refuse, warn or skip, got 'never'"):
        clew.fit(one.task, one.model, one.train, one.validation, out=tmp_path / "run", audit="never")
    assert not (tmp_path / "run").exists()


IMAGES = SequenceData(torch.zeros(3, 1, 6, 4), None, [0, 1, 0])
TOKENS = Batch(torch.zeros(3, 600, dtype=torch.int64))
VECTORS = Batch(torch.zeros(3, 5, 4))


@pytest.mark.parametrize(
    ("task", "data", "given", "expected"),
    [
        (NextToken(7), TOKENS, {"preset": "gru"}, {"vocab": 7, "outputs": 7, "head": "rows"}),
        (NextToken(7), TOKENS, {"preset": "transformer"}, {"causal": True, "max_positions": 600}),
        (Tagging(3), VECTORS, {"preset": "transformer"}, {"features": 4, "causal": False, "max_positions": 512}),
        (Tagging(3), VECTORS, {"preset": "lstm", "bidirectional": True}, {"head": "rows", "outputs": 3}),
        (Classification(3), VECTORS, {"preset": "rnn", "head": "mean"}, {"head": "mean", "outputs": 3}),
        (Classification(2), IMAGES, {"preset": "vit", "patch": 2}, {"image": [6, 4], "channels": 1}),
    ],
)
def test_what_follows_from_task_and_data_is_filled_in(task, data, given, expected):
    found = complete_options(given, task, data, data)
    assert {name: found.get(name) for name in expected} == expected
    build(**found)


@pytest.mark.parametrize(
    ("task", "data", "given", "said"),
    [
        (NextToken(7), TOKENS, {"preset": "gru", "bidirectional": True}, "bidirectional in next_token must be off"),
        (NextToken(7), TOKENS, {"preset": "transformer", "causal": False}, "causal in next_token must be on"),
        (NextToken(7), TOKENS, {"preset": "vit"}, "model of next_token must be one that reads in order"),
        (Classification(2), VECTORS, {"preset": "vit"}, "inputs of 'vit' must be images"),
        (Classification(2), IMAGES, {"preset": "gru"}, "inputs of 'gru' must be sequences, got images"),
        (Classification(2), IMAGES, {"preset": "vit"}, r"patch of 'vit' must be given.*divide these images: 1, 2\."),
        (Classification(2), TOKENS, {"preset": "gru"}, "model of inputs that are ids must be with vocab"),
        (Classification(2), VECTORS, {"hidden": 3}, "model must be a mapping with 'preset'"),
        (Classification(2), VECTORS, {"preset": "gru", "hiden": 3}, "unknown key 'hiden'. Did you mean 'hidden'?"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(task, data, given, said):
    with pytest.raises(ConfigError, match=said):
        complete_options(given, task, data, data)


def test_differences_name_their_place():
    old = {"a": {"b": 1, "c": [1, 2]}, "d": "x" * 99}
    assert list(differences(old, old)) == []
    assert list(differences(old, {"a": {"b": 2, "c": [1]}, "d": "y" * 99})) == [
        "a.b is 1, not 2", "a.c is [1, 2], not [1]", "d differs",
    ]  # fmt: skip


def test_tensorboard_is_asked_for_clearly_where_it_is_absent(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    one = small("tagging")
    with pytest.raises(ConfigError) as caught:
        clew.fit(one.task, one.model, one.train, one.validation, **ONE, out=tmp_path / "run", tensorboard=True)
    assert str(caught.value) == (
        "tensorboard: package must be installed, got none. Install it with `pip install 'clew[tensorboard]'`, or leave "
        "the logging out."
    )
    assert not (tmp_path / "run").exists()


def test_tensorboard_gets_the_figures_of_each_epoch(tmp_path, monkeypatch):
    written: list[tuple[str, float, int]] = []

    class Writer:
        def __init__(self, folder: str) -> None:
            assert Path(folder) == tmp_path / "run/tensorboard"

        def add_scalar(self, name: str, value: float, epoch: int) -> None:
            written.append((name, value, epoch))

        def flush(self) -> None: ...

        def close(self) -> None:
            written.append(("closed", 0.0, 0))

    monkeypatch.setattr("clew.runs.tensorboard._writer_class", lambda: Writer)
    one = small("tagging")
    run = clew.fit(one.task, one.model, one.train, one.validation, **ONE, out=tmp_path / "run", tensorboard=True)
    line = run.metrics()[0]
    assert ("train/loss", line["train_loss_nats"], 1) in written
    assert ("validation/accuracy", line["validation"]["accuracy"], 1) in written
    assert written[-1][0] == "closed"
