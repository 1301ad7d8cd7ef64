"""The view of a run: what it counts, sorts and asks is what the real model says, and the sealed test stays sealed."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from torch.nn.functional import cross_entropy, layer_norm, linear, softmax

import clew
from clew.data import SequenceData
from clew.data.recall_episodes import BOS, MOVES, TOKEN_WORDS, RecallSizes, sample_recall_splits
from clew.errors import ConfigError
from clew.explorer import view
from clew.explorer.address import Address
from clew.explorer.application import make_application
from clew.explorer.faults import ExplorerError
from clew.explorer.guard import Access
from clew.explorer.run.data import confusion_of, examples_of, run_of
from clew.explorer.run.episode import episode_of, interventions
from clew.explorer.run.image import looking_at, weights_over_patches
from clew.explorer.run.recall import episode_losses
from clew.explorer.run.view import MADE, RUN
from clew.explorer.scene import Scene
from clew.explorer.studio import Studio
from clew.lab.recall import RecallConfig, run_recall
from clew.models.transformer_encoder import TransformerEncoder
from clew.runs import Run
from clew.tasks import Classification, CueRecall
from clew.walkthrough.proverb import TEXT
from runs.small_runs import train

MakeScene = Callable[..., Scene]
SHORT = RecallSizes(train=256, validation=64, test=64)
DELAY = 6
ACCESS = Access("right-token", 8800)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of classification on sequences of different lengths."""
    return train("classification", tmp_path_factory.mktemp("runs") / "classification")


