"""One query and its sources: the way from raw score to contribution in numbers, and what it all sums to.

Start with `query_html`.
"""

from collections.abc import Sequence

from markupsafe import Markup
from torch import Tensor

from clew.explorer.attention.choice import Choice, Places, left_out_words, window_around
from clew.explorer.attention.maps import scale_of
from clew.explorer.attention.reading import STAGES
from clew.rendering.colours import HeatScale
from clew.rendering.markup import element, joined
from clew.rendering.numbers import Value, format_number
from clew.rendering.page import paragraph, subsection
from clew.rendering.tables import Cell, Column, Group, Row, Table, table_html

MOST_SOURCES = 16
MOST_CHIPS = 24
MOST_DETAILED = 4
"""Heads up to which every head is listed in detail; of more heads the chosen one is."""
MOST_FEATURES = 16
BY_KEY = {stage.key: stage for stage in STAGES}


def query_html(choice: Choice) -> Markup:
    """Show the chosen query: who it may read, its numbers head by head, and its context."""
    parts = [_chips(choice), _sentence(choice), _weights_html(choice), _heads_html(choice), _context_html(choice)]
    return joined(parts)


def form(choice: Choice, css_class: str, label: str, content: str, *but: str) -> Markup:
    """Wrap buttons or fields that choose something; everything else stays as it is, but what `but` names."""
    live = "" if css_class == "attend-choices" else None  # of no use in a file that stands alone
    attributes = {"method": "get", "action": choice.address.path, "class": css_class, "aria-label": label}
    attributes |= {"data-live": live}
    return element("form", attributes, choice.address.hidden_inputs(*but), content)


def button(name: str, value: str, words: str, is_pressed: bool | None = None, identifier: str = "") -> Markup:
    """Write a button that chooses a value."""
    pressed = None if is_pressed is None else str(is_pressed).lower()
    attributes = {"name": name, "value": value, "aria-pressed": pressed, "id": identifier or f"{name}-{value}"}
    return element("button", attributes, words)


def _chips(choice: Choice) -> Markup:
    """Let a reader choose the query: its neighbours, and those around it."""
    shown = window_around(choice.reading.queries, MOST_CHIPS, choice.query)
    buttons: list[Markup] = []
    for query in shown:
        if query is None:
            buttons.append(element("span", None, "…"))
        else:
            name = f"choose-query-{query}"
            buttons.append(button("query", str(query), choice.word(query), query == choice.query, name))
    label = element("span", {"class": "attend-label"}, "Query")
    chips = form(choice, "attend-choices", "Choose a query", joined([label, *buttons]), "query", "cell")
    return joined([chips, _jump(choice)]) if None in shown else chips


def _jump(choice: Choice) -> Markup:
    """Let a reader name any query of a long sequence by its place."""
    last = choice.reading.queries - 1
    label = element("label", {"for": "query-number", "class": "attend-label"}, f"Query 0 to {last}")
    attributes = {"type": "number", "name": "query", "id": "query-number", "min": 0, "max": last, "value": choice.query}
    field = element("input", attributes)
    show = element("button", {"type": "submit", "id": "query-number-show"}, "Show")
    return form(choice, "attend-choices", "Choose a query by its place", joined([label, field, show]), "query", "cell")


def _sentence(choice: Choice) -> Markup:
    reading, query = choice.reading, choice.query
    word, count = element("strong", None, choice.word(query)), reading.reads(query)
    if count == 0:
        rules = [rule for rule, hidden in reading.rules.items() if bool(hidden[query].any())]
        words = (
            f" has nothing to read: {' and '.join(rules)} hide every source. Its weights are all 0, its context and "
        )
        return paragraph(word, words, "its output rows are 0, and no gradient passes it.")
    hidden = [
        f"{int(cells[query].sum())} by {rule}" for rule, cells in reading.rules.items() if bool(cells[query].any())
    ]
    told = f"; hidden: {', '.join(hidden)}" if hidden else "; no rule hides any"
    return paragraph(word, f" reads {count} of {reading.sources} sources{told}.")


def _shown_sources(choice: Choice) -> Places:
    centre = choice.query if choice.cell is None else choice.cell[2]
    return window_around(choice.reading.sources, MOST_SOURCES, centre)


