"""What one test episode looks like inside the selected models: the attention map and the gates over time.

The numbers are those that the models computed on this episode. A weight is shown as hidden where it is exactly zero for
every source later than its query, which is what a causal mask leaves. Start with `attention_part` and `gates_part`.
"""

from collections.abc import Sequence

from markupsafe import Markup

from clew.rendering.colours import HeatScale, diverging, sequential
from clew.rendering.heat_maps import HeatAxis, heat_map, left_out_words
from clew.rendering.markup import joined
from clew.rendering.numbers import HIDDEN, Value, finite_values, format_fraction
from clew.rendering.page import figure, fragments, paragraph, subsection
from clew.rendering.tables import Column, Group, Table, table_html
from clew.report.recall_words import Json, recipe_name

Matrix = Sequence[Sequence[Value]]


def attention_part(views: Json, cue: int | None) -> Markup:
    """Show what each head reads: a map a head, and in numbers what the scored query reads.

    Args:
        views: As `clew.report.recall.write_recall_report` takes them.
        cue: Position of the cue, None where it is not the same in every episode.
    """
    attention = views.get("attention")
    if attention is None:
        return paragraph("No attention map: no recipe with attention finished a run.")
    tokens, query = views["tokens"], views["query"]
    maps = [
        _attention_map(f"Head {head}", _hide_future(weights), tokens, query, cue)
        for head, weights in enumerate(attention["weights"], start=1)
    ]
    words = (
        f"Attention weights of {_model_words(attention, views)}. A row is a query and sums to 1 over the sources that "
        f"it may read. The outlined row predicts the move after RECALL"
        f"{'' if cue is None else '; the outlined column is the cue'}."
    )
    table = table_html(_reading_table(attention["weights"], tokens, query, cue))
    return fragments(figure(joined(maps), words + _gap_words(len(tokens)), "panels wide"), table)


def _model_words(model: Json, views: Json) -> str:
    """Name a model, the episode and what it answered."""
    words = f"{recipe_name(model['recipe'])}, seed {model['seed']}, on one test episode with delay {views['delay']}"
    return f"{words}, which it answered with “{model['answer']}” where “{views['target']}” was right"


def _hide_future(weights: Matrix) -> list[list[Value]]:
    later = [finite_values(row[query + 1 :]) for query, row in enumerate(weights)]
    if any(value != 0 for row in later for value in row):
        return [list(row) for row in weights]
    return [[*row[: query + 1], *[HIDDEN] * len(later[query])] for query, row in enumerate(weights)]


def _attention_map(title: str, weights: Matrix, tokens: Sequence[str], query: int, cue: int | None) -> Markup:
    cell = _cell_size(len(tokens))
    rows, columns = HeatAxis("queries", tokens, 1, cell, query), HeatAxis("sources", tokens, 1, cell, cue)
    return heat_map(title, weights, rows, columns, sequential(), f"{title}: attention weights by query and source")


def _cell_size(count: int) -> float:
    return min(max(380.0 / max(count, 1), 9.5), 32.0)


def _reading_table(heads: Sequence[Matrix], tokens: Sequence[str], query: int, cue: int | None) -> Table:
    columns = [
        Column("Head", "left"),
        Column("Reads most", "left", "the source with the largest weight, and its position"),
        Column("Weight there"),
        *([Column("Weight on the cue")] if cue is not None else []),
    ]
    rows: list[list[str]] = []
    for head, weights in enumerate(heads, start=1):
        numbers = finite_values(weights[query])
        top = max(range(len(numbers)), key=lambda source: -1.0 if numbers[source] is None else numbers[source] or 0.0)
        on_cue = [format_fraction(weights[query][cue])] if cue is not None else []
        rows.append([str(head), f"{tokens[top]}, position {top}", format_fraction(weights[query][top]), *on_cue])
    return Table("What the scored query reads", columns, [Group(rows)])


def gates_part(views: Json) -> Markup:
    """Show the recurrent models' quantities over time: units downwards, the episode to the right."""
    gates = views.get("gates") or []
    if not gates:
        return paragraph("No gates: no recurrent recipe finished a run.")
    tokens: list[str] = views["tokens"]
    parts: list[Markup] = []
    for entry in gates:
        name = f"{recipe_name(entry['recipe'])}, seed {entry['seed']}"
        maps = [_quantity_map(title, values, tokens, views["query"]) for title, values in entry["quantities"].items()]
        caption = (
            f"{_model_words(entry, views)}. Gates run from 0 to 1; other quantities have zero at the middle of their "
            "scale. The outlined step predicts the move after RECALL."
        )
        parts += [subsection(name), figure(joined(maps), caption + _gap_words(len(tokens)), "panels wide")]
    return fragments(*parts)


def _quantity_map(name: str, values: Matrix, tokens: Sequence[str], query: int) -> Markup:
    title = name.replace("_", " ").capitalize()
    units = len(values[0]) if values else 0
    by_unit = [[values[step][unit] for step in range(len(values))] for unit in range(units)]
    labels = [str(unit) for unit in range(units)]
    step = 1 if units <= 12 else 4 if units <= 40 else 8
    rows = HeatAxis("units", labels, step, 7.0 if units > 12 else 12.0)
    columns = HeatAxis("steps", tokens, 1, _cell_size(len(tokens)), query)
    scale = _scale_of(name, by_unit)
    return heat_map(title, by_unit, rows, columns, scale, f"{title}: every unit at every step of the episode")


def _scale_of(name: str, values: Matrix) -> HeatScale:
    return sequential() if name.endswith("_gate") else diverging(value for row in values for value in row)


def _gap_words(steps: int) -> str:
    missing = left_out_words(steps)
    return f" The episode is long: steps {missing}." if missing else ""
