"""Equations as MathML: every equation that the ledger can show converts, and means what it says."""

import re
from xml.etree import ElementTree

import pytest
import torch

import clew
from clew.ledger.description import Described
from clew.models import build
from clew.rendering.mathml import equation_html, mathml

MIXED = torch.cat([torch.randn(2, 5, 2), torch.zeros(2, 5, 1)], dim=2)
MODELS = {
    "rnn": ({"vocab": 5}, torch.zeros(2, 5, dtype=torch.long)),
    "gru": ({"vocab": 5, "bidirectional": True, "head": "mean"}, torch.zeros(2, 5, dtype=torch.long)),
    "lstm": ({"features": 2, "categories": [3], "head": "last"}, MIXED),
    "transformer": ({"vocab": 5, "norm": "post", "head": "class_token"}, torch.zeros(2, 5, dtype=torch.long)),
    "vit": ({"image": 8, "patch": 4}, torch.zeros(2, 1, 8, 8)),
}


def described() -> list[Described]:
    """All descriptions that classes of the package hold."""
    import clew.data
    import clew.models.bert
    import clew.tasks.token_loss

    found: list[Described] = [*clew.tasks.token_loss.TOKEN_LOSS.described.values()]
    waiting = [torch.nn.Module]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("clew."):
                found += getattr(kind, "described", {}).values()
    return found


EQUATIONS = sorted({one.equation for one in described()})


def written(equation: str) -> str:
    """Give the text of an equation as a reader sees it."""
    found = mathml(equation)
    assert found is not None, equation
    return "".join(ElementTree.fromstring(f"<p>{found}</p>").itertext())


def test_the_equations_are_those_of_all_layers() -> None:
    assert len(EQUATIONS) > 40


@pytest.mark.parametrize("equation", EQUATIONS)
def test_every_equation_of_the_package_converts(equation: str) -> None:
    found = mathml(equation)
    assert found is not None
    ElementTree.fromstring(f"<p>{found}</p>")
    letters = re.sub(r"[^A-Za-z0-9]", "", written(equation))
    assert set(letters) <= set(re.sub(r"[^A-Za-z0-9]", "", equation))
    assert ("<math" in found) == bool(re.search(r"[=_|]|log|^s,|\+", equation))


@pytest.mark.parametrize("preset", MODELS)
def test_every_equation_of_a_recorded_pass_converts(preset: str) -> None:
    options, inputs = MODELS[preset]
    model = build(preset, outputs=5, hidden=4, **options)  # pyright: ignore[reportArgumentType]
    with clew.record(model.eval()) as ledger:
        output = model(inputs)
    output.logits.sum().backward()
    equations = [quantity.equation for quantity in ledger.quantities()]
    parameter = next(name for name, _ in model.named_parameters() if name.endswith(("weight_hh", "output_map.weight")))
    equations.append(ledger.contributions(parameter).equation)
    equations += [ledger.jacobian(n[:-6], 0, 1).equation for n in ledger if n.endswith(".state")]
    equations += [ledger.sources(n[:-8], 0, 1).equation for n in ledger if n.endswith("attention.weights")]
    assert [equation for equation in equations if mathml(equation) is None] == []


def test_indices_powers_primes_and_transposes_are_told_apart() -> None:
    assert '<msubsup><mi>W</mi><mi>x</mi><mi mathvariant="normal">⊤</mi></msubsup>' in (mathml("x W_x' + b_x") or "")
    assert "<msup><mi>h</mi><mo>′</mo></msup>" in (mathml("h' = phi(z)") or "")
    assert "<msup><mi>σ</mi><mn>2</mn></msup>" in (mathml("sigma^2 = 1") or "")
    assert "<msub><mi>p</mi><mtext>target</mtext></msub>" in (mathml("-log p_target in nats") or "")


def test_quotients_and_roots_lose_the_brackets_that_they_replace() -> None:
    found = mathml("n = (x - mu) / sqrt(sigma^2 + epsilon)") or ""
    assert "(" not in found.replace('alttext="n = (x - mu) / sqrt(sigma^2 + epsilon)"', "")
    assert "<mfrac><mrow><mi>x</mi><mo>−</mo><mi>μ</mi></mrow><msqrt>" in found
    assert written("(a_1 - b_1)^2") == "(a1−b1)2"


def test_a_sum_takes_what_is_multiplied_behind_it_and_a_quotient_takes_the_sum() -> None:
    found = mathml("mu = sum_c x_c / width") or ""
    assert "<mfrac><mrow><munder><mo>∑</mo><mi>c</mi></munder><msub><mi>x</mi><mi>c</mi></msub></mrow>" in found
    assert "<munder><mo>∑</mo><mi>visible sources" not in found
    assert "visible sources</mtext></munder>" in (mathml("A = exp(S) / sum over visible sources of exp(S)") or "")


def test_words_stay_words_and_wrap() -> None:
    assert mathml("what the MLP branch gives") == "what the MLP branch gives"
    assert str(mathml("k_t, a row of the table")).endswith("</math>, a row of the table")
    assert str(mathml("rows, 0 at padding")) == "rows, 0 at padding"


def test_the_plain_notation_stands_beside_the_symbols() -> None:
    assert str(mathml("y = x * m", is_displayed=True)).startswith('<math class="displayed" alttext="y = x * m">')


@pytest.mark.parametrize("equation", ["a # b", "(x", "x ^ y", "sum over x", "= 3", "x +"])
def test_what_is_no_equation_stays_as_it_is_written(equation: str) -> None:
    assert str(equation_html(equation)) == f"<code>{equation}</code>"


def test_an_equation_cannot_bring_markup_along() -> None:
    assert "<script" not in equation_html("<script>alert(1)</script>")
    assert equation_html('x"><b') == "<code>x&#34;&gt;&lt;b</code>"