def _weights_html(choice: Choice) -> Markup:
    """Put the weights of all heads beside each other, with their mean as the last column."""
    reading, query = choice.reading, choice.query
    if reading.heads == 1:
        return Markup("")
    values = reading.values(BY_KEY["weights"])[:, query]
    scale, mean = scale_of(values, reading.hidden[query]), values.mean(dim=0)
    heads = window_around(reading.heads, 12, choice.head)
    columns = [Column("source", "left"), Column("hidden by", "left")]
    columns += [Column("…" if head is None else f"head {head}") for head in heads]
    columns.append(
        Column("mean of the heads", note="beside the heads, not instead: heads may read quite different sources")
    )
    rows: list[Row] = []
    for source in _shown_sources(choice):
        if source is None:
            rows.append(["…", *("" for _ in columns[1:])])
            continue
        cells = [None if head is None else values[head, source].item() for head in heads]
        rules = reading.rules_at(query, source)
        row = [*_weight_cells(cells, scale, bool(rules)), Cell((format_number(mean[source].item()),), "muted")]
        rows.append([choice.word(source), _rules(rules), *row])
    totals = ["…" if head is None else format_number(values[head].sum().item()) for head in heads]
    total: Row = [Cell(("sum over all sources",), "strong"), "", *totals, format_number(mean.sum().item())]
    notes = [left_out_words("sources", _shown_sources(choice), reading.sources)]
    notes += [left_out_words("heads", heads, reading.heads)]
    caption = f"Weights of {choice.word(query)}, head by head"
    table = Table(caption, columns, [Group([*rows, total])], [note for note in notes if note])
    return joined([subsection("All heads"), table_html(table)])


def _weight_cells(values: Sequence[float | None], scale: HeatScale, is_hidden: bool) -> list[str | Cell]:
    kept = [value for value in values if value is not None]
    classes = iter(["heat-hidden" for _ in kept] if is_hidden else scale.classes_of(kept))
    return ["…" if value is None else Cell((format_number(value),), css_class=next(classes)) for value in values]


def _rules(rules: Sequence[str]) -> str | Cell:
    return Cell((" and ".join(rules),)) if rules else Cell(("-",), "muted")


def _heads_html(choice: Choice) -> Markup:
    """Show the way from raw score to contribution, source by source, for each head or the chosen one."""
    reading = choice.reading
    heads = list(range(reading.heads)) if reading.heads <= MOST_DETAILED else [choice.head]
    has_factor = reading.has("factor")
    columns = [Column("source", "left"), Column("raw score R"), Column("scaled S"), Column("hidden by", "left")]
    columns += [Column("weight A"), *([Column("dropout m")] if has_factor else []), Column("norm of A v")]
    columns += [Column("dL/dS"), Column("dL/dA"), Column("one cell", "left")]
    groups = [Group(_source_rows(choice, head, has_factor), f"head {head}") for head in heads]
    notes = ["R = Q K'; S = R / sqrt(head_dim); A = exp(S) / sum over visible sources of exp(S)"]
    notes += ["dL/dS and dL/dA: the loss's derivatives with respect to the scaled score and to the weight"]
    notes += ["a hidden source has a score, a weight of 0 and no share in the softmax"] if reading.rules else []
    left_out = left_out_words("sources", _shown_sources(choice), reading.sources)
    notes += [f"{left_out}; the sums have all sources"] if left_out else []
    table = Table(f"From score to contribution: {choice.word(choice.query)}", columns, groups, notes)
    content = [table_html(table)]
    opened = form(choice, "attend-opens", "Open the arithmetic of a cell", joined(content), "cell", "query", "head")
    return joined([subsection("Source by source"), _head_buttons(choice) if len(heads) < reading.heads else "", opened])


def _head_buttons(choice: Choice) -> Markup:
    buttons = [
        element("span", None, "…")
        if head is None
        else button("head", str(head), f"head {head}", head == choice.head, f"choose-head-{head}")
        for head in choice.heads
    ]
    label = element("span", {"class": "attend-label"}, "Head")
    return form(choice, "attend-choices", "Choose a head", joined([label, *buttons]), "head", "cell")


