"""The arithmetic of one cell of attention: from the product of query and key to the contribution, and back.

The numbers are those of the pass. Start with `cell_html`.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.explorer.attention.choice import Choice
from clew.explorer.attention.query import BY_KEY, button, form
from clew.explorer.attention.visibility import can_show
from clew.ledger.arithmetic import digits, equals, sum_words
from clew.rendering.markup import element
from clew.rendering.page import definitions, paragraph, subsection

MOST_FEATURES = 6
Line = tuple[str, str]


def cell_html(choice: Choice) -> Markup:
    """Show the arithmetic of the open cell; nothing if none is open."""
    if choice.cell is None:
        return Markup("")
    head, query, source = choice.cell
    reading = choice.reading
    rules = reading.rules_at(query, source)
    heading = f"One cell: {choice.word(query)} reads {choice.word(source)}, head {head}"
    lines = [*_scores(choice), *_softmax(choice, rules), *_contribution(choice), *_backward(choice, rules)]
    pairs = [(term, element("code", None, words)) for term, words in lines]
    close = form(
        choice,
        "attend-choices",
        "Close the arithmetic",
        button("query", str(query), "Close", None, "close-cell"),
        "cell",
        "query",
    )
    parts = [subsection(heading), definitions(pairs), _switch(choice, rules), close]
    return element("div", {"class": "attend-cell", "id": "cell"}, *parts)


def _scores(choice: Choice) -> list[Line]:
    """Write the product of query and key, and its scaling; both are computed for a hidden cell too."""
    head, query, source = _place(choice)
    reading = choice.reading
    asked = reading.quantity("query").value[head, query].tolist()
    offered = reading.quantity("key").value[head, source].tolist()
    raw, scaled = (reading.values(BY_KEY[key])[head, query, source].item() for key in ("scores", "scaled"))
    return [
        ("raw score R = q k'", equals(raw, sum_words(list(zip(asked, offered, strict=True))))),
        ("scaled S = R / sqrt(head_dim)", equals(scaled, f"{digits(raw)} / sqrt({len(asked)})")),
    ]


def _softmax(choice: Choice, rules: Sequence[str]) -> list[Line]:
    head, query, source = _place(choice)
    reading = choice.reading
    if rules:
        nothing = "; the query has nothing to read at all" if reading.reads(query) == 0 else ""
        words = f"hidden by {' and '.join(rules)}: no part in the softmax{nothing}"
        return [("masked", words), ("weight A", "0, because the cell is hidden")]
    places = {"batch": reading.row, "heads": head, "query": query, "source": source}
    told = f"{reading.reads(query)} sources are visible" if reading.rules else "no rule hides anything"
    return [
        ("masked", f"kept: {told}"),
        ("weight A = exp(S) / sum exp(S)", reading.ledger.explain(f"{reading.layer}.weights", **places)),
    ]


def _contribution(choice: Choice) -> list[Line]:
    """Write the first features of weight times value."""
    head, query, source = _place(choice)
    reading = choice.reading
    factors = [reading.values(BY_KEY["weights"])[head, query, source].item()]
    if reading.has("factor"):
        factors.append(reading.values(BY_KEY["dropout"])[head, query, source].item())
    value = reading.quantity("value").value[head, source].tolist()
    part = reading.ledger.sources(reading.layer, reading.row, query).value[head, source].tolist()
    mixed = "*".join(digits(factor) for factor in factors)
    return [("contribution A v", f"{_vector(part)} = {mixed} * {_vector(value)}")]


def _vector(numbers: Sequence[float]) -> str:
    shown = [digits(number) for number in numbers[:MOST_FEATURES]]
    more = [f"{len(numbers) - MOST_FEATURES} more"] if len(numbers) > MOST_FEATURES else []
    return f"({', '.join([*shown, *more])})"


def _backward(choice: Choice, rules: Sequence[str]) -> list[Line]:
    """Write the way back: through the mixing to the weight, through the softmax to the scores."""
    head, query, source = _place(choice)
    reading = choice.reading
    found = [reading.sensitivities(BY_KEY[key]) for key in ("weights", "scaled", "scores")]
    if any(part is None for part in found):
        return [("sensitivities", "not computed: no backward pass has run")]
    if rules:
        return [("sensitivities", "dL/dS = dL/dR = 0: nothing comes back to a hidden cell")]
    of_weight, of_scaled, of_score = (part[head, query] for part in found if part is not None)
    context = reading.quantity("context").sensitivity[head, query].tolist()
    value = reading.quantity("value").value[head, source].tolist()
    weights = reading.values(BY_KEY["weights"])[head, query]
    mean = float((weights * of_weight).sum())
    terms = list(zip(context, value, strict=True))
    factor = [reading.values(BY_KEY["dropout"])[head, query, source].item()] if reading.has("factor") else []
    terms = [(*term, *factor) for term in terms]
    own = of_weight[source].item()
    inside = f"{digits(own)} {'+' if mean < 0 else '-'} {digits(abs(mean))}"
    width = len(reading.quantity("query").value[head, query])
    return [
        ("dL/dA = dL/dC v'", equals(own, sum_words(terms))),
        ("mean of dL/dA under the weights", digits(mean)),
        (
            "dL/dS = A (dL/dA - mean)",
            equals(of_scaled[source].item(), f"{digits(weights[source].item())} * ({inside})"),
        ),
        (
            "dL/dR = dL/dS / sqrt(head_dim)",
            equals(of_score[source].item(), f"{digits(of_scaled[source].item())} / sqrt({width})"),
        ),
    ]


def _switch(choice: Choice, rules: Sequence[str]) -> Markup:
    """Let a reader hide the cell, or show what is hidden."""
    _, query, source = _place(choice)
    if not can_show(rules):
        return paragraph(f"What {' and '.join(rules)} hides stays hidden: no edit shows it.")
    kind, words = ("show", "Show this cell") if rules else ("hide", "Hide this cell")
    content = button("edit", f"{kind}:{query}.{source}", f"{words} in all heads", None, "switch-cell")
    return form(choice, "attend-choices", "Hide or show the cell", content)


def _place(choice: Choice) -> tuple[int, int, int]:
    assert choice.cell is not None
    return choice.cell