@pytest.fixture(scope="module")
def recall(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small memory experiment: the folder of a run by recipe."""
    out = tmp_path_factory.mktemp("recall")
    config = RecallConfig((DELAY,), (1, 2), ("gru", "transformer"), epochs=2, sizes=SHORT)
    rows = run_recall(config, out, workers=0, audit="skip").results["rows"]
    return {row["recipe"]: out / "runs" / row["run"] for row in rows if row["seed"] == 1}


@pytest.fixture(scope="module")
def vision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a small ViT on images of 4 by 6 pixels in patches of 2 by 3."""
    generator = np.random.default_rng(0)
    parts = [
        SequenceData(generator.normal(size=(count, 1, 4, 6)).astype(np.float32), None, generator.integers(0, 3, count))
        for count in (40, 12)
    ]
    options = {"preset": "vit", "hidden": 8, "heads": 2, "layers": 2, "patch": [2, 3], "dropout": 0.0}
    training = {"epochs": 2, "batch_size": 8}
    folder = tmp_path_factory.mktemp("vision") / "run"
    clew.fit(Classification(3), options, *parts, training=training, out=folder, seed=1, audit="skip")
    return folder


studio_of = lru_cache(Studio)


def scene_of(folder: Path, row: int = 0, model: str = "run", edits: tuple[str, ...] = (), **shown: str) -> Scene:
    return studio_of(folder).scene(Address("run", model, None, row, edits, shown))


def page_of(
    folder: Path, row: int = 0, model: str = "run", edits: tuple[str, ...] = (), **shown: str
) -> dict[str, str]:
    """Render the view: the content of each section by its identifier."""
    studio = studio_of(folder)
    shown_scene = studio.scene(Address("run", model, None, row, edits, shown))
    assert RUN.missing(shown_scene) == ""
    return {part.identifier: str(part.content) for part in RUN.sections(shown_scene, studio)}


def opened(run: Run) -> Run:
    found = run_of(scene_of(run.path))
    assert found is not None
    return found


def links_in(html: str) -> list[dict[str, str]]:
    """List the queries of all links of a fragment."""
    return [dict(parse_qsl(urlsplit(unescape(href)).query)) for href in re.findall(r'href="([^"]+)"', html)]


def test_a_model_without_a_run_says_how_to_start_with_one(scene: MakeScene) -> None:
    assert "clew explore RUN" in RUN.missing(scene("gru"))
    assert RUN.missing(scene("gru")).count(".") == 1


def test_confusion_counts_what_predict_says(classifier: Run) -> None:
    data = SequenceData.open(classifier.path / "train")
    said, targets = classifier.predict(data).values["classes"], data.select(torch.arange(len(data))).targets
    assert targets is not None
    expected = torch.zeros(2, 2, dtype=torch.long)
    for true, chosen in zip(targets.tolist(), said.tolist(), strict=True):
        expected[true, chosen] += 1
    found = confusion_of(opened(classifier))
    assert found is not None
    assert torch.equal(found[:2, :2], expected)
    right = expected.diagonal().sum().item() / expected.sum().item()
    assert right == pytest.approx(classifier.task.evaluate(classifier.model, data)["accuracy"], abs=1e-12)
    assert expected.unique().numel() > 2


def losses_by_hand(run: Run) -> np.ndarray:
    """Ask the model for each sequence alone."""
    data = SequenceData.open(run.path / "train")
    losses = []
    with torch.no_grad():
        for row in range(len(data)):
            one = data.select(torch.tensor([row]))
            assert one.targets is not None
            losses.append(cross_entropy(run.model(one.inputs, valid=one.valid).logits, one.targets).item())
    return np.array(losses)


def test_examples_are_sorted_by_the_loss_of_each_sequence(classifier: Run) -> None:
    losses = losses_by_hand(classifier)
    found = examples_of(opened(classifier))
    assert found is not None
    np.testing.assert_allclose(found.losses, losses[found.sequences], atol=1e-5)
    html = page_of(classifier.path)["run-examples"]
    shown = [int(query.get("row", 0)) for query in links_in(html)]
    np.testing.assert_allclose(losses[shown[:10]], np.sort(losses)[::-1][:10], atol=1e-5)
    np.testing.assert_allclose(losses[shown[10:]], np.sort(losses)[:3][::-1], atol=1e-5)


def test_the_link_of_an_example_opens_its_sequence(classifier: Run) -> None:
    query = links_in(page_of(classifier.path, row=2)["run-examples"])[0]
    row, data = int(query.get("row", 0)), SequenceData.open(classifier.path / "train")
    shown = scene_of(classifier.path, row=row)
    assert torch.equal(shown.subject.batch.inputs, data.select(torch.tensor([row])).inputs)
    assert shown.trace.loss_nats == pytest.approx(losses_by_hand(classifier)[row], abs=1e-5)


def test_the_last_weights_are_judged_as_themselves(classifier: Run) -> None:
    best, last = (run_of(scene_of(classifier.path, model=key)) for key in ("run", "last"))
    assert best is not None
    assert last is not None
    assert "its last weights, after epoch 3" in page_of(classifier.path, model="last")["run"]
    kept = clew.training.state.read_tensors(classifier.path / "last.safetensors")[0]
    for name, value in last.model.state_dict().items():
        assert torch.equal(value, kept[f"model.{name}"])
    assert last.model is not best.model


@pytest.mark.parametrize("name", ["classification", "tagging", "next_token", "forecasting", "regression"])
def test_every_task_has_its_sections(name: str, tmp_path: Path) -> None:
    sections = page_of(train(name, tmp_path / name).path, row=1)
    own = {"classification": "run-classes", "tagging": "run-classes", "forecasting": "run-forecasts"}
    assert {"run", "run-curves", "run-examples"} <= set(sections)
    assert name not in own or own[name] in sections
    assert "Selected" not in sections["run-curves"]
    assert sections["run-curves"].count("<svg") >= 2
    assert len(links_in(sections["run-examples"])) >= 10
    assert "style=" not in "".join(sections.values())


def test_the_sealed_test_is_never_opened(classifier: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = classifier.path / "test"
    SequenceData.open(classifier.path / "train").part(slice(0, 9)).save(sealed)
    opened_folders: list[str] = []
    open_data = SequenceData.open

    def watched(path: Any, *more: Any) -> SequenceData:
        opened_folders.append(Path(path).name)
        return open_data(path, *more)

    monkeypatch.setattr(SequenceData, "open", watched)
    for cached in (confusion_of, examples_of):
        cached.cache_clear()
    page_of(classifier.path, row=3)
    assert "train" in opened_folders
    assert "test" not in opened_folders


def test_edits_change_the_row_and_leave_the_run(classifier: Run) -> None:
    plain, edited = (page_of(classifier.path, row=1, edits=edits) for edits in ((), ("value:0.0=9",)))
    assert plain["run-row"] != edited["run-row"]
    assert plain["run-classes"] == edited["run-classes"]
    assert "without the edits" in edited["run"]


def at_recall(scene: Scene, ids: list[int], visible: torch.Tensor | None = None) -> torch.Tensor:
    """Ask the model of a scene by hand."""
    with torch.no_grad():
        return softmax(scene.subject.model(torch.tensor([ids]), visible=visible).logits[0, DELAY + 2], dim=-1)


@pytest.mark.parametrize("recipe", ["gru", "transformer"])
def test_interventions_are_the_model_on_the_changed_episode(recall: dict[str, Path], recipe: str) -> None:
    shown = scene_of(recall[recipe], row=5)
    episode = episode_of(shown)
    assert episode is not None
    ids = shown.subject.batch.inputs[0, :-1].tolist()
    assert (episode.cue, episode.query, episode.cue_id) == (1, DELAY + 2, ids[1])
    found = {answer.words: answer.probabilities for answer in interventions(shown, episode)}
    expected = {"Nothing": ids, "Cue: blanked with BOS": [ids[0], BOS, *ids[2:]]}
    for move in set(range(MOVES)) - {ids[1]}:
        words = f"Cue: {TOKEN_WORDS[move]} instead of {TOKEN_WORDS[ids[1]]}"
        expected[words] = [ids[0], move, *ids[2:]]
    assert len(expected) == 5
    for words, changed in expected.items():
        torch.testing.assert_close(found[words], at_recall(shown, changed))
    assert not torch.allclose(at_recall(shown, ids), at_recall(shown, expected["Cue: blanked with BOS"]), atol=1e-6)


def test_a_hidden_cue_is_hidden_from_all_later_queries(tmp_path: Path) -> None:
    """With two blocks the cue could come around by another query."""
    splits = sample_recall_splits(DELAY, SHORT)
    options = {"preset": "transformer", "hidden": 8, "heads": 2, "layers": 2}
    training, out = {"epochs": 1, "learning_rate": 0.02}, tmp_path / "run"
    clew.fit(CueRecall(DELAY), options, splits.train, splits.validation, training=training, out=out, audit="skip")
    shown = scene_of(out, row=3)
    episode = episode_of(shown)
    assert episode is not None
    ids = shown.subject.batch.inputs[0, :-1].tolist()
    visible = torch.tensor([[source <= query and not (source == 1 < query) for source in range(len(ids))]
                            for query in range(len(ids))])  # fmt: skip
    found = {answer.words: answer for answer in interventions(shown, episode)}
    hidden = found["Cue: hidden from all later queries"]
    torch.testing.assert_close(hidden.probabilities, at_recall(shown, ids, visible))
    assert not torch.allclose(at_recall(shown, ids), at_recall(shown, ids, visible), atol=1e-6)
    assert [name for name, answer in found.items() if answer.probabilities is None] == [
        f"State: started afresh before step {(1 + 1 + DELAY + 2) // 2}"
    ]


@pytest.mark.parametrize("edits", [("visible=full",), ("show:0.1",), ("show:0.2",), ("visible=full", "hide:0.1")])
def test_a_cue_that_an_earlier_query_may_read_is_hidden_from_it_too(tmp_path: Path, edits: tuple[str, ...]) -> None:
    """BOS, before the cue, could read it in the first block and pass it on in the second."""
    splits = sample_recall_splits(DELAY, SHORT)
    options = {"preset": "transformer", "hidden": 8, "heads": 2, "layers": 2}
    training, out = {"epochs": 1, "learning_rate": 0.02}, tmp_path / "run"
    clew.fit(CueRecall(DELAY), options, splits.train, splits.validation, training=training, out=out, audit="skip")
    shown = scene_of(out, row=3, edits=edits)
    episode = episode_of(shown)
    assert episode is not None
    reads = edits in (("visible=full",), ("show:0.1",))
    answers = [one for one in interventions(shown, episode) if "hidden" in one.words]
    assert [one.words for one in answers] == [f"Cue: hidden from all {'other' if reads else 'later'} queries"]
    assert (f"hide:0.{episode.cue}" in answers[0].edits) == reads
    # What nothing else reads can be anything: another cue changes no probability.
    for move in range(MOVES):
        other = scene_of(out, row=3, edits=(*edits, f"token:1={TOKEN_WORDS[move]}"))
        found = next(one for one in interventions(other, episode_of(other)) if "hidden" in one.words)  # type: ignore[arg-type]
        torch.testing.assert_close(found.probabilities, answers[0].probabilities, rtol=0, atol=1e-7)
    by_edits = scene_of(out, row=3, edits=(*edits, *answers[0].edits))
    logits = by_edits.ledger.quantity("loss.logits").value[0, DELAY + 2]
    torch.testing.assert_close(softmax(logits, dim=-1), answers[0].probabilities)


@pytest.mark.parametrize(("edits", "is_read"), [((), False), (("visible=full",), True), (("show:0.1",), False)])
def test_an_answer_that_recall_may_read_is_told(recall: dict[str, Path], edits: tuple[str, ...], is_read: bool) -> None:
    told = page_of(recall["transformer"], row=3, edits=edits)["run-episode"]
    assert ("RECALL may read the answer that stands after it" in told) == is_read


def test_the_words_below_the_view_are_true_of_other_inputs_too(classifier: Run) -> None:
    client = TestClient(make_application(studio_of(classifier.path), ACCESS), base_url="http://127.0.0.1:8800")
    client.cookies.set(ACCESS.cookie, ACCESS.token)
    for address in ("/run?model=run", "/keep/file?model=run&of=run"):
        page = client.get(address).text
        assert MADE in page and view.MADE not in page
    assert f"{view.MADE}; the browser computes none." in client.get("/way?model=run").text


def test_a_file_of_data_is_no_text_and_has_no_limit_of_one(classifier: Run, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" * 2000)
    sources = Studio(classifier.path, text=str(table)).sources
    assert sources["run"].default_text is None and sources["gru"].default_text == TEXT


def test_a_file_of_text_is_shown_by_its_words_and_not_by_its_path(recall: dict[str, Path], tmp_path: Path) -> None:
    text = tmp_path / "episode.txt"
    text.write_text("BOS up down RECALL up EOS")
    studio = Studio(recall["gru"], text=str(text))
    assert studio.sources["run"].default_text == "BOS up down RECALL up EOS"
    assert studio.scene(Address("way", "run")).tokens[:3] == ["BOS", "up", "down"]
    text.write_text("up down " * 400)
    with pytest.raises(ConfigError, match="--text must be at most 2,000 characters"):
        Studio(recall["gru"], text=str(text))


def test_a_reset_state_knows_nothing_from_before(recall: dict[str, Path]) -> None:
    shown = scene_of(recall["gru"], row=3)
    episode = episode_of(shown)
    assert episode is not None
    ids, step = shown.subject.batch.inputs[:, :-1], (1 + 1 + DELAY + 2) // 2
    found = {answer.words: answer for answer in interventions(shown, episode)}
    with torch.no_grad():
        expected = softmax(shown.subject.model(ids[:, step:]).logits[0, DELAY + 2 - step], dim=-1)
    torch.testing.assert_close(found[f"State: started afresh before step {step}"].probabilities, expected)
    assert found["Cue: hidden from all later queries"].probabilities is None


@pytest.mark.parametrize("recipe", ["gru", "transformer"])
def test_the_link_of_an_intervention_makes_the_same_change(recall: dict[str, Path], recipe: str) -> None:
    shown = scene_of(recall[recipe], row=6)
    episode = episode_of(shown)
    assert episode is not None
    followed = 0
    for answer in interventions(shown, episode):
        if answer.probabilities is not None and answer.edits:
            changed = scene_of(recall[recipe], row=6, edits=answer.edits)
            logits = changed.ledger.quantity("loss.logits").value[0, DELAY + 2]
            torch.testing.assert_close(softmax(logits, dim=-1), answer.probabilities)
            followed += 1
    assert followed >= 5


def test_interventions_start_from_the_edited_episode(recall: dict[str, Path]) -> None:
    shown = scene_of(recall["transformer"], row=5, edits=("token:1=up", "hide:8.1"))
    episode = episode_of(shown)
    assert episode is not None
    assert episode.cue_id == 0
    ids = shown.subject.batch.inputs[0, :-1].tolist()
    visible = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    visible[8, 1] = False
    plain = scene_of(recall["transformer"], row=5)
    found = interventions(shown, episode)
    torch.testing.assert_close(found[0].probabilities, at_recall(plain, ids, visible))
    torch.testing.assert_close(found[1].probabilities, at_recall(plain, [ids[0], 1, *ids[2:]], visible))


def test_memory_signal_is_the_gradient_at_the_cue(recall: dict[str, Path]) -> None:
    shown = scene_of(recall["transformer"], row=2)
    model, ids = shown.subject.model, shown.subject.batch.inputs
    rows = model.embed(ids[:, : DELAY + 3]).detach().requires_grad_()
    logits = model.head(model.encoder(rows).rows)
    cross_entropy(logits[:, -1], ids[:, DELAY + 3]).backward()
    assert rows.grad is not None
    norm = rows.grad[0, 1].norm().item()
    written = re.findall(r"<td[^>]*>([^<]+)</td>", page_of(recall["transformer"], row=2)["run-signal"])[0]
    assert float(written.replace("−", "-")) == pytest.approx(norm, rel=5e-3)


def test_episodes_are_those_that_rows_open_sorted_by_their_loss(recall: dict[str, Path]) -> None:
    run = run_of(scene_of(recall["gru"]))
    assert run is not None
    found = episode_losses(run)
    html = page_of(recall["gru"])["run-examples"]
    shown = [int(query.get("row", 0)) for query in links_in(html)]
    losses = found.losses_nats.tolist()
    assert [losses[row] for row in shown[:10]] == sorted(losses, reverse=True)[:10]
    for row in (shown[0], 0, 9):
        opened_scene = scene_of(recall["gru"], row=row)
        ids = opened_scene.subject.batch.inputs
        assert torch.equal(ids[0], found.inputs[row])
        with torch.no_grad():
            logits = opened_scene.subject.model(ids[:, :-1]).logits[:, DELAY + 2]
        assert losses[row] == pytest.approx(cross_entropy(logits, ids[:, DELAY + 3]).item(), abs=1e-5)


def test_no_episode_is_one_of_the_sealed_test(recall: dict[str, Path]) -> None:
    run = run_of(scene_of(recall["gru"]))
    assert run is not None
    test = sample_recall_splits(DELAY, SHORT).test.inputs
    shown = episode_losses(run).inputs
    shared = sum(bool((test == one).all(dim=1).any()) for one in shown)
    assert shared <= 3  # chance: 256 x 64 pairs among 4^7 episodes


def test_every_seed_of_the_comparison_is_shown(recall: dict[str, Path]) -> None:
    html = page_of(recall["gru"])["run-beside"]
    for words in ("GRU, 1", "GRU, 2", "Transformer, 1", "Transformer, 2"):
        assert words in html
    assert "The run on this page is GRU, seed 1." in html
    rows = clew.runs.read_json(recall["gru"].parent.parent / "results.json")["rows"]
    for row in rows:
        assert f"{row['test_correct']} / {row['test_count']}" in html


def test_a_comparison_of_own_recipes_is_shown(tmp_path: Path) -> None:
    splits = sample_recall_splits(DELAY, SHORT)
    models: dict[str, dict[str, Any]] = {
        "small": {"preset": "gru", "hidden": 4},
        "wide": {"preset": "gru", "hidden": 6},
    }
    training = {"epochs": 1, "batch_size": 64}
    recipes = [
        {
            "name": name,
            "model": model | {"vocab": 7, "outputs": 7, "embedding": 4, "head": "rows"},
            "training": training,
        }
        for name, model in models.items()
    ]
    parts = clew.Splits(splits.train, splits.validation, splits.test)
    found = clew.compare(recipes, CueRecall(DELAY), parts, seeds=[1, 2], out=tmp_path, workers=0, audit="skip")
    html = page_of(tmp_path / "runs" / found.rows[0]["run"])["run-beside"]
    assert html.count('<th scope="row" class="left">small</th>') >= 3
    assert html.count('<th scope="row" class="left">wide</th>') >= 3


def test_damaged_results_are_told_and_break_nothing(recall: dict[str, Path]) -> None:
    path = recall["gru"].parent.parent / "results.json"
    whole = path.read_text()
    try:
        for content in ("{", "{}", '{"rows": [], "interventions": []}'):
            path.write_text(content)
            assert "cannot be read" in page_of(recall["gru"])["run-beside"]
        path.unlink()
        assert "has not come to its end" in page_of(recall["gru"])["run-beside"]
    finally:
        path.write_text(whole)


@pytest.mark.parametrize(("block", "head", "query"), [(0, 1, 0), (1, 0, 3)])
def test_attention_over_patches_is_the_softmax_of_the_scores(vision: Path, block: int, head: int, query: int) -> None:
    shown = scene_of(vision, row=4, block=str(block), head=str(head), query=str(query))
    model = shown.subject.model
    assert isinstance(model.encoder, TransformerEncoder)
    seen: list[torch.Tensor] = []
    layer: Any = list(model.encoder.blocks)[block]
    handle = layer.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    with torch.no_grad():
        model(shown.subject.batch.inputs)
    handle.remove()
    norm, attention = layer.attention_norm, layer.attention
    rows = layer_norm(seen[0], (8,), norm.weight, norm.bias, 1e-5)
    joined = linear(rows, attention.input_map.weight, attention.input_map.bias)
    q, k = joined[0, query, head * 4 : head * 4 + 4], joined[0, :, 8 + head * 4 : 12 + head * 4]
    expected = softmax(k @ q / 2.0, dim=0).detach()
    found, on_class = weights_over_patches(shown, looking_at(shown))
    torch.testing.assert_close(found.flatten(), expected[1:], atol=1e-6, rtol=1e-5)
    assert on_class == pytest.approx(expected[0].item(), abs=1e-6)


def test_the_image_is_drawn_pixel_by_pixel(vision: Path) -> None:
    html = page_of(vision, row=4)["run-image"]
    pixels = scene_of(vision, row=4).subject.batch.inputs[0, 0]
    first = html[html.index('class="pixels"') :].split("</g>")[0]
    fills = re.findall(r'fill="(#[0-9a-f]{6})"', first)
    assert len(fills) == 24
    assert fills[int(pixels.argmax())] == "#ffffff"
    assert fills[int(pixels.argmin())] == "#000000"
    middle = (pixels[2, 4] - pixels.min()) / (pixels.max() - pixels.min()) * 255
    assert int(fills[2 * 6 + 4][1:3], 16) == pytest.approx(middle.item(), abs=1)
    assert html.count('class="veil"') == 4
    broken = page_of(vision, row=4, edits=("value:0.1.1=NaN",))["run-image"]
    assert "heat-nan" in broken.split("</g>")[0]


def test_a_choice_out_of_range_is_refused(vision: Path) -> None:
    for name in ("block", "head", "query"):
        for value in ("9", "-1", "x", "٣"):
            shown = replace(scene_of(vision).address, shown={name: value})
            with pytest.raises(ExplorerError, match=name):
                looking_at(scene_of(vision).at(shown))


def test_the_answer_on_an_image_is_the_models(vision: Path) -> None:
    shown = scene_of(vision, row=4)
    with torch.no_grad():
        said = softmax(shown.subject.model(shown.subject.batch.inputs).logits[0], dim=-1)
    words = page_of(vision, row=4)["run-image"].split("</p>")[0]
    assert f"the model says {int(said.argmax())} with probability {said.max().item():.3f}" in words


def test_what_is_no_episode_is_told(recall: dict[str, Path]) -> None:
    studio = Studio(recall["gru"])
    shown = studio.scene(Address("run", "run", "BOS up left", 0))
    sections = {part.identifier: str(part.content) for part in RUN.sections(shown, studio)}
    assert "is no episode" in sections["run-episode"]


def test_a_run_without_its_training_part_says_so(tmp_path: Path) -> None:
    folder = train("next_token", tmp_path / "run").path
    shutil.rmtree(folder / "train")
    studio = Studio(folder)
    shown = studio.scene(Address("run", "run", "0 1 2 3 4", 0))
    sections = {part.identifier: str(part.content) for part in RUN.sections(shown, studio)}
    assert "does not keep its training part" in sections["run-examples"]
    assert "<svg" in sections["run-curves"]
