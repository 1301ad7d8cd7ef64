"""Edits in words: what each says it changes, and every wrong one is a single clear line."""

from collections.abc import Callable

import pytest

from clew.errors import ClewError
from clew.explorer.edits.parsing import KINDS, parse_edit
from clew.explorer.scene import Scene

MakeScene = Callable[..., Scene]
HIDDEN_MAP = "encoder.blocks.0.mlp.hidden_map.weight"
KNOWN = "Known words: a, journey, of, thousand, miles, begins, with, single, step."
FORM = "must be whole numbers with a dot between, such as 2.1, got"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("token:2=miles", "word 2: of → miles"),
        (f"weight:{HIDDEN_MAP}.0.2=0.25", f"weight {HIDDEN_MAP}[0, 2]: -0.500 → 0.250"),
        ("visible=full", "visibility: full, each word reads every other"),
        ("visible=window-3", "visibility: each word reads itself and the 2 before it"),
        ("visible=window-1", "visibility: each word reads itself alone"),
        ("hide:3.1", "hidden: 3 a does not read 1 journey"),
        ("show:1.3", "shown: 1 journey reads 3 a"),
        ("padding=2", "padding: the last 2 words that are read"),
        ("padding=1", "padding: the last word that is read"),
        ("activation=tanh", "activation: relu → tanh"),
        ("norm=post", "normalization: pre → post"),
        ("target:2=miles", "target after word 2: a → miles"),
    ],
)
def test_an_edit_says_what_it_changes(scene: MakeScene, edit: str, words: str) -> None:
    assert parse_edit(edit).words(scene().subject, 0) == words


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        ("tokn:2=a", "edit: kind must be a known one, got 'tokn'. Did you mean 'token'?"),
        ("token:2", "edit 'token:2': value must be given behind =, got none."),
        ("token:x=a", "token: step must be a whole number, such as 2, got 'x'."),
        ("token:-1=a", "token: step must be a whole number, such as 2, got '-1'."),
        ("token:9=a", "token: step of a word must be in [0, 7), got 9."),
        (
            "token:2=milse",
            f"token at step 2: word must be known to the model, got 'milse'. Did you mean 'miles'? {KNOWN}",
        ),
        ("token:2=xyzzy", f"token at step 2: word must be known to the model, got 'xyzzy'. {KNOWN}"),
        (
            "value:1.2=3",
            "value: value must be asked for in real-valued inputs, got a model that reads words by their id. "
            "Edit the token: token:STEP=WORD.",
        ),
        ("value:1=x", "value: value must be a number, such as -0.25, got 'x'."),
        (
            "weight:encoder.blocks.0.mlp.hidden_map.wieght.0.0=1",
            "weight: name must be that of a parameter, got 'encoder.blocks.0.mlp.hidden_map.wieght.0.0'. "
            f"Did you mean '{HIDDEN_MAP}'?",
        ),
        (f"weight:{HIDDEN_MAP}.9.0=1", f"weight {HIDDEN_MAP}: index must be 2 of them, within (4, 5), got '9.0'."),
        (f"weight:{HIDDEN_MAP}.1=1", f"weight {HIDDEN_MAP}: index must be 2 of them, within (4, 5), got '1'."),
        (f"weight:{HIDDEN_MAP}.1.2=1e", "weight: value must be a number, such as -0.25, got '1e'."),
        ("visible=ful", "visible: rule must be full, causal or window-N, got 'ful'. Did you mean 'full'?"),
        ("visible=window-0", "visible: window must be at least 1, the position itself, got 0."),
        ("visible:2=full", "visible: edit must be of the form visible=..., got 'visible:2=...'."),
        ("hide:1", f"hide: cell {FORM} '1'."),
        ("hide:6.0", "hide: query must be in [0, 6), got 6."),
        ("show:0.7", "show: source must be in [0, 6), got 7."),
        ("hide:1.0=yes", "hide: edit must be of the form hide:QUERY.SOURCE, got '=yes'."),
        ("padding=5", "padding: number of steps must be at most 4, so that 2 real steps stay, got 5."),
        ("padding=two", "padding: number of steps must be a whole number, such as 2, got 'two'."),
        (
            "activation=rleu",
            "activation: name must be one of identity, tanh, relu, sigmoid, gelu, got 'rleu'. Did you mean 'relu'?",
        ),
        ("norm=middle", "norm: placement must be pre or post, got 'middle'."),
        ("target:6=a", "target: step must be in [0, 6), got 6."),
        ("target=a", "target: edit must be of the form target:STEP=..., got 'target=...'."),
        ("target:1=xyzzy", f"target after step 1: word must be known to the model, got 'xyzzy'. {KNOWN}"),
    ],
)
def test_a_wrong_edit_of_the_worked_example_is_one_clear_line(scene: MakeScene, edit: str, line: str) -> None:
    with pytest.raises(ClewError) as caught:
        scene(edits=[edit])
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("model", "edit", "line"),
    [
        (
            "gru",
            "visible=full",
            "visible: mask must be asked for in a model with attention, got a recurrent one. Its state carries all "
            "that was read to every later step; use padding=N, or choose a transformer.",
        ),
        (
            "lstm",
            "hide:1.0",
            "hide: mask must be asked for in a model with attention, got a recurrent one. Its state carries all "
            "that was read to every later step; use padding=N, or choose a transformer.",
        ),
        (
            "gru",
            "activation=relu",
            "activation: activation must be asked for where there is a choice, got gru, whose gates and candidate have "
            "their own. Choose rnn or transformer.",
        ),
        (
            "rnn",
            "activation=gelu",
            "activation: name must be one of identity, tanh, relu, sigmoid, got 'gelu'. Did you mean 'relu'?",
        ),
        (
            "lstm",
            "norm=pre",
            "norm: placement must be asked for in a Transformer, got a recurrent model. A recurrent layer has no "
            "normalization.",
        ),
        (
            "scalar",
            "token:1=a",
            "token: token must be asked for where steps are tokens, got a model of real-valued inputs. Edit a number: "
            "value:STEP.FEATURE=NUMBER.",
        ),
        ("scalar", "value:1=3", "value: place must be of the form STEP.FEATURE, got '1'."),
        ("scalar", "value:3.0=3", "value: step must be in [0, 3), got 3."),
        ("scalar", "value:1.1=3", "value: feature must be in [0, 1), got 1."),
        ("scalar", "target=NaN", "target: value must be finite, got NaN. A target that is no number is not scored."),
        (
            "gru",
            "weight:encoder.recurrent.0.weight_hh.0.0=1e300",
            "weight: value must be within what float32 holds, got 1e+300.",
        ),
    ],
)
def test_an_edit_that_does_not_apply_is_one_clear_line(scene: MakeScene, model: str, edit: str, line: str) -> None:
    with pytest.raises(ClewError) as caught:
        scene(model, edits=[edit])
    assert str(caught.value) == line


def test_every_kind_is_known_by_its_name() -> None:
    assert set(KINDS) == {
        "token", "value", "weight", "visible", "hide", "show", "padding", "activation", "norm", "target",
    }  # fmt: skip
    assert all(edit.kind == kind for kind, edit in KINDS.items())