def _source_rows(choice: Choice, head: int, has_factor: bool) -> list[Row]:
    reading, query = choice.reading, choice.query
    shown = _shown_sources(choice)
    keys = ["scores", "scaled", "weights", *(["dropout"] if has_factor else []), "contributions"]
    columns = [reading.values(BY_KEY[key])[head, query] for key in keys]
    numbers = [column.tolist() for column in columns]
    heat = scale_of(columns[2], reading.hidden[query])
    found = [reading.sensitivities(BY_KEY[key]) for key in ("scaled", "weights")]
    backward = [None if part is None else part[head, query].tolist() for part in found]
    rows: list[Row] = []
    for source in shown:
        if source is None:
            rows.append(["…", *("" for _ in range(len(numbers) + 4))])
            continue
        rules = reading.rules_at(query, source)
        values = [format_number(column[source]) for column in numbers]
        weight = Cell((values[2],), css_class="heat-hidden" if rules else heat.classes_of([numbers[2][source]])[0])
        sensitivities = [_sensitivity(part, source) for part in backward]
        if rules and backward[1] is not None:
            sensitivities[1] = Cell(("hidden",), "muted")
        opened = button(
            "cell",
            f"{head}.{query}.{source}",
            "arithmetic",
            choice.cell == (head, query, source),
            f"open-{head}-{source}",
        )
        rows.append([choice.word(source), *values[:2], _rules(rules), weight, *values[3:], *sensitivities, opened])
    weights = [format_number(sum(numbers[2]))]
    dropped = ["" for _ in range(has_factor)]
    sums: Row = [Cell(("sum over all sources",), "strong"), "", "", "", *weights, *dropped, "", "", "", ""]
    return [*rows, sums]


def _sensitivity(values: Sequence[Value] | None, source: int) -> str | Cell:
    return Cell(("not computed",), "muted") if values is None else format_number(values[source])


def _context_html(choice: Choice) -> Markup:
    """Show the contributions feature by feature, if asked for, and that they sum to the context."""
    heading = subsection("Contributions and context")
    if not choice.has_parts:
        words = "What each source adds to the context, feature by feature, is computed when asked for."
        shown = form(choice, "attend-choices", "Contributions", button("parts", "1", "Show each contribution"), "parts")
        return joined([heading, paragraph(words), shown])
    reading, query = choice.reading, choice.query
    parts = reading.ledger.sources(reading.layer, reading.row, query).value
    context = reading.quantity("context").value[:, query]
    heads = list(range(reading.heads)) if reading.heads <= MOST_DETAILED else [choice.head]
    features = window_around(parts.shape[-1], MOST_FEATURES, 0)
    columns = [Column("source", "left"), *(Column("…" if place is None else f"{place}") for place in features)]
    columns.append(Column("norm"))
    scale = scale_of(parts[heads], None)
    groups: list[Group] = []
    for head in heads:
        rows: list[Row] = []
        for source in _shown_sources(choice):
            if source is None:
                rows.append(["…", *("" for _ in columns[1:])])
            else:
                rows.append([choice.word(source), *_features(parts[head, source], features, scale)])
        total = parts[head].sum(dim=0)
        rows.append([Cell(("sum over all sources",), "strong"), *_features(total, features, None)])
        rows.append([Cell(("context, as recorded",), "strong"), *_features(context[head], features, None)])
        groups.append(Group(rows, f"head {head}"))
    apart = (parts.sum(dim=1) - context).abs().max().item()
    notes = ["the contribution of a source is its weight times its value, A_qs v_s"]
    notes += [f"sums and context lie at most {format_number(apart, 2)} apart"]
    notes += [left_out_words("features", features, parts.shape[-1])]
    notes += [left_out_words("sources", _shown_sources(choice), reading.sources)]
    table = Table(
        f"What each source adds to the context of {choice.word(query)}", columns, groups, [n for n in notes if n]
    )
    hide = form(choice, "attend-choices", "Contributions", button("parts", "0", "Hide the contributions"), "parts")
    return joined([heading, hide, table_html(table)])


def _features(row: Tensor, features: Places, scale: HeatScale | None) -> list[str | Cell]:
    numbers = row.tolist()
    written = [None if place is None else format_number(numbers[place]) for place in features]
    classes = ["" if place is None or scale is None else scale.classes_of([numbers[place]])[0] for place in features]
    cells: list[str | Cell] = [
        "…" if words is None else Cell((words,), css_class=name) for words, name in zip(written, classes, strict=True)
    ]
    return [*cells, format_number(row.norm().item())]
